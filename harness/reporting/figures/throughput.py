"""Throughput (or time) of each variant over a problem dimension, by default the sequence length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    check_variants,
)
from harness.reporting.figures.layout import (
    PanelGrid,
    new_drawing,
    panel_columns,
    panel_grid,
)
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.peak_lines import Peak, draw_peaks, peaks_of, values_in_sight
from harness.reporting.figures.style import (
    STATUS_WORDS,
    SeriesStyle,
    paper_style,
    series_styles,
    text_color,
)
from harness.reporting.frames import format_value, labels_in, records, select_variants
from harness.reporting.units import (
    GFLOPS,
    TFLOPS,
    Unit,
    is_number,
    rate_unit,
    time_unit,
)
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANEL_HEIGHT = 2.3
STATUS_LINE = 0.052
"""Height of one line of missing points, as a share of a panel."""
STATUS_SIZE = 5.0
INTERVAL_NOTE = "Error bars: 95 % interval of the typical time, over starts and rounds."
MARKER_OFFSET = 9.0
"""Points from a missing point's place to its marker on the left; its status follows the marker."""
SIDE_MARGIN = 0.08
"""Free space left and right of the points, as a share of their extent."""

X_LABELS = {
    "seq_q": "sequence length",
    "seq_kv": "key/value sequence length",
    "head_dim": "head dimension",
    "batch": "batch size",
    "heads": "heads",
    "kv_heads": "key/value heads",
    "threads": "threads",
}


class ThroughputSettings(FigureSettings):
    """`[figures] throughput = { … }`."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads"] = "seq"
    """Horizontal axis, on a log2 scale; `seq` is `seq_q`."""
    y: Literal["auto", "gflops", "tflops", "time"] = "auto"
    """Vertical axis; `auto` is GFLOP/s or TFLOP/s by magnitude."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


class Throughput(Figure):
    """Lines with 95 % intervals, the measured peak, and a word where a measurement is missing."""

    name = "throughput"
    summary = "throughput or time of each variant over sequence length, a panel per head dim and mask"
    settings = ThroughputSettings

    def draw(self, frame: pd.DataFrame, settings: ThroughputSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        check_variants(self, settings, frame)
        styles = series_styles(frame)
        shown = select_variants(frame, settings.variants)
        if not shown["time_s"].notna().any():
            raise NothingToDraw("no case was timed")
        x = "seq_q" if settings.x == "seq" else settings.x
        shown, never_measured = _without_unmeasured(shown)
        axis = _Axis(shown, settings.y)
        grid = panel_grid(shown, panel_columns(shown, settings.panels, x))
        with paper_style():
            notes = [INTERVAL_NOTE]
            if never_measured:
                notes.append(f"Not measured: {', '.join(never_measured)}.")
            legend = plan_legend(labels_in(shown), settings.title)
            drawing, all_axes = new_drawing(grid, PANEL_HEIGHT, caption, notes, heading_height=legend.height)
            strip = _strip_height(grid, x)
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                _draw_panel(axes, panel.frame, x, axis, strip, styles)
                axes.set_title(panel.heading)
            peaks = [axis.peaks(panel.frame) for panel in grid.panels]
            _scale_vertically(all_axes, axis, strip, peaks)
            for axes, of_panel in zip(all_axes, peaks, strict=True):
                draw_peaks(axes, of_panel)
            _label_axes(all_axes, grid, X_LABELS[x], axis)
            add_legend(drawing, legend, [_legend_handle(styles[label]) for label in labels_in(shown)])
        return drawing


class _Axis:
    """What the vertical axis shows, and in which unit."""

    def __init__(self, frame: pd.DataFrame, y: str) -> None:
        self.is_time = y == "time"
        self.unit: Unit
        if self.is_time:
            self.unit = time_unit(frame["time_s"])
        elif y == "auto":
            self.unit = rate_unit(frame["tflops"])
        else:
            self.unit = GFLOPS if y == "gflops" else TFLOPS
        self.label = f"time ({self.unit.symbol})" if self.is_time else f"throughput ({self.unit.symbol})"

    def values(self, rows: pd.DataFrame) -> tuple[list[float], list[float], list[float]]:
        """Return value, distance down to its interval's lower end, and up to its upper end."""
        middle, low, high = rows["time_s"], rows["time_low_s"], rows["time_high_s"]
        if not self.is_time:
            middle, low, high = (
                rows["tflops"],
                *(rows["tflops"] * rows["time_s"] / bound for bound in (high, low)),
            )
        factor = self.unit.factor
        down = ((middle - low) * factor).clip(lower=0).fillna(0)
        up = ((high - middle) * factor).clip(lower=0).fillna(0)
        return list(middle * factor), list(down), list(up)

    def peaks(self, rows: pd.DataFrame) -> list[Peak]:
        """Return the measured peaks of rows; none on an axis of times."""
        return [] if self.is_time else peaks_of(rows, self.unit)


def _without_unmeasured(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out series that have no time anywhere, and name them with their statuses."""
    names = []
    measured = frame
    for label in labels_in(frame):
        rows = frame[frame["label"] == label]
        if not rows["time_s"].notna().any():
            names.append(f"{label} ({', '.join(dict.fromkeys(rows['status']))})")
            measured = measured[measured["label"] != label]
    return measured, names


def _draw_panel(
    axes: Axes, frame: pd.DataFrame, x: str, axis: _Axis, strip: float, styles: dict[str, SeriesStyle]
) -> None:
    """Draw one panel, the lowest share `strip` of which is for the points that are missing."""
    for label in labels_in(frame):
        rows = frame[(frame["label"] == label) & frame["time_s"].notna()].sort_values(x)
        middle, down, up = axis.values(rows)
        look = styles[label]
        axes.errorbar(
            rows[x].astype(float),
            middle,
            yerr=[down, up],
            **_marker(look),
            capsize=1.8,
            elinewidth=0.8,
            label=label,
        )
    _write_missing(axes, _missing(frame, x), strip, styles)
    positions = sorted(frame[x].dropna().unique())
    margin = (positions[-1] / positions[0]) ** SIDE_MARGIN if len(positions) > 1 else 2.0
    axes.set_xscale("log", base=2)
    # Explicit, since places where nothing was measured do not count in automatic limits.
    axes.set_xlim(positions[0] / margin, positions[-1] * margin)
    axes.set_xticks(positions, [str(position) for position in positions])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y")


def _missing(frame: pd.DataFrame, x: str) -> list[list[tuple[Any, str, str]]]:
    """Return place, label and status of each row without a time: one list a series that has any."""
    rows = frame[frame["time_s"].isna()].sort_values(["label", x])
    return [
        [(row[x], label, str(row["status"])) for row in records(rows[rows["label"] == label])]
        for label in labels_in(rows)
    ]


def _write_missing(
    axes: Axes, lines: Sequence[Sequence[tuple[Any, str, str]]], strip: float, styles: dict[str, SeriesStyle]
) -> None:
    """Write marker and status of each missing point into the strip below zero, one line a series."""
    from matplotlib.transforms import offset_copy

    place = axes.get_xaxis_transform()
    left_of_place = offset_copy(place, axes.get_figure(root=True), x=-MARKER_OFFSET, units="points")
    for number, line in enumerate(lines):
        height = strip - STATUS_LINE * (number + 0.75)
        for position, label, status in line:
            look = styles[label]
            (marker,) = axes.plot(
                [position], [height], transform=left_of_place, **_marker(look), gid="missing"
            )
            marker.set(linestyle="none", markersize=3.2, clip_on=False)
            axes.annotate(
                STATUS_WORDS[Status(status)],
                (position, height),
                xycoords=place,
                xytext=(3.5 - MARKER_OFFSET, 0),
                textcoords="offset points",
                va="center_baseline",
                fontsize=STATUS_SIZE,
                color=text_color(look),
                gid="missing",
                annotation_clip=False,
            )


def _marker(look: SeriesStyle) -> dict[str, Any]:
    return {
        "color": look.color,
        "linestyle": look.line,
        "marker": look.marker,
        "markerfacecolor": "white" if look.is_hollow else look.color,
        "markeredgecolor": look.color if look.is_hollow else "white",
        "markeredgewidth": 0.9 if look.is_hollow else 0.3,
    }


def _strip_height(grid: PanelGrid, x: str) -> float:
    """Return the share of every panel's height that the words for missing points need."""
    lines = max(len(_missing(panel.frame, x)) for panel in grid.panels)
    return (lines + 0.4) * STATUS_LINE if lines else 0.0


def _scale_vertically(
    all_axes: Sequence[Axes], axis: _Axis, strip: float, peaks: Sequence[Sequence[Peak]]
) -> None:
    """Give all panels one scale, with room below zero for the missing points and for peaks that are near."""
    bounds = [bound for axes in all_axes for bound in (axes.dataLim.y0, axes.dataLim.y1) if is_number(bound)]
    if axis.is_time:
        smallest, largest = min(bounds) / 1.3, max(bounds) * 1.3
        low, high = smallest / (largest / smallest) ** (strip / (1 - strip)), largest
    else:
        high = max([*bounds, *values_in_sight(peaks, max(bounds))]) * 1.1
        low = -high * strip / (1 - strip)
    for axes in all_axes:
        if axis.is_time:
            axes.set_yscale("log")
            decades = [10.0**power for power in range(-9, 10)]
            ticks = [decade for decade in decades if smallest <= decade <= high]
            axes.set_yticks(ticks, [format_value(tick) for tick in ticks])
            axes.set_yticks([], minor=True)
        axes.set_ylim(low, high)
        if not axis.is_time:
            axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= high])
        if strip:
            edge = [strip, strip]
            axes.fill_between([0, 1], edge, transform=axes.transAxes, color="0.95", linewidth=0, zorder=0)
            axes.plot([0, 1], edge, transform=axes.transAxes, color="0.15", linewidth=0.6)


def _label_axes(all_axes: Sequence[Axes], grid: PanelGrid, x_label: str, axis: _Axis) -> None:
    """Label the outer axes only."""
    places = {(panel.row, panel.column) for panel in grid.panels}
    for panel, axes in zip(grid.panels, all_axes, strict=True):
        if panel.column == 0:
            axes.set_ylabel(axis.label)
        if (panel.row + 1, panel.column) not in places:
            axes.set_xlabel(x_label)


def _legend_handle(look: SeriesStyle) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **_marker(look))
