"""Tables for LaTeX (booktabs), and a figure's numbers as a table that pgfplots reads."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pandas as pd

from harness.reporting.figures.embedding import embedded
from harness.reporting.frames import PROBLEM_COLUMNS, is_missing, labels_in, records, varying
from harness.reporting.panel_tables import marks_explained
from harness.reporting.tables import Summary
from harness.reporting.units import is_number
from harness.system.printable import printable

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
FORMULA = re.compile(r"(?<!\\)(\$(?:[^$\\]|\\.)+\$)")
"""What may be a formula between two dollar signs; one after a backslash is none of them."""
PREAMBLE = "% \\usepackage{booktabs,multirow,amssymb}; one tabular, to be put into a table of your own"
READ = "% Throughput and speed-ups: higher is better.  Times and errors: lower is better."
CLINES = re.compile(r"\\cline(\{.*?\}).*")
"""The rules below a group of rows; the first one is the longest."""
MISSING = "nan"
DIGITS = 9
BOUNDS = {
    "time_s": ("time_low_s", "time_high_s"),
    "speedup": ("speedup_low", "speedup_high"),
    "tflops": ("tflops_low", "tflops_high"),
    "time_per_flop_s": ("time_per_flop_low_s", "time_per_flop_high_s"),
}
"""Columns that have an interval where a figure draws its ends; `<column>_minus` and `<column>_plus` are the
distances to them."""


def latex_text(text: object) -> str:
    """Return a text as LaTeX sets it letter by letter, but for formulas as figures show them, `$O(N)$`."""
    shown = printable(str(text))
    parts = FORMULA.split(shown) if shown.replace(r"\$", "").count("$") % 2 == 0 else [shown]
    return "".join(
        part if place % 2 and _is_formula(part) else "".join(SPECIAL.get(letter, letter) for letter in part)
        for place, part in enumerate(parts)
    )


@cache
def _is_formula(text: str) -> bool:
    """Whether matplotlib sets a text as a formula; it knows no command that reads a file or defines one."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return r"\text" not in text  # inside of it matplotlib takes any letters, commands of LaTeX among them


def summary_latex(grids: Sequence[tuple[str, pd.DataFrame]], summary: Summary) -> Iterator[str]:
    """Yield the lines of a run's tables: its `paper_grids`, or where there is none a row for each case."""
    for place, (title, grid) in enumerate(grids):
        yield from [""] * bool(place)  # a paragraph each
        yield from grid_latex(grid, title)
    if grids:
        return
    keys = summary.problem_columns + 1
    index = pd.MultiIndex.from_tuples(
        [row[:keys] for row in summary.rows], names=list(summary.headers[:keys])
    )
    cells = pd.DataFrame([row[keys:] for row in summary.rows], index, list(summary.headers[keys:]))
    numeric = [column.is_number for column in summary.columns]
    yield from grid_latex(cells, summary.title, summary.notes, numeric)
    if summary.hidden:
        yield f"% and {summary.hidden} more rows in results.csv"


def grid_latex(
    grid: pd.DataFrame,
    title: str,
    notes: Sequence[str] = (),
    numeric: Sequence[bool] | None = None,
) -> Iterator[str]:
    """Yield the lines of a grid of texts as a tabular, with its title and what its marks mean as remarks."""
    yield from (PREAMBLE, READ, f"% {printable(title)}")
    yield from _tabular(grid, numeric)
    marks = marks_explained([{"": list(grid.to_numpy(dtype=object).flat)}])
    yield from (f"% {printable(note)}" for note in dict.fromkeys([*marks, *notes]))


def _tabular(grid: pd.DataFrame, numeric: Sequence[bool] | None) -> list[str]:
    """Return the lines of a tabular with the rules of booktabs, also below groups of columns and of rows."""
    named = (axis.set_names([latex_text(name or "") for name in axis.names]) for axis in grid.axes)
    index, columns = (axis.get_level_values(0) if axis.nlevels == 1 else axis for axis in named)
    style = grid.set_axis(index, axis="index").set_axis(columns, axis="columns").style.format(latex_text)
    for axis in ("index", "columns"):
        style = style.format_index(latex_text, axis=axis)
    keys = index.nlevels
    aligned = numeric or [False] * keys + [True] * len(grid.columns)
    lines = style.to_latex(
        column_format="".join("r" if is_number else "l" for is_number in aligned),
        hrules=True,
        clines="skip-last;data" if keys > 1 else None,
        multirow_align="t",
        multicol_align="c",
    ).splitlines()
    body = [CLINES.sub(r"\\cmidrule\1", line) for line in lines]
    last_rule = body.index(r"\bottomrule") - 1
    if body[last_rule].startswith(r"\cmidrule"):
        del body[last_rule]
    for level in range(grid.columns.nlevels - 1, 0, -1):
        body.insert(2 + level, _rules_below(grid.columns, level, keys))
    return body


def _rules_below(columns: pd.Index, levels: int, first: int) -> str:
    """Return the rules below the groups of columns that agree in their first levels."""
    keys = [key[:levels] for key in columns]
    starts = [place for place, key in enumerate(keys) if place == 0 or key != keys[place - 1]]
    ends = [*starts[1:], len(keys)]
    return " ".join(
        rf"\cmidrule(lr){{{first + start + 1}-{first + end}}}"
        for start, end in zip(starts, ends, strict=True)
    )


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
