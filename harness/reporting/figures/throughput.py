"""Throughput (or time) of each variant over a problem dimension, by default the sequence length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import NothingToDraw, choose_rows, require_times
from harness.reporting.figures.layout import add_to_heading
from harness.reporting.figures.over_sizes import Overlay, Scale, SizeFigure, SizeSettings
from harness.reporting.figures.peak_lines import IN_SIGHT, peaks_of
from harness.reporting.figures.published_overlay import (
    PublishedSettings,
    overlay_notes,
    published_styles,
    with_published,
)
from harness.reporting.frames import units_of
from harness.reporting.units import GFLOPS, TFLOPS, Unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

INTERVAL_NOTE = "Error bars: 95 % interval of the typical time, over starts and rounds."


class ThroughputSettings(SizeSettings, PublishedSettings):
    """`[figures] throughput = { … }`."""

    style: Literal["lines", "bars"] = "lines"
    """Lines over the horizontal axis, or groups of bars with a value on each."""
    y: Literal["auto", "gflops", "tflops", "time"] = "auto"
    """Vertical axis; `auto` is GFLOP/s or TFLOP/s by magnitude."""


class Throughput(SizeFigure):
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

    def chosen(self, frame: pd.DataFrame, settings: ThroughputSettings) -> pd.DataFrame:
        """Return the chosen rows with the ends of their rates: the shortest time is the highest rate."""
        require_times(frame)
        rows = choose_rows(frame, settings)
        if settings.y != "time" and rows["time_s"].notna().any() and not rows["tflops"].notna().any():
            raise NothingToDraw('no timed case has a rate, since no pair is visible; y = "time" draws times')
        work = rows["tflops"] * rows["time_s"]
        return rows.assign(tflops_low=work / rows["time_high_s"], tflops_high=work / rows["time_low_s"])

    def scale(self, rows: pd.DataFrame, settings: ThroughputSettings) -> Scale:
        """Return the axis of times, or of rates."""
        time, rate = units_of(rows)
        as_bars = settings.style == "bars"
        if settings.y == "time":
            ends = ("time_low_s", "time_high_s")
            label = f"time ({time.symbol})"
            return Scale("time_s", label, time.factor, ends, as_bars=as_bars, is_logarithmic=not as_bars)
        unit = {"gflops": GFLOPS, "tflops": TFLOPS}.get(settings.y, rate)
        ends = ("tflops_low", "tflops_high")
        return Scale("tflops", f"throughput ({unit.symbol})", unit.factor, ends, as_bars=as_bars)

    def facts(self, rows: pd.DataFrame, settings: ThroughputSettings) -> list[str]:
        """Return what error bars are."""
        return [INTERVAL_NOTE]

    def overlay(self, rows: pd.DataFrame, settings: ThroughputSettings, x: str) -> Overlay:
        """Return the rows with those that others published."""
        if settings.y == "time" or not settings.published:
            return Overlay(rows)
        both, notes = with_published(rows, settings, x)
        return Overlay(both, notes, published_styles(both))

    def held(self, rows: pd.DataFrame, scale: Scale) -> list[float]:
        """Return the peaks that are in sight of the measured rates."""
        if scale.column == "time_s":
            return []
        highest = float(rows["time_s"].notna().mul(rows["tflops"]).max()) * scale.factor
        peaks = [peak.value for peak in peaks_of(rows, _unit(scale))]
        return [peak for peak in peaks if peak <= IN_SIGHT * highest]

    def add_to_panel(
        self, axes: Axes, rows: pd.DataFrame, x: str, scale: Scale, held: Sequence[float]
    ) -> None:
        """Draw each peak as a line where the scale holds it, and write it below the panel's heading."""
        for peak in peaks_of(rows, _unit(scale)) if scale.column == "tflops" else ():
            is_in_sight = peak.value in held
            text = f"dotted: {peak.text}" if is_in_sight else f"{peak.text}, above this scale"
            add_to_heading(axes, text)
            if is_in_sight:
                axes.axhline(peak.value, color="0.35", linewidth=0.8, linestyle=(0, (1, 1)), gid="peak")

    def notes(self, frame: pd.DataFrame, settings: ThroughputSettings) -> list[str]:
        """Say why no published point is overlaid where some are wanted."""
        return overlay_notes(choose_rows(frame, settings), settings, is_time=settings.y == "time")


def _unit(scale: Scale) -> Unit:
    return GFLOPS if scale.factor == GFLOPS.factor else TFLOPS
