"""The summary of a run, one row per problem and variant, for terminal, Markdown and LaTeX.

All round to three significant digits, with the unit in the header and `–` where nothing was measured, and
show no more rows than a person reads; `results.csv` keeps all rows, in base units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.frames import describe_problem, is_own_baseline, records
from harness.reporting.measurement_notes import too_low_peak_notes
from harness.reporting.summary_columns import (
    SPEEDUP,
    Column,
    measured_columns,
    problem_columns,
    summary_title,
)
from harness.reporting.units import EMPTY, UNCLEAR, UNCLEAR_NOTE, is_number, is_unclear
from harness.system.printable import markdown_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


STATUS_STYLES = {"passed": "green", "emulated": "cyan", "built": "blue", "unsupported": "dim"}
FAILURE_STYLE = "bold red"
MOST_ROWS = 2000
"""Of a run with more rows, or failures, texts have the first; the CSV file has all."""


@dataclass(frozen=True)
class Summary:
    """The summary as text, ready for any output format."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    problem_columns: int
    """How many of the first columns say which problem a row belongs to."""
    hidden: int = 0
    unclear: tuple[bool, ...] = ()
    """Of each row, whether its speed-up may be none."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the columns, a line each."""

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers, each on one line."""
        return tuple(column.header.replace("\n", " ") for column in self.columns)

    def begins_problem(self, index: int) -> bool:
        """Whether this row is about another problem than the one before."""
        part = slice(self.problem_columns)
        return index == 0 or self.rows[index][part] != self.rows[index - 1][part]


def summarize(frame: pd.DataFrame, most_rows: int = MOST_ROWS) -> Summary:
    """Build the summary of the first rows of a prepared frame, see `harness.reporting.frames.prepare`."""
    problem = problem_columns(frame)
    columns = [*problem, *measured_columns(frame)]
    rows = records(frame.head(most_rows))
    return Summary(
        title=summary_title(frame),
        columns=tuple(columns),
        rows=tuple(tuple(column.cell(row) for column in columns) for row in rows),
        problem_columns=len(problem),
        hidden=len(frame) - len(rows),
        unclear=tuple(has_unclear_speedup(row) for row in rows),
        notes=tuple(f"{note}." for note in too_low_peak_notes(frame)),
    )


def on_terminal(summary: Summary) -> tuple[list[Column], list[list[str]], list[str]]:
    """Return the columns that a terminal has room for, their cells with marks, and notes for below them."""
    shown = [index for index, column in enumerate(summary.columns) if column.on_terminal]
    columns = [summary.columns[index] for index in shown]
    marks = [UNCLEAR if unclear else "" for unclear in summary.unclear]
    rows = [
        [
            marks[number] * (column.source == SPEEDUP) + row[index]
            for index, column in zip(shown, columns, strict=True)
        ]
        for number, row in enumerate(summary.rows)
    ]
    return columns, rows, [*[UNCLEAR_NOTE] * any(marks), *summary.notes]


def rich_table(summary: Summary) -> Table:
    """Return the columns of the summary that a terminal has room for."""
    from rich.text import Text

    columns, rows, notes = on_terminal(summary)
    table = whole_table(summary.title, [(column.header, column.is_number) for column in columns], rows)
    table.caption = "\n".join(notes)
    status = [column.source for column in columns].index("status")
    for number, row in enumerate(rows):
        if summary.begins_problem(number):
            table.add_section()
        else:
            row[: summary.problem_columns] = [""] * summary.problem_columns
        cells = list(map(Text, row))
        cells[status].style = STATUS_STYLES.get(row[status], FAILURE_STYLE)
        table.add_row(*cells)
    return table


def case_lines(summary: Summary, frame: pd.DataFrame) -> list[str]:
    """Return the summary of a prepared frame as a line for each row, where there is no room for the table."""
    columns, rows, notes = on_terminal(summary)
    measured = slice([column.source for column in columns].index("status") + 1, None)
    lines = [summary.title]
    for row, cells in zip(records(frame.head(len(rows))), rows, strict=True):
        values = [
            f"{column.header} {cell}".replace("\n", " ")
            for column, cell in zip(columns[measured], cells[measured], strict=True)
            if cell != EMPTY
        ]
        case = f"{row['label']} · {row['target']} · {describe_problem(row)}"
        lines.append("  ".join([f"{row['status']:13}", case, *values]))
    return [*lines, *notes]


def whole_table(title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table for a terminal that has room for these rows and none of them yet; it cuts no cell.

    `columns` are the headers, and whether numbers stand below them.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title, style="table.title"),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for index, (header, numeric) in enumerate(columns):
        width = max(map(len, [*header.split("\n"), *(row[index] for row in rows)]))
        justify: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(Text(header), justify=justify, no_wrap=True, min_width=width)
    return table


def has_unclear_speedup(row: Mapping[str, Any]) -> bool:
    """Whether the speed-up of a row may be none; that of a baseline is 1 by definition."""
    if not is_number(row["speedup"]) or is_own_baseline(row):
        return False
    return is_unclear(row["speedup_low"], row["speedup_high"])


def markdown_table(summary: Summary) -> str:
    """Return the summary as a GitHub table, its title not included."""
    return markdown_rows(summary.headers, summary.rows, [column.is_number for column in summary.columns])


def markdown_rows(headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Return headers and rows of plain text as a GitHub table, numbers aligned to the right."""
    return markdown_lines(
        [markdown_text(header) for header in headers],
        [[markdown_text(cell) for cell in row] for row in rows],
        numeric,
    )


def markdown_lines(headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Return headers and rows of Markdown as a GitHub table, numbers aligned to the right."""
    alignment = ["---:" if is_number else ":---" for is_number in numeric]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (headers, alignment, *rows))
