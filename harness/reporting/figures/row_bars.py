"""Rows of horizontal bars: a row for each series, under a heading for each form of problem.

For what hardly changes with the length: figures of the code, and what building it takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.distinct import has_one_value, numbered
from harness.reporting.figures.base import FigureSettings, PanelColumn, TooLow, Unreadable
from harness.reporting.figures.layout import CAPTION_MARGIN, caption_lines, describe_forms, panel_columns
from harness.reporting.figures.legend import text_width, wrap
from harness.reporting.figures.places import LENGTHS
from harness.reporting.figures.style import (
    CAPTION_SIZE,
    POINTS_PER_INCH,
    SeriesStyle,
    paper_style,
    series_styles,
)
from harness.reporting.frames import PROBLEM_COLUMNS, is_missing, labels_in
from harness.reporting.units import is_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SIZES = (*LENGTHS, "batch", "kv_lengths", "cu_seqlens_q", "cu_seqlens_kv")
"""Columns in which the cases of a row may differ: lengths, and what may follow from them."""

MOST_ROWS = 48
"""More rows than this nobody can read."""
BAR = 0.72
"""Height of a bar over the distance between two."""
INCHES_OF_ROW = 0.17
INCHES_OF_LINE = 0.115
"""Of a row whose name has several lines."""
INCHES_BESIDES = 0.55
"""Height besides rows and caption: titles."""
LEAST_INCHES_OF_LINE = 0.09
"""Of a line of a row's name, below which it runs into the next."""
WIDEST_NAMES = 0.26
"""Share of the figure's width for the names of the series, which are wrapped if longer."""
MOST_TEXT = 0.8
"""Share of a column that the text beside its longest bar may take."""
BOLD = 1.2
"""How many times as wide as others bold letters are, at most."""
COLUMN_GAP = 0.12
"""Inches between two columns."""
NAME_SIZE = 6.0
TEXT_SIZE = 5.5
TITLE_SIZE = 6.5
TITLE_GAP = 2.0
"""Points between the titles of two columns; where they have no room for it, titles stand upright."""


class RowSettings(FigureSettings):
    """What figures of rows can be told."""

    by: tuple[PanelColumn, ...] = ("target", "dtype", "head_dim", "mask")
    """What headings say first.  A series has a row for each form of problem, cases of several lengths share
    one; see `bar_rows`."""


@dataclass(frozen=True)
class BarRow:
    """One row: a series, the form of its problems, and its cases."""

    label: str
    values: tuple[Any, ...]
    """What tells its form from others: its values where forms differ, None where missing."""
    form: str
    """That in words, `cuda:sm_80, causal mask`."""
    heading: str
    """The same, with line breaks where it is wider than all columns together."""
    place: int
    """How many lines below the top it stands."""
    cases: pd.DataFrame

    def spread(self, column: str) -> tuple[float, float, float] | None:
        """Return the smallest, the middle and the largest value of a column; None where there is none."""
        values = [value for value in self.cases[column] if is_number(value)] if column in self.cases else []
        if not values:
            return None
        return float(min(values)), float(sorted(values)[len(values) // 2]), float(max(values))


@dataclass(frozen=True)
class RowColumn:
    """One column of bars: its title, the bars of each row, and the text beside them."""

    title: str
    ends: Sequence[tuple[BarRow, float, str]]
    """Row, where its bar ends, and what is written there."""
    draw: Callable[[Axes, dict[str, SeriesStyle]], None]
    """Draws the bars of all rows."""


def bar_rows(frame: pd.DataFrame, settings: RowSettings) -> list[BarRow]:
    """Split a prepared frame into rows, those of one form below each other and under a heading.

    Raises `Unreadable` where there would be too many.
    """
    columns = _form_columns(frame, settings)
    grouped = list(frame.groupby([*columns, "label"], observed=True, dropna=False, sort=True))
    if len(grouped) > MOST_ROWS:
        counts = [f"{len(labels_in(frame))} series"]
        counts += [f"{frame[column].nunique(dropna=False)} of {column}" for column in columns]
        raise Unreadable(
            f"{len(grouped)} rows ({', '.join(counts)}), of which at most {MOST_ROWS} can be read; "
            "narrow them down with variants or where"
        )
    forms = [tuple(None if is_missing(value) else value for value in values) for (*values, _), _ in grouped]
    described = describe_forms(columns, forms)
    room = (1 - WIDEST_NAMES) * settings.inches * POINTS_PER_INCH / BOLD
    with paper_style(settings.font):
        headings = {form: wrap(form, NAME_SIZE, room) for form in set(described)}
    rows: list[BarRow] = []
    for ((*_, label), cases), values, form in zip(grouped, forms, described, strict=True):
        place = rows[-1].place + 1 if rows else 0
        if form and (not rows or rows[-1].values != values):
            place += headings[form].count("\n") + 1
        rows.append(BarRow(str(label), values, form, headings[form], place, cases))
    return rows


def _form_columns(frame: pd.DataFrame, settings: RowSettings) -> list[str]:
    """Return the columns that tell forms apart: those that are wanted, and whatever else is no size.

    A size is one, too, where cases of equal lengths differ in it; else it follows from the lengths, which
    share a row.
    """
    sizes = [name for name in SIZES if name not in settings.by]
    forms = panel_columns(frame.drop(columns=sizes), settings.by)
    return panel_columns(frame.assign(lengths=numbered(frame, LENGTHS)), forms, "lengths")


def row_numbers(
    frame: pd.DataFrame, rows: Sequence[BarRow], values: Callable[[BarRow], Mapping[str, Any]]
) -> pd.DataFrame:
    """Return a table of rows with their values: the series, and what is the same in all cases of a row."""
    import pandas as pd

    problem = [name for name in PROBLEM_COLUMNS if name in frame]
    entries = [
        {
            "label": row.label,
            **{name: _common(row.cases[name]) for name in problem},
            **values(row),
        }
        for row in rows
    ]
    return pd.DataFrame(entries).astype({"label": frame["label"].dtype})


def _common(values: pd.Series[Any]) -> Any:
    """Return the value that all cases have, None where they differ."""
    return values.iloc[0] if has_one_value(values) else None


def draw_rows(
    frame: pd.DataFrame,
    rows: Sequence[BarRow],
    columns: Sequence[RowColumn],
    settings: RowSettings,
    caption: str,
    heading_height: float = 0.0,
) -> Drawing:
    """Make a drawing of rows with columns of bars, names on the left and the caption below.

    Series have their styles of the whole `frame`.  `heading_height` are inches for a legend.  Raises `TooLow`
    where the settings' size has no room for the rows.
    """
    from matplotlib.figure import Figure as Drawing

    width, lines_of_rows = settings.inches, rows[-1].place + 1
    names = _names(rows, settings, width)
    row_inches = max(INCHES_OF_ROW, INCHES_OF_LINE * max(name.count("\n") + 1 for name in names))
    with paper_style(settings.font):
        lines = caption_lines(caption, width) if settings.caption else []
        names_width = max(text_width(line, NAME_SIZE) for name in names for line in name.split("\n"))
        column_inches = (width - names_width / POINTS_PER_INCH) / len(columns) - COLUMN_GAP
        longest_title = max(_title_inches(column) for column in columns)
    are_upright = longest_title > column_inches
    caption_height = (len(lines) * CAPTION_SIZE * 1.3 + 4) / POINTS_PER_INCH
    heading = heading_height or (0.3 if settings.title else 0.0)
    besides = INCHES_BESIDES + (longest_title if are_upright else 0.0)
    height = caption_height + heading + besides + row_inches * lines_of_rows
    if settings.size:
        lines_of_names = max(name.count("\n") + 1 for name in names)
        least = height - (row_inches - LEAST_INCHES_OF_LINE * lines_of_names) * lines_of_rows
        height = settings.size[1]
        if height < least:
            raise TooLow(height, least)
    with paper_style(settings.font):
        styles = series_styles(frame)
        drawing = Drawing(figsize=(width, height))
        share = caption_height / height
        drawing.set_layout_engine("constrained", rect=(0, share, 1, 1 - share), w_pad=COLUMN_GAP / 2)
        all_axes = drawing.subplots(1, len(columns), squeeze=False, sharey=True)[0]
        for column, axes in zip(columns, all_axes, strict=True):
            column.draw(axes, styles)
            _finish(axes, column, column_inches, lines_of_rows)
            axes.set_title(column.title, fontsize=TITLE_SIZE, rotation=90 if are_upright else 0)
        all_axes[0].set_yticks([row.place for row in rows], names, fontsize=NAME_SIZE)
        _write_forms(all_axes[0], rows)
        if settings.title and not heading_height:
            drawing.suptitle(settings.title)
        place = (CAPTION_MARGIN / width, 2 / POINTS_PER_INCH / height)
        text = drawing.text(*place, "\n".join(lines), fontsize=CAPTION_SIZE, color="0.25", gid="caption")
        text.set(va="bottom", linespacing=1.2)
    return drawing


def _finish(axes: Axes, column: RowColumn, inches: float, lines: int) -> None:
    """Write the texts beside the bars, and scale the column so that they fit."""
    largest = max((end for _, end, _ in column.ends), default=0.0) or 1.0
    needed = [largest]
    for row, end, text in column.ends:
        room = min((text_width(text, TEXT_SIZE) + 4) / POINTS_PER_INCH / inches, MOST_TEXT)
        needed.append(end / (1 - room))
        axes.annotate(
            text,
            (end, row.place),
            xytext=(2, 0),
            textcoords="offset points",
            va="center_baseline",
            fontsize=TEXT_SIZE,
            color="0.1",
            gid="value",
        )
    axes.set_xlim(0, max(needed))
    axes.set_xticks([])
    axes.set_ylim(lines - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)


def _title_inches(column: RowColumn) -> float:
    """Return how wide a column's title is, with a gap to the next."""
    return (
        max(text_width(line, TITLE_SIZE) for line in column.title.split("\n")) + TITLE_GAP
    ) / POINTS_PER_INCH


def _names(rows: Iterable[BarRow], settings: RowSettings, width: float) -> list[str]:
    """Return what stands left of each row."""
    room = WIDEST_NAMES * width * POINTS_PER_INCH
    return [wrap(settings.display(row.label), NAME_SIZE, room) for row in rows]


def _write_forms(axes: Axes, rows: Sequence[BarRow]) -> None:
    """Write the heading above the rows of each form, over the columns on the right, whose axes it hides."""
    axes.set_zorder(1)
    axes.patch.set_visible(False)
    for _, group in itertools.groupby(rows, key=lambda row: row.values):
        first = next(group)
        if first.heading:
            middle = first.place - (first.heading.count("\n") + 2) / 2
            text = axes.annotate(first.heading, (0, middle), xycoords=("axes fraction", "data"))
            text.set(fontsize=NAME_SIZE, fontweight="bold", va="center_baseline", gid="form")
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
            text.set_in_layout(False)
