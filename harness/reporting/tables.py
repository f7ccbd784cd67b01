"""The summary of a run, one row per problem and variant: terminal, Markdown and CSV.

All three show the same columns.  Terminal and Markdown round to three significant digits, with the unit in
the header and `–` where nothing was measured, and show no more rows than a person reads; the CSV keeps all
rows, in base units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.frames import is_own_baseline, records
from harness.reporting.measurement_notes import too_low_peak_notes
from harness.reporting.summary_columns import (
    SPEEDUP,
    SPEEDUP_INTERVAL,
    Column,
    measured_columns,
    problem_columns,
    summary_title,
)
from harness.reporting.units import UNCLEAR, UNCLEAR_NOTE, is_number, is_unclear
from harness.system.printable import markdown_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


STATUS_STYLES = {"passed": "green", "emulated": "cyan", "built": "blue", "unsupported": "dim"}
FAILURE_STYLE = "bold red"


@dataclass(frozen=True)
class Summary:
    """The summary as text, ready for any output format."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    problem_columns: int
    """How many of the first columns say which problem a row belongs to."""
    hidden: int = 0
    """How many rows there are besides."""
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


def summarize(frame: pd.DataFrame, most_rows: int | None = None) -> Summary:
    """Build the summary of a prepared frame, see `harness.reporting.frames.prepare`.

    It has a row for each of the frame's, or for so many of the first.
    """
    problem = problem_columns(frame)
    columns = [*problem, *measured_columns(frame)]
    shown = frame.head(len(frame) if most_rows is None else most_rows)
    rows = records(shown)
    return Summary(
        title=summary_title(frame),
        columns=tuple(columns),
        rows=tuple(tuple(column.cell(row) for column in columns) for row in rows),
        problem_columns=len(problem),
        hidden=len(frame) - len(shown),
        unclear=tuple(_is_unclear(row) for row in rows),
        notes=tuple(f"{note}." for note in too_low_peak_notes(frame)),
    )


def rich_table(summary: Summary, width: int) -> Table:
    """Return the summary as a table for a terminal of this width.

    Numbers are never cut: where the width does not suffice, whole columns are left out, the most
    dispensable first, and the caption names them.  Where the interval of speed-ups is left out, a mark says
    which of them may be none.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _column_widths(summary)
    shown, left_out = _columns_that_fit(summary, widths, width)
    shows_intervals = any(summary.columns[index].source == SPEEDUP_INTERVAL for index in shown)
    marks = ["" if shows_intervals or not unclear else UNCLEAR for unclear in summary.unclear]
    notes = [f"left out for width: {', '.join(left_out)}"] * bool(left_out)
    notes += [*[UNCLEAR_NOTE] * any(marks), *summary.notes]
    table = Table(
        title=Text(summary.title, style="table.title"),
        title_justify="left",
        caption=Text("\n".join(notes), style="table.caption") if notes else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for index in shown:
        column = summary.columns[index]
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        table.add_column(Text(column.header), justify=justify, no_wrap=True, min_width=widths[index])
    status = summary.headers.index("status")
    for number, row in enumerate(summary.rows):
        if number and summary.begins_problem(number):
            table.add_section()
        cells = []
        for index in shown:
            repeated = index < summary.problem_columns and not summary.begins_problem(number)
            style = STATUS_STYLES.get(row[status], FAILURE_STYLE) if index == status else ""
            mark = marks[number] if summary.columns[index].source == SPEEDUP else ""
            cells.append(Text("" if repeated else mark + row[index], style=style))
        table.add_row(*cells)
    return table


def _is_unclear(row: dict[str, Any]) -> bool:
    """Whether a row's own speed-up may be none; that of a baseline is 1 by definition."""
    if not is_number(row["speedup"]) or is_own_baseline(row):
        return False
    return is_unclear(row["speedup_low"], row["speedup_high"])


def _column_widths(summary: Summary) -> list[int]:
    return [
        max(len(text) for text in (*column.header.split("\n"), *(row[index] for row in summary.rows)))
        for index, column in enumerate(summary.columns)
    ]


def _columns_that_fit(summary: Summary, widths: Sequence[int], width: int) -> tuple[list[int], list[str]]:
    """Return the indices of the columns to show, and the headers of those left out."""
    shown = list(range(len(summary.columns)))
    left_out = []
    while 1 + sum(widths[index] + 2 for index in shown) > width:
        most_dispensable = max(shown, key=lambda index: summary.columns[index].dispensable)
        if summary.columns[most_dispensable].dispensable == 0:
            break
        shown.remove(most_dispensable)
        left_out.append(summary.headers[most_dispensable])
    return shown, left_out


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
