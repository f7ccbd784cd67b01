"""Throughput over arithmetic intensity, below what the machine computes and reads at most.

After Williams, Waterman and Patterson, *Roofline: An insightful visual performance model*, 2009, with a slope
for each level of memory (Ilic, Pratas and Sousa, *Cache-aware Roofline model*, 2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import PanelColumn, choose_rows, require_times
from harness.reporting.figures.layout import HEADING_SIZE, add_to_heading, wrap
from harness.reporting.figures.over_sizes import Scale, SizeFigure
from harness.reporting.figures.roofs import MEMORY, Roof, roofs_of
from harness.reporting.figures.series_settings import SeriesSettings
from harness.reporting.figures.style import DOTTED
from harness.reporting.frames import PROBLEM_COLUMNS
from harness.reporting.units import rate_unit, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

HEADING_INCHES = 2.8
ROOM, ROOM_OF_SLOPE = 1.7, 6.0
"""Ends of the horizontal scale beyond points, and left of the ridge of memory, whose slope is then seen."""
ROOF_COLUMNS = ("target", "threads", "dtype")
"""What a roof depends on, besides the device: a panel holds one value of each."""
NOTE = (
    "Arithmetic intensity: the problem's FLOPs over its least traffic, what is visible of the inputs read "
    "once and the outputs written once. Slopes: bandwidths of reading from each level of memory, solid that "
    "of memory itself; dashed is what a data sheet states. The peak is the best that a row had in its turns. "
    "What lies above memory's is data that stays in a cache."
)


class RooflineSettings(SeriesSettings):
    """`[figures] roofline = { … }`."""

    panels: tuple[PanelColumn, ...] = ("head_dim", "mask", *ROOF_COLUMNS)
    """One panel for each combination of these that varies."""


class Roofline(SizeFigure):
    """Points of each variant, below the measured peak and the measured bandwidths."""

    name = "roofline"
    summary = "throughput over arithmetic intensity, below the measured peak and bandwidths of memory"
    settings = RooflineSettings
    data_columns = ("intensity", "tflops", "peak_tflops", "bandwidth_gb_s.")
    is_usual = False
    reads = "Throughput: higher is better."
    measured_x = "intensity"
    not_in_panels = PROBLEM_COLUMNS
    joins_points = False

    def chosen(self, frame: pd.DataFrame, settings: RooflineSettings) -> pd.DataFrame:
        """Return the timed rows."""
        require_times(frame)
        rows = choose_rows(frame, settings)
        return rows[rows["time_s"].notna() & rows["tflops"].gt(0)]

    def scale(self, rows: pd.DataFrame, settings: RooflineSettings) -> Scale:
        """Return the axis of rates."""
        unit = rate_unit(rows["tflops"])
        label = f"throughput ({unit.symbol})"
        return Scale("tflops", label, unit.factor, symbol=unit.symbol, notes=(NOTE,), is_logarithmic=True)

    def add_to_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale, rows: pd.DataFrame) -> None:
        """Draw the roof of each device, and write it below the heading."""
        roofs = roofs_of(panel)
        ridges = [roof.ridge(MEMORY) for roof in roofs_of(rows) if roof.tflops and MEMORY in roof.bandwidths]
        left = min([rows[x].min() / ROOM, *(ridge / ROOM_OF_SLOPE for ridge in ridges)])
        right = max([rows[x].max(), *ridges]) * ROOM
        axes.set_xlim(left, right)
        for roof in roofs:
            _draw_roof(axes, roof, (left, right), scale.factor)
            peak = (
                []
                if roof.tflops is None
                else [f"{roof.unit} peak {significant(roof.tflops * scale.factor)} {scale.symbol}".lstrip()]
            )
            levels = [f"{level} {significant(speed)} GB/s" for level, speed in roof.bandwidths.items()]
            source = "measured" if roof.is_measured else "data sheet"
            owner = f"{roof.device}: " if len(roofs) > 1 else ""
            words = f"{owner}{source} {', '.join([*peak, *levels])}"
            add_to_heading(axes, wrap(words, HEADING_INCHES, HEADING_SIZE))


def _draw_roof(axes: Axes, roof: Roof, ends: tuple[float, float], factor: float) -> None:
    """Draw a slope for each level of memory that ends in sight, and the peak; dashed is a data sheet's."""
    left, right = ends
    for level in roof.bandwidths:
        end = min(roof.ridge(level), right)
        if end > left:
            axes.plot(
                [left, end],
                [roof.reach(level, left) * factor, roof.reach(level, end) * factor],
                color="0.15" if level == MEMORY else "0.55",
                linestyle="--" if not roof.is_measured else "-" if level == MEMORY else DOTTED,
                linewidth=1.0 if level == MEMORY else 0.7,
                gid="slope",
                zorder=1,
            )
    if roof.tflops is not None:
        first = max([left, *([min(map(roof.ridge, roof.bandwidths))] if roof.bandwidths else [])])
        look: dict[str, Any] = {
            "color": "0.15",
            "linestyle": "-" if roof.is_measured else "--",
            "linewidth": 1.0,
        }
        axes.plot([first, right], [roof.tflops * factor] * 2, **look, gid="peak", zorder=1)
