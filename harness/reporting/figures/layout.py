"""The frame that all figures share: panels with headings, a legend above them, and the caption below.

matplotlib's constrained layout gives everything its place.  What is estimated here is only how high a figure
has to be, and after how many letters a line of text breaks.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.captions import said_of_runs
from harness.reporting.figures.base import FigureSettings, NothingToDraw, Unreadable
from harness.reporting.figures.places import FIXED_LENGTH, LENGTHS
from harness.reporting.figures.style import CAPTION_SIZE, COLUMN_HEIGHT, COLUMN_WIDTH, FONT_SIZES
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    distinct_texts,
    format_value,
    in_words,
    is_missing,
    labels_in,
    several_values,
    sort_key,
    varying,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LETTERS = 120
"""Letters of size 1 that fit into an inch."""
LONGEST_TEXT = 200
"""Letters of a name that are drawn; rows of other origin may have longer ones."""
HEADING_SIZE = float(FONT_SIZES["axes.titlesize"])
LEGEND_SIZE = float(FONT_SIZES["legend.fontsize"])
LEFT_OF_PANELS = 0.6
"""Inches for the label and the ticks of a vertical axis."""
HANDLE = 0.5
"""Inches of a legend's entry besides its text."""
MOST_LEGEND_COLUMNS = 4
LEAST_PANEL_HEIGHT = 0.8
"""Inches below which nothing of a panel can be read."""
KIND = "kind"
"""Column of words that tell published rows from measured ones where they have panels of their own."""
MOST_PANELS = 24
MOST_SERIES = 32
MOST_PLACES = 48
"""More panels, series, or places along the horizontal axis than this nobody can read."""


@dataclass(frozen=True)
class Panel:
    """One panel: its place, its heading, and its rows of the frame."""

    row: int
    column: int
    heading: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class PanelGrid:
    """All panels of a figure."""

    panels: tuple[Panel, ...]
    rows: int
    columns: int


def panel_columns(frame: pd.DataFrame, wanted: Sequence[str], x: str | None = None) -> list[str]:
    """Return the columns to split by: those wanted that vary, and more where one panel would mix problems.

    Within a panel, all series must be of one problem at each x: whatever else tells rows apart there (dtype,
    target, threads …) becomes a further split rather than a silent mixture.  Along `seq`, so does the length
    that stays, see `FIXED_LENGTH`.  What follows from x does not, and neither does what a caption says of
    each run, see `said_of_runs`.
    """
    place = [] if x is None else [x]
    known = {*place, *said_of_runs(frame)}
    is_length_said = any(name in known or name in wanted for name in LENGTHS)
    chosen = varying(frame, [*wanted, *([] if is_length_said else [FIXED_LENGTH]), KIND])
    for column in varying(frame, PROBLEM_COLUMNS):
        is_new = column not in chosen and column not in known
        if is_new and several_values(frame, [*place, *chosen], column):
            chosen.append(column)
    return chosen


def check_readable(frame: pd.DataFrame, wanted: Sequence[str], x: str | None = None) -> list[str]:
    """Return the columns to split by, see `panel_columns`; `x` is the horizontal axis, if it is a column.

    Raises `Unreadable`, with what to narrow down, where there would be more series, places or panels than
    can be read.
    """
    series = len(labels_in(frame))
    if series > MOST_SERIES:
        raise Unreadable(
            f"{series} series, of which at most {MOST_SERIES} can be told apart; choose some with variants"
        )
    places = 0 if x is None else frame[x].nunique()
    if x is not None and places > MOST_PLACES:
        raise Unreadable(
            f"{places} values of {x}, of which at most {MOST_PLACES} can be read; narrow them down, "
            f'where = "{x} <= {sorted(frame[x].unique())[MOST_PLACES - 1]}"'
        )
    columns = panel_columns(frame, wanted, x)
    panels = len(frame[columns].drop_duplicates()) if columns else 1
    if panels > MOST_PANELS:
        counts = ", ".join(f"{frame[column].nunique(dropna=False)} of {column}" for column in columns)
        raise Unreadable(
            f"{panels} panels ({counts}), of which at most {MOST_PANELS} can be read; "
            "narrow them down with where"
        )
    return columns


def panel_grid(frame: pd.DataFrame, columns: Sequence[str], most_columns: int = 2) -> PanelGrid:
    """Split a frame into panels; the values of the second column, if any, lie side by side.

    With one column its values fill rows of `most_columns` panels; with more than two, the first and
    the later ones together make the rows.  `most_columns = 1` stacks everything.
    """
    if not columns:
        return PanelGrid((Panel(0, 0, "", frame),), 1, 1)
    combinations = frame[list(columns)].drop_duplicates().itertuples(index=False, name=None)
    keys = sorted(
        {tuple(None if is_missing(value) else value for value in values) for values in combinations},
        key=lambda values: _order(columns, values),
    )
    across = sorted({values[1:2] for values in keys}, key=lambda v: _order(columns[1:2], v))
    side_by_side = 1 < len(across) <= most_columns
    rest = [*columns[:1], *columns[2:]]
    down = sorted({(values[0], *values[2:]) for values in keys}, key=lambda v: _order(rest, v))
    panels = []
    for index, (values, heading) in enumerate(zip(keys, describe_forms(columns, keys), strict=True)):
        if side_by_side:
            place = down.index((values[0], *values[2:])), across.index(values[1:2])
        else:
            place = divmod(index, min(most_columns, len(keys)))
        rows = frame
        for column, value in zip(columns, values, strict=True):
            rows = rows[rows[column].isna()] if value is None else rows[rows[column] == value]
        panels.append(Panel(*place, heading=heading, frame=rows))
    return PanelGrid(
        tuple(panels),
        rows=1 + max(panel.row for panel in panels),
        columns=1 + max(panel.column for panel in panels),
    )


def _order(columns: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Return what panels are sorted by: numbers grow, also those of `FIXED_LENGTH`, those of keys first."""
    keys: list[Any] = []
    for column, value in zip(columns, values, strict=True):
        if column == FIXED_LENGTH:
            keys.append(((value > 0) - (value < 0), abs(value)))
        else:
            keys.append(sort_key(value))
    return keys


def new_drawing(
    grid: PanelGrid,
    panel_height: float,
    settings: FigureSettings,
    caption: str,
    *,
    notes: Sequence[str] = (),
    legend: Mapping[str, Any] | None = None,
    labels: tuple[str, str] = ("", ""),
    width: float | None = None,
    shares_scale: bool = True,
) -> tuple[Drawing, list[Axes]]:
    """Make a drawing with the axes and heading of each panel, by default on one vertical scale.

    Above the panels stand the settings' title and a `legend` of texts and handles; below them the `notes` and
    the caption.  `labels` are those of the outer axes.  All sizes are in inches; a panel's height includes
    its heading, ticks and label.  Raises `NothingToDraw` where the settings' size leaves panels no room.
    """
    from matplotlib.figure import Figure as Drawing

    width = width or settings.inches
    text = wrap(" ".join([*notes, caption]), width - 0.15, CAPTION_SIZE) if settings.caption else ""
    entries = {wrap(name, width - HANDLE, LEGEND_SIZE): handle for name, handle in (legend or {}).items()}
    columns, height_of_legend = _legend_size(list(entries), width)
    headings = [_heading(panel, grid, width) for panel in grid.panels]
    besides = 0.11 * (text.count("\n") + 1) + height_of_legend + 0.2 * bool(settings.title)
    besides += 0.13 * grid.rows * max(heading.count("\n") for heading in headings)
    height, least = besides + grid.rows * panel_height, min(LEAST_PANEL_HEIGHT, 0.7 * panel_height)
    if settings.size is None and width <= COLUMN_WIDTH:
        height = max(min(height, COLUMN_HEIGHT), besides + grid.rows * least)
    if settings.size is not None:
        height, needed = settings.size[1], math.ceil(10 * (besides + grid.rows * least)) / 10
        if height < needed:
            raise NothingToDraw(f"size: {height:g} inches of height, at least {needed:.1f} are needed")
    drawing = Drawing(figsize=(width, height), layout="constrained")
    all_axes = drawing.subplots(grid.rows, grid.columns, squeeze=False, sharey=shares_scale)
    if text:
        drawing.supxlabel(text, x=0.01, ha="left", fontsize=CAPTION_SIZE, color="0.25", gid="caption")
    if entries:
        for name, handle in entries.items():
            handle.set_label(name)
        drawing.legend(
            handles=list(entries.values()), title=settings.title, loc="outside upper center", ncols=columns
        )
    elif settings.title:
        drawing.suptitle(settings.title)
    shown = [all_axes[panel.row, panel.column] for panel in grid.panels]
    for axes in set(all_axes.flat) - set(shown):
        axes.set_visible(False)
    for axes, heading in zip(shown, headings, strict=True):
        axes.set_title(heading)
    _label_axes(shown, grid, *labels)
    return drawing, shown


def wrap(text: str, inches: float, size: float) -> str:
    """Break a text so that lines of letters of usual width are no longer than so many inches."""
    text = text if len(text) <= LONGEST_TEXT or size == CAPTION_SIZE else text[: LONGEST_TEXT - 1] + "…"
    return "\n".join(textwrap.wrap(text, max(8, round(inches * LETTERS / size))))


def inches_of(text: str, size: float) -> float:
    """Return about how wide the longest line of a text is."""
    return max(map(len, text.split("\n"))) * size / LETTERS


def panel_inches(grid: PanelGrid, width: float) -> float:
    """Return about how wide the axes of a panel are."""
    return (width - LEFT_OF_PANELS) / grid.columns - 0.15


def _heading(panel: Panel, grid: PanelGrid, width: float) -> str:
    return wrap(panel.heading, panel_inches(grid, width), HEADING_SIZE)


def _legend_size(names: Sequence[str], width: float) -> tuple[int, float]:
    """Return how many columns of entries fit into a width, and how high the legend is about."""
    if not names:
        return 1, 0.0
    widest = max(inches_of(name, LEGEND_SIZE) for name in names) + HANDLE
    columns = max(1, min(MOST_LEGEND_COLUMNS, len(names), int(width / widest)))
    lines = max(name.count("\n") + 1 for name in names)
    return columns, 0.1 + 0.16 * math.ceil(len(names) / columns) * lines


def _label_axes(all_axes: Sequence[Axes], grid: PanelGrid, x_label: str, y_label: str) -> None:
    """Label the outer axes only."""
    places = {(panel.row, panel.column) for panel in grid.panels}
    for panel, axes in zip(grid.panels, all_axes, strict=True):
        if panel.column == 0:
            axes.set_ylabel(y_label)
        if (panel.row + 1, panel.column) not in places:
            axes.set_xlabel(x_label)


def write_log_ticks(axis: Any, low: float, high: float, base: int = 10) -> None:
    """Write numbers at ticks of a logarithmic axis between two values, and none beyond.

    On a scale too short for two powers of its base there are ticks between these, or equal steps.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    subs = (1.0,) if high / low >= base**2 else (1.0, 2.0, 5.0)
    choices = (LogLocator(base, subs, numticks=9), MaxNLocator(4, steps=(1, 2, 2.5, 5, 10)))
    for locator in choices:
        ticks = [float(tick) for tick in locator.tick_values(low, high) if low <= tick <= high]
        if len(ticks) > 1:
            break
    axis.set_ticks(ticks, [f"{tick:.6g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def describe_forms(columns: Sequence[str], forms: Sequence[Sequence[Any]]) -> list[str]:
    """Return combinations of values of the columns in words, `f32, causal mask, scale 0.125`.

    Numbers that would look alike are exact.
    """
    texts = [distinct_texts(values) for values in zip(*forms, strict=True)]
    return [", ".join(map(describe_value, columns, form, texts)) for form in forms]


def describe_value(column: str, value: Any, text_of: Callable[[Any], str] = format_value) -> str:
    """Return a panel's value in words: `head dim 64`, `causal mask`, `f32`, `sinks no`."""
    name = column.replace("_", " ")
    if is_missing(value) or value == "":
        return f"{name} –"
    if column == "mask":
        return f"{value} mask"
    if column == "causal":
        return "causal mask" if value else "full mask"
    if column in ("dtype", "target", "device", "target_options", KIND):
        return str(value)
    if column == FIXED_LENGTH:
        return f"seq {'q' if value > 0 else 'kv'} {abs(value)}" if value else "seq q = seq kv"
    return f"{name} {in_words(value, text_of)}"
