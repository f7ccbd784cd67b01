"""Summary and results as comma-separated text, in pieces that can be written one after the other.

Each value of a column is turned into text once, since the columns of a sweep repeat their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from harness.printable import spreadsheet_text
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, is_missing

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

SUMMARY_COLUMNS = (
    *RUN_COLUMNS,
    "case",
    "device",
    "executor",
    *PROBLEM_COLUMNS,
    "label",
    "variant",
    "params",
    "chosen",
    "status",
    "phase",
    "reason",
    "error_ratio",
    "time_s",
    "time_low_s",
    "time_high_s",
    "tflops",
    "fraction_of_peak",
    "baseline",
    "speedup",
    "speedup_low",
    "speedup_high",
    "recompute_factor",
    "registers",
    "spills",
    "accumulator_registers",
    "scalar_registers",
    "scratch_bytes",
    "shared_bytes",
    "occupancy",
    "bank_conflicts",
    "model.fraction_of_peak",
    "model.bound",
    "noise",
    "busy",
    "flop_convention",
)
"""Columns of `summary.csv`, in base units (seconds, TFLOP/s, shares of 1)."""

SUMMARY_DIGITS = 6
"""Significant digits in `summary.csv`."""

BATCH = 50_000
"""Rows that are turned into text together."""

TO_BE_QUOTED = frozenset(',"\r\n')
TO_BE_CHANGED = r'[,"\r\n]|^[=+\-@]'
"""Texts that are not written as they are: what `_quoted` or `spreadsheet_text` may change."""


def summary_csv(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the summary with values in base units, six significant digits; empty is not measured."""
    return csv_lines(frame[[column for column in SUMMARY_COLUMNS if column in frame]], SUMMARY_DIGITS)


def full_csv(frame: pd.DataFrame) -> Iterator[str]:
    """Yield every column of a prepared frame, unrounded."""
    return csv_lines(frame)


def csv_lines(frame: pd.DataFrame, digits: int | None = None) -> Iterator[str]:
    """Yield the text of a table, its header first, in pieces of many lines.

    A missing value is an empty cell.  Numbers with a fraction have so many significant digits, by default as
    many as tell them from all others.
    """
    import pyarrow
    from pyarrow import compute

    comma = pyarrow.scalar(",", pyarrow.large_string())
    write_float: Callable[[float], str] = repr if digits is None else f"{{:.{digits}g}}".format
    yield ",".join(_quoted(str(name)) for name in frame.columns) + "\n"
    for start in range(0, len(frame), BATCH):
        part = frame.iloc[start : start + BATCH]
        columns = [_cells(part.iloc[:, place], write_float) for place in range(part.shape[1])]
        columns[0] = _repeated(columns[0], len(part))
        lines = compute.binary_join_element_wise(*columns, comma)
        yield _joined(lines)
        yield "\n"


def _cells(
    column: pd.Series[Any], write_float: Callable[[float], str]
) -> pyarrow.Array | pyarrow.LargeStringScalar:
    """Return the text of each cell of a column, or the one text of all; values are written once each."""
    import numpy as np
    import pandas as pd
    import pyarrow
    from pyarrow import compute

    if isinstance(column.dtype, pd.StringDtype):
        texts = pyarrow.array(column, type=pyarrow.large_string(), from_pandas=True)
        repeats = len(column) > 1 and column.iloc[0] == column.iloc[-1]
        if not repeats and not compute.any(compute.match_substring_regex(texts, TO_BE_CHANGED)).as_py():
            return compute.fill_null(texts, "")
    codes, values = pd.factorize(column, use_na_sentinel=False)
    if column.dtype == np.float64:
        written = ["" if value != value else write_float(value) for value in values.tolist()]
    else:
        written = [_cell(value, write_float) for value in values.tolist()]
    distinct = pyarrow.array(written, type=pyarrow.large_string())
    return distinct[0] if len(distinct) == 1 else distinct.take(pyarrow.array(codes))


def _joined(lines: pyarrow.LargeStringArray) -> str:
    """Return lines as one text, without making a string of each; the last one has no end."""
    import pyarrow
    from pyarrow import compute

    whole = pyarrow.ListArray.from_arrays([0, len(lines)], lines)
    text: str = compute.binary_join(whole, pyarrow.scalar("\n", pyarrow.large_string()))[0].as_py()
    return text


def _repeated(cells: pyarrow.Array | pyarrow.LargeStringScalar, length: int) -> pyarrow.Array:
    """Return cells as an array, so that the lines that they begin are as many as the rows."""
    import pyarrow

    return pyarrow.repeat(cells, length) if isinstance(cells, pyarrow.Scalar) else cells


def _cell(value: Any, write_float: Callable[[float], str]) -> str:
    if isinstance(value, str):
        return _quoted(spreadsheet_text(value))
    if is_missing(value):
        return ""
    return write_float(float(value)) if isinstance(value, float) else _quoted(str(value))


def _quoted(text: str) -> str:
    if TO_BE_QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
