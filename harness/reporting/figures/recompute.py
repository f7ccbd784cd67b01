"""Whether time follows the operations that are executed: executed over ideal FLOPs, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.base import PanelColumn, choose_rows, require_times
from harness.reporting.figures.layout import add_to_heading
from harness.reporting.figures.over_sizes import Scale, SizeFigure
from harness.reporting.figures.series_settings import SeriesSettings
from harness.reporting.units import significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PICO = 1e12
VALUES = "time_per_flop_s"
ENDS = ("time_per_flop_low_s", "time_per_flop_high_s")
NOTE = (
    "Time over ideal FLOPs: picoseconds for each of the problem's operations; error bars: 95 % interval. "
    "Dotted: what the best rate of executed operations in the panel would take; along it time follows the "
    "operations that are executed."
)


class RecomputeSettings(SeriesSettings):
    """`[figures] recompute = { … }`."""

    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary, lengths excepted, are added."""


class Recompute(SizeFigure):
    """Points of executed over ideal FLOPs and time over ideal FLOPs, and the line of one executed rate."""

    name = "recompute"
    summary = "executed over ideal FLOPs against time, each variant: does time follow what is executed?"
    settings = RecomputeSettings
    data_columns = ("recompute_factor", VALUES, "time_s", "flops")
    is_usual = False
    reads = "Executed over ideal FLOPs, and time: lower is better."
    measured_x = "recompute_factor"
    not_in_panels = ("seq_q", "seq_kv", "batch")

    def chosen(self, frame: pd.DataFrame, settings: RecomputeSettings) -> pd.DataFrame:
        """Return the chosen rows with the time of an ideal FLOP."""
        require_times(frame)
        rows = choose_rows(frame, settings)
        times = zip((VALUES, *ENDS), ("time_s", "time_low_s", "time_high_s"), strict=True)
        return rows.assign(**{name: rows[time] / rows["flops"] for name, time in times})

    def scale(self, rows: pd.DataFrame, settings: RecomputeSettings) -> Scale:
        """Return the axis of times."""
        return Scale(VALUES, "time / ideal FLOPs (ps)", PICO, ENDS, notes=(NOTE,), is_logarithmic=True)

    def add_to_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale, rows: pd.DataFrame) -> None:
        """Draw what the best executed rate of a panel would take."""
        best = float((panel[x] / panel[VALUES]).max())
        ends = panel[x].min(), panel[x].max() * 1.2
        times = [end / best * PICO for end in ends]
        axes.plot(ends, times, linestyle=":", color="0.15", linewidth=0.9, gid="rate")
        add_to_heading(axes, f"dotted: {significant(best / 1e9)} GFLOP/s executed")
