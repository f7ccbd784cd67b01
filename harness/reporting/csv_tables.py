"""Summary and results as comma-separated text, in pieces that can be written one after the other.

Cells are made of columns, not of rows, by pyarrow wherever it writes them as Python does.  Neighbouring
columns that do not change within a piece, as most do not, are one text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.printable import spreadsheet_text
from harness.reporting.distinct import has_one_value
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, is_missing
from harness.reporting.number_texts import float_text, float_texts
from harness.results.frame import arrow_texts

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


def summary_csv(frame: pd.DataFrame) -> Iterator[bytes | memoryview]:
    """Yield the summary with values in base units, six significant digits; empty is not measured."""
    return csv_lines(frame[[column for column in SUMMARY_COLUMNS if column in frame]], SUMMARY_DIGITS)


def full_csv(frame: pd.DataFrame) -> Iterator[bytes | memoryview]:
    """Yield every column of a prepared frame, unrounded."""
    return csv_lines(frame)


def csv_lines(frame: pd.DataFrame, digits: int | None = None) -> Iterator[bytes | memoryview]:
    """Yield the text of a table in UTF-8, its header first, in pieces of many lines.

    A missing value is an empty cell.  Numbers with a fraction have so many significant digits, by default as
    many as tell them from all others.
    """
    yield (",".join(_quoted(str(name)) for name in frame.columns) + "\n").encode()
    for start in range(0, len(frame), BATCH):
        part = frame.iloc[start : start + BATCH]
        cells = [_cells(part.iloc[:, place], digits) for place in range(part.shape[1])]
        yield _lines(_merged(cells), len(part))


def _cells(column: pd.Series[Any], digits: int | None) -> pyarrow.LargeStringArray | str:
    """Return the text of each cell of a column, or the one text of all."""
    import pandas as pd
    import pyarrow
    from pyarrow import compute

    if has_one_value(column):
        return _cell(column.iloc[0], digits)
    if pd.api.types.is_float_dtype(column.dtype):
        return float_texts(column.to_numpy(dtype=float, na_value=float("nan")), digits)
    if pd.api.types.is_integer_dtype(column.dtype):
        return compute.fill_null(pyarrow.array(column, from_pandas=True).cast(pyarrow.large_string()), "")
    if isinstance(column.dtype, pd.StringDtype):
        texts = arrow_texts(column)
        if not compute.any(compute.match_substring_regex(texts, TO_BE_CHANGED)).as_py():
            return compute.fill_null(texts, "")
    codes, values = pd.factorize(column, use_na_sentinel=False)
    distinct = [_cell(value, digits) for value in values.tolist()]
    return pyarrow.array(distinct, type=pyarrow.large_string()).take(pyarrow.array(codes))


def _cell(value: Any, digits: int | None) -> str:
    if isinstance(value, str):
        return _quoted(spreadsheet_text(value))
    if is_missing(value):
        return ""
    return float_text(float(value), digits) if isinstance(value, float) else _quoted(str(value))


def _quoted(text: str) -> str:
    if TO_BE_QUOTED.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _merged(
    columns: Sequence[pyarrow.LargeStringArray | str],
) -> list[pyarrow.LargeStringArray | str]:
    """Return columns with neighbours whose cells are all the same as one, a comma between them."""
    merged: list[pyarrow.LargeStringArray | str] = []
    for cells in columns:
        if isinstance(cells, str) and merged and isinstance(merged[-1], str):
            merged[-1] += f",{cells}"
        else:
            merged.append(cells)
    return merged


def _lines(columns: Sequence[pyarrow.LargeStringArray | str], length: int) -> bytes | memoryview:
    """Return so many lines of the cells of all columns, of which a text is in every line."""
    import numpy as np
    import pyarrow
    from pyarrow import compute

    def joined(parts: Sequence[pyarrow.LargeStringArray | str], between: str) -> pyarrow.LargeStringArray:
        texts = [pyarrow.scalar(part, kind) if isinstance(part, str) else part for part in (*parts, between)]
        return compute.binary_join_element_wise(*texts)

    kind = pyarrow.large_string()
    *others, last = columns
    if not others and isinstance(last, str):
        return f"{last}\n".encode() * length
    lines = joined([*others, f"{last}\n" if isinstance(last, str) else joined([last, "\n"], "")], ",")
    _, ends, letters = lines.buffers()
    first, end = np.frombuffer(ends, np.int64)[[lines.offset, lines.offset + length]]
    return memoryview(letters)[first:end]
