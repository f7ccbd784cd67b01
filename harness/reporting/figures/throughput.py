"""Throughput (or time) of each variant over a problem dimension, by default the sequence length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, require_times
from harness.reporting.figures.over_sizes import SizeSettings, draw_over_sizes, series_with, with_values
from harness.reporting.figures.peak_lines import IN_SIGHT, Peak, peaks_of
from harness.reporting.figures.places import along
from harness.reporting.figures.published_overlay import (
    PublishedSettings,
    overlay_notes,
    published_styles,
    with_published,
)
from harness.reporting.figures.style import series_styles
from harness.reporting.frames import units_of
from harness.reporting.units import GFLOPS, TFLOPS, Unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

INTERVAL_NOTE = "Error bars: 95 % interval of the typical time, over starts and rounds."
RATES = ("tflops", "tflops_low", "tflops_high")


class ThroughputSettings(SizeSettings, PublishedSettings):
    """`[figures] throughput = { … }`."""

    style: Literal["lines", "bars"] = "lines"
    """Lines over the horizontal axis, or groups of bars with a value on each."""
    y: Literal["auto", "gflops", "tflops", "time"] = "auto"
    """Vertical axis; `auto` is GFLOP/s or TFLOP/s by magnitude."""


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
        return series_with(_placed(frame, settings)[0], "time_s")[0]

    def draw(self, frame: pd.DataFrame, settings: ThroughputSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown, x = _placed(frame, settings)
        shown, never_measured = series_with(shown, "time_s")
        notes, is_time, styles = [INTERVAL_NOTE], settings.y == "time", series_styles(frame)
        unit = _unit(shown, settings.y)
        if not is_time:
            styles |= published_styles(settings)
            shown, of_published, is_far = with_published(shown, settings, x)
            notes += of_published
            unit = TFLOPS if is_far else unit
        if never_measured:
            named = (f"{settings.display(label)} ({why})" for label, why in never_measured.items())
            notes.append(f"Not measured: {', '.join(named)}.")
        names = (
            ("time_s", "time_low_s", "time_high_s") if is_time else ("tflops", "tflops_low", "tflops_high")
        )
        value, low, high = (shown[name].astype(float) * unit.factor for name in names)
        shown = with_values(shown, value, low, high)
        highest = float(value.max())
        peaks = [] if is_time else peaks_of(shown, unit)
        in_sight = [peak.value for peak in peaks if peak.value <= IN_SIGHT * highest]

        def add_peaks(axes: Axes, rows: pd.DataFrame) -> None:
            for peak in [] if is_time else peaks_of(rows, unit):
                _add_peak(axes, peak, is_in_sight=peak.value in in_sight)

        return draw_over_sizes(
            shown,
            x,
            f"{'time' if is_time else 'throughput'} ({unit.symbol})",
            styles,
            settings,
            caption,
            notes,
            as_bars=settings.style == "bars",
            is_logarithmic=is_time and settings.style == "lines",
            held=in_sight,
            add_to_panel=add_peaks,
        )

    def notes(self, frame: pd.DataFrame, settings: ThroughputSettings) -> list[str]:
        """Say why no published point is overlaid where some are wanted."""
        return overlay_notes(choose_rows(frame, settings), settings, is_time=settings.y == "time")


def _unit(rows: pd.DataFrame, y: str) -> Unit:
    """Return the unit of the vertical axis."""
    time, rate = units_of(rows)
    return {"time": time, "auto": rate, "gflops": GFLOPS, "tflops": TFLOPS}[y]


def _add_peak(axes: Axes, peak: Peak, *, is_in_sight: bool) -> None:
    """Draw a peak as a line where the scale holds it, and write it below the panel's heading."""
    words = f"dotted: {peak.text}" if is_in_sight else f"{peak.text}, above this scale"
    axes.set_title("\n".join(filter(None, [axes.get_title(), words])))
    if is_in_sight:
        axes.axhline(peak.value, color="0.35", linewidth=0.8, linestyle=(0, (1, 1)), gid="peak")


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
