"""The summary of a run, one row per problem and variant: terminal, Markdown and CSV.

All three show the same columns.  Terminal and Markdown round to three significant digits, with the unit in
the header and `–` where nothing was measured; the CSV keeps the values in base units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.printable import markdown_text, spreadsheet_text
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    format_value,
    is_missing,
    records,
    sort_rows,
    varying,
)
from harness.reporting.units import EMPTY, interval, percent, rate_unit, scaled, significant, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


SUMMARY_COLUMNS = (
    *RUN_COLUMNS,
    "case",
    "device",
    *PROBLEM_COLUMNS,
    "label",
    "variant",
    "params",
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
    "noise",
    "busy",
    "flop_convention",
)
"""Columns of `summary.csv`, in base units (seconds, TFLOP/s, shares of 1)."""

ALWAYS_IN_TITLE = ("target", "dtype")
NEVER_SHOWN = ("executor", "causal_alignment", "scale")
"""Problem columns that stay out of titles; as columns they are shown where they vary."""

STATUS_STYLES = {"passed": "green", "emulated": "cyan", "built": "blue", "unsupported": "dim"}
FAILURE_STYLE = "bold red"


@dataclass(frozen=True)
class Column:
    """One column of the summary: its header, and how a row's cell reads."""

    header: str
    """A line break is where a narrow table may break it."""
    cell: Callable[[dict[str, Any]], str]
    source: str
    """Column of the frame; where nothing is measured in it, the summary leaves the column out."""
    is_number: bool = True
    dispensable: int = 0
    """What a narrow terminal leaves out: the highest first, never 0."""


@dataclass(frozen=True)
class Summary:
    """The summary as text, ready for any output format."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    problem_columns: int
    """How many of the first columns say which problem a row belongs to."""

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers, each on one line."""
        return tuple(column.header.replace("\n", " ") for column in self.columns)

    def begins_problem(self, index: int) -> bool:
        """Whether this row is about another problem than the one before."""
        part = slice(self.problem_columns)
        return index == 0 or self.rows[index][part] != self.rows[index - 1][part]


def summarize(frame: pd.DataFrame) -> Summary:
    """Build the summary of a prepared frame, see `harness.reporting.frames.prepare`."""
    problem = _problem_columns(frame)
    columns = [*problem, *_measured_columns(frame)]
    return Summary(
        title=summary_title(frame),
        columns=tuple(columns),
        rows=tuple(tuple(column.cell(row) for column in columns) for row in records(sort_rows(frame))),
        problem_columns=len(problem),
    )


def summary_title(frame: pd.DataFrame) -> str:
    """Return experiment and what all its rows share, `seq_sweep · cpu · f32 · heads 16 · threads 1`."""
    changing = varying(frame, PROBLEM_COLUMNS)
    words = [", ".join(dict.fromkeys(str(name) for name in frame["experiment"]))]
    first = records(frame.head(1))
    for column in PROBLEM_COLUMNS:
        if not first or column in (*changing, *NEVER_SHOWN) or column not in first[0]:
            continue
        value = first[0][column]
        if column in ("kv_heads", "head_dim_v", "seq_kv") and value == first[0][_SAME_UNLESS_SAID[column]]:
            continue
        if is_missing(value) or value is False:
            continue
        words.append(
            str(value) if column in (*ALWAYS_IN_TITLE, "mask") else f"{column} {format_value(value)}"
        )
    return " · ".join(words)


def rich_table(summary: Summary, width: int) -> Table:
    """Return the summary as a table for a terminal of this width.

    Numbers are never cut: where the width does not suffice, whole columns are left out, the most
    dispensable first, and the caption names them.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _column_widths(summary)
    shown, left_out = _columns_that_fit(summary, widths, width)
    table = Table(
        title=summary.title,
        title_justify="left",
        caption=f"left out for width: {', '.join(left_out)}" if left_out else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for index in shown:
        column = summary.columns[index]
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        table.add_column(column.header, justify=justify, no_wrap=True, min_width=widths[index])
    status = summary.headers.index("status")
    for number, row in enumerate(summary.rows):
        if number and summary.begins_problem(number):
            table.add_section()
        cells = []
        for index in shown:
            repeated = index < summary.problem_columns and not summary.begins_problem(number)
            style = STATUS_STYLES.get(row[status], FAILURE_STYLE) if index == status else ""
            cells.append(Text("" if repeated else row[index], style=style))
        table.add_row(*cells)
    return table


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
    """Return headers and rows as a GitHub table, numbers aligned to the right."""
    lines = [
        _markdown_line(headers),
        _markdown_line(["---:" if is_number else ":---" for is_number in numeric]),
        *(_markdown_line(row) for row in rows),
    ]
    return "\n".join(lines) + "\n"


def summary_csv(frame: pd.DataFrame) -> str:
    """Return the summary with values in base units, six significant digits; empty is not measured."""
    columns = [column for column in SUMMARY_COLUMNS if column in frame]
    return harmless(sort_rows(frame)[columns]).to_csv(index=False, float_format="%.6g", lineterminator="\n")


def full_csv(frame: pd.DataFrame) -> str:
    """Return every column of a prepared frame, unrounded."""
    return harmless(sort_rows(frame)).to_csv(index=False, lineterminator="\n")


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of which no spreadsheet takes a text for a formula."""
    texts = frame.select_dtypes(exclude=["number", "boolean", "bool"]).columns
    safe = {
        name: frame[name].map(lambda value: spreadsheet_text(value) if isinstance(value, str) else value)
        for name in texts
    }
    return frame.assign(**safe)


_SAME_UNLESS_SAID = {"kv_heads": "heads", "head_dim_v": "head_dim", "seq_kv": "seq_q"}
_HEADERS = {"seq_q": "seq"}


def _problem_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of what varies between problems, then the series."""
    changing = varying(frame, PROBLEM_COLUMNS)
    for column, origin in _SAME_UNLESS_SAID.items():
        if column in changing and bool((frame[column] == frame[origin]).all()):
            changing.remove(column)
    if "scale" in changing and "head_dim" in changing:
        changing.remove("scale")
    return [
        Column(
            header=_HEADERS.get(name, name),
            cell=lambda row, name=name: EMPTY if is_missing(row[name]) else format_value(row[name]),  # type: ignore[misc]
            source=name,
            is_number=not frame[name].map(lambda value: isinstance(value, str | bool)).any(),
        )
        for name in changing
    ]


def _measured_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of series, status and measurements; those without any value are left out."""
    time = time_unit(frame["time_s"])
    rate = rate_unit(frame["tflops"])
    baselines = list(frame["baseline"].dropna().unique())
    against = f" vs {baselines[0]}" if len(baselines) == 1 else ""
    columns = [
        Column("variant", lambda row: str(row["label"]), "label", is_number=False),
        Column("status", lambda row: str(row["status"]), "status", is_number=False),
        Column(
            "error /\ntolerance", lambda row: significant(row["error_ratio"], 2), "error_ratio", dispensable=5
        ),
        Column(f"time ({time.symbol})", lambda row: scaled(row["time_s"], time.factor), "time_s"),
        Column(
            "time\n[95 %]",
            lambda row: interval(row["time_low_s"], row["time_high_s"], time.factor),
            "time_low_s",
            dispensable=8,
        ),
        Column(rate.symbol, lambda row: scaled(row["tflops"], rate.factor), "tflops", dispensable=2),
        Column("% of\npeak", lambda row: percent(row["fraction_of_peak"]), "fraction_of_peak", dispensable=4),
        Column(
            f"speed-up{against}".replace(" vs", "\nvs"), lambda row: significant(row["speedup"]), "speedup"
        ),
        Column(
            "speed-up\n[95 %]",
            lambda row: interval(row["speedup_low"], row["speedup_high"]),
            "speedup_low",
            dispensable=7,
        ),
        Column(
            "recompute", lambda row: significant(row["recompute_factor"]), "recompute_factor", dispensable=6
        ),
        Column("noise\n(%)", lambda row: percent(row["noise"], digits=2), "noise", dispensable=3),
        Column("busy", lambda row: _busy(row["busy"]), "busy", is_number=False, dispensable=1),
    ]
    if len(baselines) > 1:
        columns.insert(
            -4, Column("baseline", lambda row: _text(row["baseline"]), "baseline", is_number=False)
        )
    return [column for column in columns if frame[column.source].notna().any()]


def _text(value: Any) -> str:
    return EMPTY if is_missing(value) else str(value)


def _busy(value: Any) -> str:
    if is_missing(value):
        return EMPTY
    return "busy" if value else "no"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"
