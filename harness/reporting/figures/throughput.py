"""Throughput (or time) of each variant over a problem dimension, by default the sequence length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.bars import (
    Bar,
    bar_handle,
    draw_bar_panel,
    panel_columns_side_by_side,
    scale_bars,
)
from harness.reporting.figures.base import (
    Figure,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    require_times,
)
from harness.reporting.figures.layout import (
    PanelGrid,
    check_readable,
    label_axes,
    new_drawing,
    panel_grid,
)
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.missing_points import (
    missing_lines,
    series_with,
    shade_strip,
    strip_height,
    write_missing,
)
from harness.reporting.figures.peak_lines import Peak, draw_peaks, height_of_words, peaks_of, values_in_sight
from harness.reporting.figures.places import along, x_label
from harness.reporting.figures.published_overlay import (
    Overlay,
    PublishedLegend,
    PublishedSettings,
    draw_beside_lines,
    draw_on_own_axes,
    overlay_notes,
    overlay_of,
)
from harness.reporting.figures.size_lines import scale_values
from harness.reporting.figures.style import (
    STATUS_WORDS,
    SeriesStyle,
    marker_properties,
    paper_style,
    series_styles,
)
from harness.reporting.frames import format_value, labels_in, units_of
from harness.reporting.units import (
    GFLOPS,
    TFLOPS,
    Unit,
    is_number,
)
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANEL_HEIGHT = 2.3
INTERVAL_NOTE = "Error bars: 95 % interval of the typical time, over starts and rounds."
SIDE_MARGIN = 0.08
"""Free space left and right of the points, as a share of their extent."""


class ThroughputSettings(PublishedSettings):
    """`[figures] throughput = { … }`."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads", "skew"] = "seq"
    """Horizontal axis, on a log2 scale; `seq` is the longer of `seq_q` and `seq_kv`."""
    style: Literal["lines", "bars"] = "lines"
    """Lines over the horizontal axis, or groups of bars with a value on each."""
    y: Literal["auto", "gflops", "tflops", "time"] = "auto"
    """Vertical axis; `auto` is GFLOP/s or TFLOP/s by magnitude."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


class Throughput(Figure):
    """Lines with 95 % intervals, the measured peak, and a word where a measurement is missing."""

    name = "throughput"
    summary = "throughput or time of each variant over sequence length, a panel per head dim and mask"
    settings = ThroughputSettings
    data_columns = ("seq", "skew", "status", "time_s", "tflops", "fraction_of_peak")

    def reading(self, settings: ThroughputSettings) -> str:
        """See `Figure.reading`."""
        return "Time: lower is better." if settings.y == "time" else "Throughput: higher is better."

    def is_of_rates(self, settings: ThroughputSettings) -> bool:
        """See `Figure.is_of_rates`."""
        return settings.y != "time"

    def rows(self, frame: pd.DataFrame, settings: ThroughputSettings) -> pd.DataFrame:
        """Return the rows of the series that are drawn, with the intervals of their rates."""
        shown, _ = _placed(frame, settings)
        return series_with(shown, "time_s")[0]

    def draw(self, frame: pd.DataFrame, settings: ThroughputSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        styles = series_styles(frame)
        shown, x = _placed(frame, settings)
        shown, never_measured = series_with(shown, "time_s")
        columns = check_readable(shown, settings.panels, x)
        labels = labels_in(shown)
        as_bars = settings.style == "bars"
        beside = panel_columns_side_by_side(len(labels), shown[x].nunique()) if as_bars else 2
        beside = min(beside, settings.panels_beside)
        grid = panel_grid(shown, columns, most_columns=beside)
        axis = _Axis(shown, settings.y)
        width = settings.inches
        overlay = Overlay()
        if not axis.is_time:
            frames = [panel.frame for panel in grid.panels]
            overlay = overlay_of(frames, settings, x, axis.unit, float(shown["tflops"].max()))
        with paper_style(settings.font):
            notes = [INTERVAL_NOTE, *overlay.notes]
            if never_measured:
                named = (f"{settings.display(label)} ({why})" for label, why in never_measured.items())
                notes.append(f"Not measured: {', '.join(named)}.")
            legend = plan_legend([settings.display(label) for label in labels], settings.title, width)
            published_legend = PublishedLegend(overlay, width)
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                caption if settings.caption else None,
                notes,
                size=settings.size,
                width=width,
                heading_height=legend.height,
                footer_height=published_legend.height,
                height_above=overlay.height_above,
            )
            peaks = [axis.peaks(panel.frame) for panel in grid.panels]
            if as_bars:
                highest = _draw_bars(all_axes, grid, x, axis, peaks, styles, width, overlay)
            else:
                _draw_lines(all_axes, grid, x, axis, peaks, styles, overlay)
            if overlay.is_far:
                draw_on_own_axes(all_axes, grid, overlay, x, width, as_bars=as_bars)
            handle = bar_handle if as_bars else _legend_handle
            add_legend(drawing, legend, [handle(styles[label]) for label in labels])
            label_axes(all_axes, grid, x_label(shown, x), axis.label)
            if as_bars:
                scale_bars(all_axes, grid.rows, highest, height_of_words(peaks))
            for axes, of_panel in zip(all_axes, peaks, strict=True):
                draw_peaks(axes, of_panel, all_in_corner=as_bars)
            published_legend.add(drawing, as_bars=as_bars)
        return drawing

    def notes(self, frame: pd.DataFrame, settings: ThroughputSettings) -> list[str]:
        """Say why no published point is overlaid where some are wanted."""
        return overlay_notes(choose_rows(frame, settings), settings, is_time=settings.y == "time")


class _Axis:
    """What the vertical axis shows, and in which unit."""

    def __init__(self, frame: pd.DataFrame, y: str) -> None:
        self.is_time = y == "time"
        self.unit: Unit
        if self.is_time:
            self.unit = units_of(frame)[0]
        elif y == "auto":
            self.unit = units_of(frame)[1]
        else:
            self.unit = GFLOPS if y == "gflops" else TFLOPS
        self.label = f"time ({self.unit.symbol})" if self.is_time else f"throughput ({self.unit.symbol})"

    def values(self, rows: pd.DataFrame) -> tuple[list[float], list[float], list[float]]:
        """Return value, distance down to its interval's lower end, and up to its upper end."""
        columns = ["time_s", "time_low_s", "time_high_s"]
        if not self.is_time:
            columns = ["tflops", "tflops_low", "tflops_high"]
        middle, low, high = (rows[column] for column in columns)
        factor = self.unit.factor
        down = ((middle - low) * factor).clip(lower=0).fillna(0)
        up = ((high - middle) * factor).clip(lower=0).fillna(0)
        return list(middle * factor), list(down), list(up)

    def peaks(self, rows: pd.DataFrame) -> list[Peak]:
        """Return the measured peaks of rows; none on an axis of times."""
        return [] if self.is_time else peaks_of(rows, self.unit)


def _placed(frame: pd.DataFrame, settings: ThroughputSettings) -> tuple[pd.DataFrame, str]:
    """Return the chosen rows, with the ends of their rates' intervals, and the column of the horizontal axis.

    The shortest time is the highest rate.
    """
    require_times(frame)
    chosen = choose_rows(frame, settings)
    if not chosen["time_s"].notna().any():
        raise NothingToDraw("no case that variants and where leave was timed")
    shown, x = along(chosen, settings.x)
    if not shown["time_s"].notna().any():
        raise NothingToDraw(f"no case that has {x}, which this is over, was timed")
    if not shown["tflops"].notna().any() and settings.y != "time":
        raise NothingToDraw('no timed case has a rate, since no pair is visible; y = "time" draws times')
    work = shown["tflops"] * shown["time_s"]
    rates = {"tflops_low": work / shown["time_high_s"], "tflops_high": work / shown["time_low_s"]}
    return shown.assign(**rates), x


def _draw_lines(
    all_axes: Sequence[Axes],
    grid: PanelGrid,
    x: str,
    axis: _Axis,
    peaks: Sequence[Sequence[Peak]],
    styles: dict[str, SeriesStyle],
    overlay: Overlay,
) -> None:
    """Draw every panel as lines, all on one vertical scale."""
    strip = strip_height(grid, x, "time_s")
    for number, (panel, axes) in enumerate(zip(grid.panels, all_axes, strict=True)):
        _draw_panel(axes, panel.frame, x, axis, strip, styles)
        draw_beside_lines(axes, overlay.beside(number, {}), overlay.styles)
    _scale_vertically(all_axes, axis, strip, peaks)


def _draw_bars(
    all_axes: Sequence[Axes],
    grid: PanelGrid,
    x: str,
    axis: _Axis,
    peaks: Sequence[Sequence[Peak]],
    styles: dict[str, SeriesStyle],
    width: float,
    overlay: Overlay,
) -> float:
    """Draw every panel as groups of bars; return the highest end or peak that the scale must hold."""
    panels = [
        overlay.beside(
            number,
            {
                label: _bars(panel.frame[panel.frame["label"] == label], x, axis)
                for label in labels_in(panel.frame)
            },
        )
        for number, panel in enumerate(grid.panels)
    ]
    ends = [bar.value + bar.up for bars in panels for of_series in bars.values() for bar in of_series]
    for axes, bars in zip(all_axes, panels, strict=True):
        draw_bar_panel(axes, bars, {**styles, **overlay.styles}, grid, width)
    return max([*ends, *values_in_sight(peaks, max(ends))])


def _bars(rows: pd.DataFrame, x: str, axis: _Axis) -> list[Bar]:
    """Return the bars of one series in one panel."""
    return [
        Bar(group, value, down, up) if is_number(value) else Bar(group, word=STATUS_WORDS[Status(status)])
        for group, status, value, down, up in zip(rows[x], rows["status"], *axis.values(rows), strict=True)
    ]


def _draw_panel(
    axes: Axes, frame: pd.DataFrame, x: str, axis: _Axis, strip: float, styles: dict[str, SeriesStyle]
) -> None:
    """Draw one panel, the lowest share `strip` of which is for the points that are missing.

    A line is broken where a point is missing.
    """
    for label in labels_in(frame):
        rows = frame[frame["label"] == label].sort_values(x)
        middle, down, up = axis.values(rows)
        look = styles[label]
        axes.errorbar(
            rows[x].astype(float),
            middle,
            yerr=[down, up],
            **marker_properties(look),
            capsize=1.8,
            elinewidth=0.8,
            label=label,
        )
    write_missing(axes, missing_lines(frame, x, "time_s"), strip, styles, last=frame[x].max())
    positions = sorted(frame[x].unique())
    margin = (positions[-1] / positions[0]) ** SIDE_MARGIN if len(positions) > 1 else 2.0
    axes.set_xscale("log", base=2)
    # Explicit, since places where nothing was measured do not count in automatic limits.
    axes.set_xlim(positions[0] / margin, positions[-1] * margin)
    axes.set_xticks(positions, [format_value(position) for position in positions])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y")


def _scale_vertically(
    all_axes: Sequence[Axes], axis: _Axis, strip: float, peaks: Sequence[Sequence[Peak]]
) -> None:
    """Give all panels one scale, with room below for the missing points and above for peaks that are near."""
    if axis.is_time:
        scale_values(all_axes, strip)
        return
    bounds = [bound for axes in all_axes for bound in (axes.dataLim.y0, axes.dataLim.y1) if is_number(bound)]
    high = max([*bounds, *values_in_sight(peaks, max(bounds))]) * 1.1
    low = -high * strip / (1 - strip)
    for axes in all_axes:
        axes.set_ylim(low, high)
        axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= high])
        shade_strip(axes, strip)


def _legend_handle(look: SeriesStyle) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **marker_properties(look))
