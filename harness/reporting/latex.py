"""Tables for LaTeX (booktabs), and a figure's numbers as a table that pgfplots reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.embedding import embedded
from harness.reporting.frames import PROBLEM_COLUMNS, is_missing, labels_in, records, varying
from harness.reporting.panel_tables import PanelTable, marks_explained
from harness.reporting.tables import Summary
from harness.reporting.units import is_number
from harness.system.printable import printable

if TYPE_CHECKING:
    import pandas as pd

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "×": r"\ensuremath{\times}",
    "≈": r"\ensuremath{\approx}",
    "∞": r"\ensuremath{\infty}",
    "−": r"\ensuremath{-}",
    "µ": r"\textmu{}",
    "·": r"\ensuremath{\cdot}",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "✓": r"\ensuremath{\checkmark}",
}
"""Characters that LaTeX reads as commands, or that its usual fonts lack."""
PREAMBLE = "% \\usepackage{booktabs,amssymb}; each table is one tabular, to be put into a table of your own"
READ = "% Throughput and speed-ups: higher is better.  Times and errors: lower is better."
MISSING = "nan"
DIGITS = 9
"""Significant digits of numbers for plots."""
BOUNDS = {
    "time_s": ("time_low_s", "time_high_s"),
    "speedup": ("speedup_low", "speedup_high"),
    "tflops": ("tflops_low", "tflops_high"),
    "time_per_flop_s": ("time_per_flop_low_s", "time_per_flop_high_s"),
}
"""Columns that have an interval where a figure draws its ends; `<column>_minus` and `<column>_plus` are the
distances to them."""


def latex_text(text: object) -> str:
    """Return a text as LaTeX sets it letter by letter."""
    return "".join(SPECIAL.get(letter, letter) for letter in printable(str(text)))


def summary_latex(panels: Sequence[PanelTable], summary: Summary) -> Iterator[str]:
    """Yield the lines of a run's tables: one for each panel, then one with a row for each case."""
    yield from (PREAMBLE, READ)
    for panel in panels:
        yield from ("", f"% {printable(panel.title)}")
        rows = [(label, *cells) for label, cells in panel.rows.items()]
        yield from tabular(("variant", *panel.places), rows, [False, *(True for _ in panel.places)])
    yield from (f"% {note}" for note in marks_explained([panel.rows for panel in panels]))
    yield from ("", f"% {printable(summary.title)}")
    yield from tabular(summary.headers, summary.rows, [column.is_number for column in summary.columns])
    if summary.hidden:
        yield f"% and {summary.hidden} more rows in results.csv"
    yield from (f"% {note}" for note in summary.notes)


def tabular(headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[str]:
    """Return the lines of a tabular with the rules of booktabs, numbers aligned to the right."""
    import pandas as pd

    style = pd.DataFrame(list(rows), columns=list(headers)).style.hide(axis="index")
    style = style.format(latex_text).format_index(latex_text, axis="columns")
    alignment = "".join("r" if is_number else "l" for is_number in numeric)
    return style.to_latex(column_format=alignment, hrules=True).splitlines()


def plot_data(rows: pd.DataFrame, columns: Sequence[str], origin: str) -> Iterator[str]:
    """Yield the lines of a table for pgfplots: where it comes from, names of columns, a line for each row.

    It has the series and its number, what tells problems apart as far as the rows have it, and these
    columns; one that ends in a dot stands for all that begin with it.  Numbers are in base units; `nan` is
    not measured, or not the same in all cases that a line is of.
    """
    wanted = [name for column in columns for name in _matching(rows, column)]
    changing = varying(rows, PROBLEM_COLUMNS)
    problem_columns = [name for name in PROBLEM_COLUMNS if name in rows]
    problem = [name for name in problem_columns if name == "seq_q" or name in changing]
    bounded = [name for name in wanted if name in BOUNDS and set(BOUNDS[name]) <= set(rows.columns)]
    names = ["series", "series_number", *problem, *wanted]
    names += [f"{name}_{end}" for name in bounded for end in ("minus", "plus")]
    numbers = {label: number for number, label in enumerate(labels_in(rows))}
    yield f"% {embedded(origin)}"
    yield " ".join(names)
    ends = [end for name in bounded for end in BOUNDS[name]]
    for row in records(rows[list(dict.fromkeys(["label", *problem, *wanted, *ends]))]):
        label = str(row["label"])
        cells = [label, numbers[label], *(row[name] for name in (*problem, *wanted))]
        cells += [distance for name in bounded for distance in _distances(row, name)]
        yield " ".join(map(_cell, cells))


def _matching(frame: pd.DataFrame, column: str) -> list[str]:
    """Return the columns of a frame that a figure names; one of its names may stand for many."""
    if not column.endswith("."):
        return [column] if column in frame else []
    matching_columns = [str(name) for name in frame.columns if str(name).startswith(column)]
    return [name for name in matching_columns if frame[name].notna().any()]


def _distances(row: dict[str, Any], name: str) -> tuple[float | None, float | None]:
    """Return how far the ends of a value's interval are from it."""
    value, (low, high) = row[name], (row[bound] for bound in BOUNDS[name])
    if not (is_number(value) and is_number(low) and is_number(high)):
        return None, None
    return max(value - low, 0.0), max(high - value, 0.0)


def _cell(value: Any) -> str:
    if is_missing(value):
        return MISSING
    if isinstance(value, str):
        return f"{{{latex_text(value)}}}"
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
