"""Lines of a quantity of each series over a size, both on logarithmic scales, in panels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import FigureSettings, NothingToDraw, PanelColumn
from harness.reporting.figures.layout import (
    check_readable,
    label_axes,
    new_drawing,
    panel_grid,
)
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.log_ticks import write_log_ticks
from harness.reporting.figures.missing_points import (
    below_for_strip,
    missing_lines,
    series_with,
    shade_strip,
    strip_height,
    write_missing,
)
from harness.reporting.figures.places import along, x_label
from harness.reporting.figures.style import (
    STATUS_WORDS,
    SeriesStyle,
    marker_properties,
    paper_style,
    series_styles,
)
from harness.reporting.frames import labels_in
from harness.reporting.units import is_number
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANEL_HEIGHT = 2.1
SIDE_MARGIN = 0.08
"""Free space left and right of the points, as a share of their extent."""
ROOM = 1.5
"""Ends of the vertical scale over and under the points."""

WORDS = {**STATUS_WORDS, Status.PASSED: "not known"}
"""What stands where a value would be; times are not what is drawn here."""


class SizeSettings(FigureSettings):
    """What figures over a size can be told."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads"] = "seq"
    """Horizontal axis, on a log2 scale; `seq` is the longer of `seq_q` and `seq_kv`."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


def on_scale(frame: pd.DataFrame, values: str) -> pd.DataFrame:
    """Leave out the rows whose number has no place on a logarithmic scale, which is 0.

    Rows without a finite number stay: a word stands in their place.
    """
    return frame[[not is_number(value) or value > 0 for value in frame[values]]]


def known_series(
    frame: pd.DataFrame, values: str, settings: SizeSettings
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the placed rows of the series that have a value anywhere, and the other series' statuses.

    Raises `NothingToDraw` where no row that has a place has a finite number above 0.
    """
    placed, x = along(frame, settings.x)
    if not any(is_number(value) and value > 0 for value in placed[values]):
        raise NothingToDraw(f"no case that has {x}, which this is over, has such a value")
    return series_with(placed, values)


def left_out_note(names: Mapping[str, str]) -> list[str]:
    """Return a sentence on the series that have no value anywhere; `names` are their statuses by name."""
    named = ", ".join(f"{name} ({statuses})" for name, statuses in names.items())
    return [f"Without any value, so not shown: {named}."] if names else []


def draw_size_lines(
    frame: pd.DataFrame,
    shown: pd.DataFrame,
    values: str,
    settings: SizeSettings,
    y_label: str,
    caption: str,
    notes: Sequence[str] = (),
    add_to_panel: Callable[[Axes, pd.DataFrame, str], None] | None = None,
) -> Drawing:
    """Draw the column `values` of the rows `shown`, each series in its style of the whole `frame`.

    The rows are of `known_series`.  All numbers have a place on the scale, see `on_scale`; a line is broken
    where a row has no finite number, and a word says why.  `add_to_panel` draws what a panel has besides,
    such as a limit; it is given the column of the horizontal axis.
    """
    shown, x = along(shown, settings.x)
    columns = check_readable(shown, settings.panels, x)
    grid = panel_grid(shown, columns, settings.panels_beside)
    labels, styles = labels_in(shown), series_styles(frame)
    strip = strip_height(grid, x, values, WORDS)
    with paper_style(settings.font):
        legend = plan_legend([settings.display(label) for label in labels], settings.title, settings.inches)
        drawing, all_axes = new_drawing(
            grid,
            PANEL_HEIGHT,
            caption if settings.caption else None,
            notes,
            size=settings.size,
            width=settings.inches,
            heading_height=legend.height,
        )
        for panel, axes in zip(grid.panels, all_axes, strict=True):
            _draw_lines(axes, panel.frame, x, values, styles)
            if add_to_panel is not None:
                add_to_panel(axes, panel.frame, x)
            words = missing_lines(panel.frame, x, values, WORDS)
            write_missing(axes, words, strip, styles, last=panel.frame[x].max())
            _scale_sizes(axes, sorted(panel.frame[x].unique()))
        scale_values(all_axes, strip)
        add_legend(drawing, legend, [line_handle(marker_properties(styles[label])) for label in labels])
        label_axes(all_axes, grid, x_label(shown, x), y_label)
    return drawing


def _draw_lines(axes: Axes, frame: pd.DataFrame, x: str, values: str, styles: dict[str, SeriesStyle]) -> None:
    """Draw the line of each series of a panel, broken where a row has no finite number."""
    for label in labels_in(frame):
        rows = frame[frame["label"] == label].sort_values(x)
        heights = [float(value) if is_number(value) else math.nan for value in rows[values]]
        axes.plot(rows[x].astype(float), heights, **marker_properties(styles[label]), label=label)


def scale_values(all_axes: Sequence[Axes], strip: float = 0.0) -> None:
    """Give all panels one logarithmic vertical scale, its ticks written as numbers.

    The lowest share `strip` of each panel is for what has no place on the scale.
    """
    low = min(axes.dataLim.minposy for axes in all_axes) / ROOM
    high = max(axes.dataLim.y1 for axes in all_axes) * ROOM
    for axes in all_axes:
        axes.set_ylim(below_for_strip(low, high, strip), high)  # first: of one value alone there is no scale
        axes.set_yscale("log")
        write_log_ticks(axes.yaxis, low, high)
        axes.grid(visible=True, axis="y")
        shade_strip(axes, strip)


def line_handle(properties: dict[str, Any]) -> Any:
    """Return a line's entry in the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **properties)


def write_at_line(axes: Axes, height: float, text: str) -> None:
    """Write what a horizontal line is, at its left end above it."""
    axes.annotate(
        text,
        (0, height),
        xycoords=("axes fraction", "data"),
        xytext=(3, 2),
        textcoords="offset points",
        fontsize=5.5,
        color="0.25",
        gid="line",
    )


def _scale_sizes(axes: Axes, sizes: Sequence[Any]) -> None:
    margin = (sizes[-1] / sizes[0]) ** SIDE_MARGIN if len(sizes) > 1 else 2.0
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_xticks([], minor=True)
