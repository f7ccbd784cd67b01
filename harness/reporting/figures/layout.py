"""The panels that all figures share: headings, a legend above them, and the caption below.

matplotlib's constrained layout gives everything its place.  What is estimated here is only how high a figure
has to be, and after how many letters a line of text breaks.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from harness.reporting.captions import FIXED_LENGTH, forms_in_words
from harness.reporting.figures.base import FigureSettings, Unreadable
from harness.reporting.figures.own_axes import label_axes, own_axes
from harness.reporting.figures.style import CAPTION_SIZE, FONT_SIZES
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    is_missing,
    labels_in,
    several_values,
    sort_key,
    varying,
)
from harness.reporting.measurement_notes import without_times

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FILLED = 0.94
"""Share of a line that letters fill when a text is broken: some are wider than others."""
HEADING_SIZE = float(FONT_SIZES["axes.titlesize"])
LEGEND_SIZE = float(FONT_SIZES["legend.fontsize"])
TITLE_SIZE = float(FONT_SIZES["figure.titlesize"])
LEFT_OF_PANELS = 0.6
"""Inches for the label and the ticks of a vertical axis."""
HANDLE = 0.57
"""Inches of a legend's entry besides its text."""
MOST_LEGEND_COLUMNS = 4
AXES_AND_ROOM = 1.2
"""Width of axes and the room between them and the next over that of the axes."""
MOST_SUBDIVIDED, MOST_TICKS = 1e4, 10
"""Largest over smallest value of a logarithmic axis with ticks between powers of ten; ticks at most."""
MOST_PANELS = 24
MOST_SERIES = 32
MOST_PLACES = 48
"""More panels, series, or places along the horizontal axis than this nobody can read."""


@dataclass(frozen=True)
class Panel:
    """One panel: its heading, and its rows of the frame."""

    heading: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class PanelGrid:
    """All panels of a figure, line by line."""

    panels: tuple[Panel, ...]
    columns: int = 1

    @property
    def rows(self) -> int:
        """How many lines of panels there are."""
        return math.ceil(len(self.panels) / self.columns)


def panel_columns(frame: pd.DataFrame, wanted: Sequence[str], x: str | None = None) -> list[str]:
    """Return the columns to split by: those wanted that vary, and more where one panel would mix problems.

    Within a panel, all series must be of one problem at each x: whatever else tells rows apart there (dtype,
    target, threads …) becomes a further split rather than a silent mixture.  What follows from x does not.
    """
    place = [] if x is None else [x]
    chosen = varying(frame, [*wanted, FIXED_LENGTH])
    for column in varying(frame, PROBLEM_COLUMNS):
        is_new = column not in chosen and column not in place
        if is_new and several_values(frame, [*place, *chosen], column):
            chosen.append(column)
    return chosen


def check_readable(frame: pd.DataFrame, wanted: Sequence[str], x: str | None = None) -> list[str]:
    """Return the columns to split by, see `panel_columns`; `x` is the horizontal axis, if it is a column.

    Raises `Unreadable`, with what to narrow down, for more series, places or panels than can be read.
    """
    columns = panel_columns(frame, wanted, x)
    panels = len(frame[columns].drop_duplicates()) if columns else 1
    series, places = len(labels_in(frame)), frame[x].nunique() if x is not None else 0
    if series > MOST_SERIES or places > MOST_PLACES or panels > MOST_PANELS:
        raise Unreadable(
            f"{series} series, {places} values of {x}, and {panels} panels ({', '.join(columns)}), of which "
            f"at most {MOST_SERIES}, {MOST_PLACES} and {MOST_PANELS} can be read; narrow them down with "
            "variants or where"
        )
    return columns


def panel_grid(frame: pd.DataFrame, columns: Sequence[str], most_columns: int = 2) -> PanelGrid:
    """Split a frame into a panel for each combination of values, up to `most_columns` side by side."""
    if not columns:
        return PanelGrid((Panel("", frame),))
    combinations = frame[list(columns)].drop_duplicates().itertuples(index=False, name=None)
    forms = sorted(combinations, key=lambda values: list(map(sort_key, values)))
    panels = []
    for form, heading in zip(forms, forms_in_words(columns, forms), strict=True):
        rows = frame
        for column, value in zip(columns, form, strict=True):
            rows = rows[rows[column].isna() if is_missing(value) else rows[column] == value]
        panels.append(Panel(heading, rows))
    return PanelGrid(tuple(panels), min(most_columns, len(panels)))


def new_drawing(
    grid: PanelGrid,
    panel_height: float,
    settings: FigureSettings,
    caption: str,
    *,
    notes: Sequence[str] = (),
    legend: Mapping[str, Any] | None = None,
    labels: tuple[str, str] = ("", ""),
    scales: Sequence[int] | None = None,
) -> tuple[Drawing, list[Axes]]:
    """Make a drawing with the axes and heading of each panel.

    Panels of one number in `scales` share a vertical scale; without it all do.  Above the panels stand the
    settings' title, which also says where no time was measured, and a `legend` of texts and handles; below
    them the `notes` and the caption.  `labels` are those of the outer axes.  A panel's height in inches
    includes heading, ticks and label.  On axes of a reader's own there is neither caption nor title.
    """
    from matplotlib.figure import Figure as Drawing

    if on_axes := own_axes():
        headings = [panel.heading for panel in grid.panels]
        label_axes(on_axes, headings, legend or {}, labels, scales or [0] * len(headings))
        for axes in on_axes:
            axes.set_title(_beside_others(axes, axes.get_title()))
        return cast("Drawing", on_axes[0].get_figure(root=True)), on_axes
    width = settings.inches
    text = wrap(" ".join([*notes, caption]), width - 0.15, CAPTION_SIZE) if settings.caption else ""
    title = _title(settings, grid)
    entries = {wrap(name, width - HANDLE, LEGEND_SIZE): handle for name, handle in (legend or {}).items()}
    widest = HANDLE + max((inches_of(name, LEGEND_SIZE) for name in entries), default=0)
    legend_columns = max(1, min(MOST_LEGEND_COLUMNS, len(entries), int(width / widest)))
    headings = [wrap(panel.heading, panel_inches(grid, width), HEADING_SIZE) for panel in grid.panels]
    lines_of_legend = math.ceil(len(entries) / legend_columns) * max(map(_lines, entries), default=0)
    height = 0.11 * _lines(text) + 0.16 * lines_of_legend + 0.2 * bool(title) * _lines(title)
    height += grid.rows * (panel_height + 0.13 * max(map(_lines, headings)))
    size = settings.size or (width, height)
    drawing = Drawing(figsize=size, layout="constrained")
    all_axes = list(drawing.subplots(grid.rows, grid.columns, squeeze=False, sharey=scales is None).flat)
    if scales is not None:
        _share_scales(all_axes, scales, grid.columns)
    if text:
        drawing.supxlabel(text, x=0.01, ha="left", fontsize=CAPTION_SIZE, color="0.25", gid="caption")
    if entries:
        for name, handle in entries.items():
            handle.set_label(name)
        drawing.legend(
            handles=list(entries.values()),
            title=title or None,
            loc="outside upper center",
            ncols=legend_columns,
        )
    elif title:
        drawing.suptitle(title)
    for axes in all_axes[len(grid.panels) :]:
        axes.set_visible(False)
    for place_of_panel, (axes, heading) in enumerate(zip(all_axes, headings, strict=False)):
        axes.set_title(heading)
        axes.set_ylabel(labels[1] if place_of_panel % grid.columns == 0 else "")
        axes.set_xlabel(labels[0] if place_of_panel + grid.columns >= len(grid.panels) else "")
    return drawing, all_axes[: len(grid.panels)]


def _title(settings: FigureSettings, grid: PanelGrid) -> str:
    """Return the title of the settings, and where all rows lack a time since no device was there, that."""
    statuses = {str(status) for panel in grid.panels for status in panel.frame.get("status", ())}
    untimed = without_times(statuses)
    title = wrap(f"{untimed[:1].upper()}{untimed[1:]}", settings.inches, TITLE_SIZE)
    return "\n".join(filter(None, [settings.title, title]))


def _share_scales(all_axes: Sequence[Axes], scales: Sequence[int], columns: int) -> None:
    """Let panels of one scale share it; ticks are named where the panel to the left has another one."""
    first: dict[int, Axes] = {}
    for place, (axes, scale) in enumerate(zip(all_axes, scales, strict=False)):
        if scale in first:
            axes.sharey(first[scale])
        first.setdefault(scale, axes)
        if place % columns and scales[place - 1] == scale:
            axes.tick_params(axis="y", labelleft=False)


def wrap(text: str, inches: float, size: float) -> str:
    """Break a text that is wider than so many inches so that lines of its letters are about as wide."""
    widest = inches_of(text, size)
    if widest <= inches:
        return text
    return "\n".join(textwrap.wrap(text, max(8, int(FILLED * inches * len(text) / widest))))


def inches_of(text: str, size: float) -> float:
    """Return how wide the longest line of a text is."""
    from matplotlib.cbook import is_math_text
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    widths = [
        text_to_path.get_text_width_height_descent(line, font, is_math_text(line))[0]
        for line in text.split("\n")
    ]
    return max(widths) / 72


def panel_inches(grid: PanelGrid, width: float) -> float:
    """Return about how wide the axes of a panel are."""
    return (width - LEFT_OF_PANELS) / grid.columns - 0.15


def add_to_heading(axes: Axes, text: str) -> None:
    """Write a line below a panel's heading."""
    axes.set_title("\n".join(filter(None, [axes.get_title(), _beside_others(axes, text)])))


def _beside_others(axes: Axes, title: str) -> str:
    """Return a title in lines no longer than axes and the room beside them are wide."""
    inches = axes.bbox.width / cast("Drawing", axes.get_figure(root=True)).dpi
    return wrap(title, inches * AXES_AND_ROOM, float(axes.title.get_fontsize()))


def write_log_ticks(axis: Any) -> None:
    """Write plain numbers along a logarithmic axis, over many decades only powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    subs = (1, 2, 5) if high < low * MOST_SUBDIVIDED else (1,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=MOST_TICKS))
    axis.set_major_formatter("{x:.6g}")
    axis.set_minor_locator(NullLocator())


def _lines(text: str) -> int:
    return text.count("\n") + 1
