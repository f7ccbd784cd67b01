"""Panels side by side, room for what stands above them, and the caption below."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.captions import said_of_runs
from harness.reporting.figures.base import TooLow, Unreadable
from harness.reporting.figures.headings import LEFT_OF_PANELS, further_lines, wrapped_headings
from harness.reporting.figures.legend import SMALLEST_HEIGHT, text_width
from harness.reporting.figures.places import FIXED_LENGTH, LENGTHS
from harness.reporting.figures.style import (
    CAPTION_SIZE,
    COLUMN_HEIGHT,
    COLUMN_WIDTH,
    FONT_SIZES,
    PAPER_WIDTH,
    POINTS_PER_INCH,
)
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

CAPTION_CHARACTERS_PER_INCH = 21.5
CAPTION_MARGIN = 0.07
"""Inches beside a caption, on either side."""
LABEL_GAP = 3.0
"""Points that tick labels beside each other are apart at least."""
LEAST_PANEL_HEIGHT = 0.8
"""Inches below which nothing of a panel can be read."""
LEAST_OF_PANEL = 0.4
"""Share of the usual height of panels that is left to them where more would not fit into a column."""
SHARED_SIZES = "sizes"
"""Column of words for sizes that share a panel, which are its heading as they are."""
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
    chosen = varying(frame, [*wanted, *([] if is_length_said else [FIXED_LENGTH])])
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
    """Return what panels are sorted by: numbers grow, also those of `FIXED_LENGTH`, those of keys first.

    Of sizes in words the numbers count, in their order.
    """
    keys: list[Any] = []
    for column, value in zip(columns, values, strict=True):
        if column == FIXED_LENGTH:
            keys.append(((value > 0) - (value < 0), abs(value)))
        elif column == SHARED_SIZES:
            keys.append(([int(number) for number in re.findall(r"\d+", value)], value))
        else:
            keys.append(sort_key(value))
    return keys


def new_drawing(
    grid: PanelGrid,
    panel_height: float,
    caption: str | None,
    notes: Sequence[str] = (),
    *,
    size: tuple[float, float] | None = None,
    width: float = PAPER_WIDTH,
    heading_height: float = SMALLEST_HEIGHT,
    footer_height: float = 0.0,
    height_above: float = 0.0,
    left: float = LEFT_OF_PANELS,
    shared_scale: bool | Literal["row"] = True,
) -> tuple[Drawing, list[Axes]]:
    """Make a drawing with axes and heading of each panel, by default on one vertical scale; caption below.

    All sizes are in inches; a panel's height includes its heading's first line and tick labels,
    `heading_height` is that of the legend or title above the panels, `footer_height` that of what stands
    between panels and caption, `height_above` that of what each panel has above its axes besides its heading.
    `left` is what axis label and ticks take left of the panels: what remains is a heading's width.
    Where the whole `size` is given, panels take what is left of it; in a column of a page, what its height
    leaves.  Without caption there are no notes either.  Raises `TooLow` where panels have no room.
    """
    from matplotlib.figure import Figure as Drawing

    width = width if size is None else size[0]
    lines = caption_lines(" ".join([*notes, caption]), width) if caption is not None else []
    caption_height = (len(lines) * CAPTION_SIZE * 1.3 + 4) / POINTS_PER_INCH
    below = caption_height + footer_height
    headings = wrapped_headings(grid, width, left)
    besides = grid.rows * height_above + further_lines(grid, headings) + heading_height + below
    height, least = besides + grid.rows * panel_height, 0.0
    if size is not None:
        height, least = size[1], besides + grid.rows * LEAST_PANEL_HEIGHT
    elif width <= COLUMN_WIDTH and height > COLUMN_HEIGHT:
        of_panel = max(LEAST_PANEL_HEIGHT, LEAST_OF_PANEL * panel_height)
        height, least = COLUMN_HEIGHT, besides + grid.rows * of_panel
    if height < least:
        raise TooLow(height, least)
    drawing = Drawing(figsize=(width, height))
    drawing.set_layout_engine("constrained", rect=(0, below / height, 1, 1 - below / height))
    all_axes = drawing.subplots(grid.rows, grid.columns, squeeze=False, sharey=shared_scale)
    taken = {(panel.row, panel.column) for panel in grid.panels}
    for row in range(grid.rows):
        for column in range(grid.columns):
            if (row, column) not in taken:
                all_axes[row, column].set_visible(False)
    drawing.text(
        CAPTION_MARGIN / width,
        2 / POINTS_PER_INCH / height,
        "\n".join(lines),
        fontsize=CAPTION_SIZE,
        color="0.25",
        va="bottom",
        linespacing=1.2,
        gid="caption",
    )
    shown = [all_axes[panel.row, panel.column] for panel in grid.panels]
    for axes, heading in zip(shown, headings, strict=True):
        axes.set_title(heading)
    return drawing, shown


def caption_lines(text: str, width: float) -> list[str]:
    """Return the lines of a caption below a figure that is so many inches wide, in the style that is applied.

    Lines are of as many letters as usually fit, or of fewer where these are wide.
    """
    room = (width - 2 * CAPTION_MARGIN) * POINTS_PER_INCH
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest:
        most = round(width * CAPTION_CHARACTERS_PER_INCH)
        line = textwrap.wrap(rest, most)[0]
        while text_width(line, CAPTION_SIZE) > room and len(line) > 1:
            line = textwrap.wrap(rest, len(line) - 1)[0]
        lines.append(line)
        rest = rest[len(line) :].lstrip()
    return lines


def label_axes(all_axes: Sequence[Axes], grid: PanelGrid, x_label: str, y_label: str) -> None:
    """Label the outer axes only; the vertical ones once for all where panels are lower than the label."""
    places = {(panel.row, panel.column) for panel in grid.panels}
    for panel, axes in zip(grid.panels, all_axes, strict=True):
        if panel.column == 0:
            axes.set_ylabel(y_label)
        if (panel.row + 1, panel.column) not in places:
            axes.set_xlabel(x_label)
    if grid.rows > 1 and _are_lower_than_labels(all_axes):
        for axes in all_axes:
            axes.set_ylabel("")
        drawing_of(all_axes).supylabel(y_label, fontsize=FONT_SIZES["axes.labelsize"])
    _thin_out_labels(all_axes)


def _thin_out_labels(all_axes: Sequence[Axes]) -> None:
    """Leave out labels of logarithmic horizontal scales that would run into the one on their right."""
    scales = [axes for axes in all_axes if axes.get_xscale() == "log"]
    if scales:
        lay_out(drawing_of(scales))
    for axes in scales:
        gap = LABEL_GAP * axes.figure.dpi / POINTS_PER_INCH
        texts = [label.get_text() for label in axes.get_xticklabels()]
        left = float("inf")
        for place, label in reversed(list(enumerate(axes.get_xticklabels()))):
            extent = label.get_window_extent()
            if extent.x1 + gap > left:
                texts[place] = ""
            elif texts[place]:
                left = extent.x0
        if texts != [label.get_text() for label in axes.get_xticklabels()]:
            axes.set_xticks(axes.get_xticks(), texts)


def _are_lower_than_labels(all_axes: Sequence[Axes]) -> bool:
    lay_out(drawing_of(all_axes))
    return any(axes.yaxis.label.get_window_extent().height > axes.bbox.height for axes in all_axes)


def lay_out(drawing: Drawing) -> None:
    """Give the panels of a drawing their places, without drawing it, which takes longer."""
    engine = drawing.get_layout_engine()
    if engine is not None:  # a plugin's own drawing may have none
        engine.execute(drawing)


def drawing_of(all_axes: Sequence[Axes]) -> Drawing:
    """Return the drawing that axes are part of."""
    drawing = all_axes[0].get_figure()
    assert drawing is not None
    return drawing  # type: ignore[return-value]


def require_height(drawing: Drawing, rows: int, missing: float) -> None:
    """Raise `TooLow` where each row of panels misses so many points of height."""
    if missing > 0:
        height = drawing.get_figheight()
        raise TooLow(height, height + rows * missing / POINTS_PER_INCH)


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
    if column in ("dtype", "target", "device", "target_options", SHARED_SIZES):
        return str(value)
    if column == FIXED_LENGTH:
        return f"seq {'q' if value > 0 else 'kv'} {abs(value)}" if value else "seq q = seq kv"
    return f"{name} {in_words(value, text_of)}"
