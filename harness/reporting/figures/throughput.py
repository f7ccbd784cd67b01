"""Throughput (or time) of each variant over a problem dimension, by default the sequence length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import choose_rows, require_times
from harness.reporting.figures.layout import add_to_heading
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.reporting.figures.published_overlay import is_far_above, looks_of_published, with_published
from harness.reporting.figures.roofs import best_peaks
from harness.reporting.figures.style import DOTTED, SeriesStyle
from harness.reporting.frames import labels_in, units_of
from harness.reporting.published.points import SOURCE, named, published_points, sources
from harness.reporting.units import GFLOPS, TFLOPS, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

INTERVAL_NOTE = "Error bars: 95 % interval of the typical time, over starts and rounds."
IN_SIGHT = 1.6
"""A peak further above all data of a figure than this factor makes no room for itself on the scale."""


class ThroughputSettings(SizeSettings):
    """`[figures] throughput = { … }`."""

    style: Literal["lines", "bars"] = "lines"
    """Lines over the horizontal axis, or groups of bars with a value on each."""
    y: Literal["auto", "gflops", "tflops", "time"] = "auto"
    """Vertical axis; `auto` is GFLOP/s or TFLOP/s by magnitude."""
    published: bool = False
    """Whether published points of the measured problems are overlaid."""
    published_file: str | None = None
    """A reader's own table of published points, a CSV file, whose points are overlaid."""
    published_devices: tuple[str, ...] | None = None
    """Of devices whose names contain one of these words; of all if not given."""
    published_implementations: tuple[str, ...] | None = None
    """Likewise of implementations."""


class Throughput(SizeFigure):
    """Lines with 95 % intervals, the measured peak, and a word where a measurement is missing."""

    name = "throughput"
    summary = "throughput or time of each variant over sequence length, a panel per head dim and mask"
    settings = ThroughputSettings
    data_columns = ("seq", "skew", "status", "time_s", "tflops", "fraction_of_peak", SOURCE)
    word_of_passed = "not timed"

    def reading(self, settings: ThroughputSettings) -> str:
        """See `Figure.reading`."""
        return "Time: lower is better." if settings.y == "time" else "Throughput: higher is better."

    def chosen(self, frame: pd.DataFrame, settings: ThroughputSettings) -> pd.DataFrame:
        """Return the chosen rows with the ends of their rates: the shortest time is the highest rate."""
        require_times(frame)
        rows = choose_rows(frame, settings)
        if SOURCE in rows:
            rows = named(rows, settings.published_devices, settings.published_implementations)
        work = rows["tflops"] * rows["time_s"]
        return rows.assign(tflops_low=work / rows["time_high_s"], tflops_high=work / rows["time_low_s"])

    def scale(self, rows: pd.DataFrame, settings: ThroughputSettings) -> Scale:
        """Return the axis of times, or of rates."""
        time, rate = units_of(rows)
        as_bars = settings.style == "bars"
        if settings.y == "time":
            name, unit, ends, is_logarithmic = "time", time, ("time_low_s", "time_high_s"), not as_bars
        else:
            name, unit, ends = "throughput", rate, ("tflops_low", "tflops_high")
            unit = {"gflops": GFLOPS, "tflops": TFLOPS}.get(settings.y, rate)
            is_logarithmic = not as_bars and is_far_above(rows)
        return Scale(
            "time_s" if settings.y == "time" else "tflops",
            f"{name} ({unit.symbol})",
            unit.factor,
            ends,
            notes=(INTERVAL_NOTE,) if rows["time_low_s"].notna().any() else (),
            symbol=unit.symbol,
            as_bars=as_bars,
            is_logarithmic=is_logarithmic,
        )

    def overlay(
        self, rows: pd.DataFrame, settings: ThroughputSettings, x: str
    ) -> tuple[pd.DataFrame, dict[str, SeriesStyle], list[str]]:
        """Return the rows with those that others published, which are rates and not overlaid on times."""
        if SOURCE in rows:  # nothing else was asked for
            return rows, looks_of_published(rows), [sources(rows)]
        if settings.y == "time" or not (settings.published or settings.published_file):
            return rows, {}, []
        points = published_points(
            settings.published_devices,
            settings.published_implementations,
            settings.published_file,
            with_package=settings.published,
        )
        return with_published(rows, points, x)

    def published(self, frame: pd.DataFrame, settings: ThroughputSettings) -> tuple[list[str], list[str]]:
        """See `Figure.published`: sources, and which of the devices and implementations have no point."""
        rows, x = self.placed(frame, settings)
        both, _, sentences = self.overlay(rows, settings, x)
        if SOURCE not in both:
            return sentences, sentences
        names = "\n".join(labels_in(both[both[SOURCE].notna()])).lower()
        asked = (*(settings.published_devices or ()), *(settings.published_implementations or ()))
        absent = [word for word in asked if word.lower() not in names]
        return sentences, [f"no published point of {', '.join(absent)} is of these problems"] * bool(absent)

    def add_to_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale, rows: pd.DataFrame) -> None:
        """Make room for peaks that are near the rows."""
        if scale.column != "time_s":
            near = [peak for peak in best_peaks(panel).values() if peak <= IN_SIGHT * rows["tflops"].max()]
            axes.update_datalim([(0, peak * scale.factor) for peak in near], updatex=False)
            axes.autoscale_view(scalex=False)

    def finish_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale) -> None:
        """Draw the best peak of each device as a line where it is in sight; write it below the heading."""
        if scale.column == "time_s":
            return
        peaks, (low, high) = best_peaks(panel), axes.get_ylim()
        devices = {device for device, _ in peaks}
        for (device, unit), peak in peaks.items():
            whose = f" ({device})" if len(devices) > 1 else ""
            height = peak * scale.factor
            is_in_sight = low <= height <= high
            beyond = f", {'above' if height > high else 'below'} this scale"
            add_to_heading(
                axes,
                f"{'dotted: ' if is_in_sight else ''}measured {f'{unit} peak'.lstrip()} "
                f"{'up to ' * (x == 'threads')}{significant(height)} {scale.symbol}{whose}"
                f"{'' if is_in_sight else beyond}",
            )
            look: dict[str, Any] = {"color": "0.35", "linewidth": 0.8, "linestyle": DOTTED, "gid": "peak"}
            if is_in_sight and x == "threads":
                of_each = panel.loc[panel["device"].eq(device)].groupby(x)["peak_tflops"].max().astype(float)
                axes.plot(of_each * scale.factor, **look)
            elif is_in_sight:
                axes.axhline(height, **look)
