"""Whether time follows the operations that are executed: executed over ideal FLOPs, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    not_shown,
    require_times,
)
from harness.reporting.figures.layout import (
    add_to_heading,
    check_readable,
    new_drawing,
    panel_grid,
    write_log_ticks,
)
from harness.reporting.figures.over_sizes import draw_line, legend_of
from harness.reporting.figures.style import paper_style, series_styles
from harness.reporting.frames import labels_in
from harness.reporting.units import significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANEL_HEIGHT = 2.3
SIZES = ("seq_q", "seq_kv", "batch")
"""Columns in which the points of a line differ."""
PICO = 1e12
VALUES = "time_per_flop_s"
TIMES = {
    VALUES: "time_s",
    "time_per_flop_low_s": "time_low_s",
    "time_per_flop_high_s": "time_high_s",
}
"""Columns of the vertical axis, and those that are divided by the ideal FLOPs."""
SIDE_ROOM, ROOM = 1.18, 1.5
"""Ends of the scales over and under the points."""
NOTE = (
    "Time over ideal FLOPs: picoseconds for each of the problem's operations; error bars: 95 % interval. "
    "Points of a series are joined by growing length. Dotted: what the best rate of executed operations in "
    "the panel would take; along it time follows the operations that are executed."
)


class RecomputeSettings(FigureSettings):
    """`[figures] recompute = { … }`."""

    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary, lengths excepted, are added."""


class Recompute(Figure):
    """Points of executed over ideal FLOPs and time over ideal FLOPs, and the line of one executed rate."""

    name = "recompute"
    summary = "executed over ideal FLOPs against time, each variant: does time follow what is executed?"
    settings = RecomputeSettings
    data_columns = ("recompute_factor", VALUES, "time_s", "flops")
    is_usual = False
    reads = "Executed over ideal FLOPs, and time: lower is better."

    def rows(self, frame: pd.DataFrame, settings: RecomputeSettings) -> pd.DataFrame:
        """Return the timed rows whose executed operations are counted."""
        rows = choose_rows(frame, settings).dropna(subset=["time_s", "recompute_factor"])
        require_times(frame)
        if rows.empty:
            raise NothingToDraw("no case was timed whose executed operations are counted")
        return rows

    def numbers(self, frame: pd.DataFrame, settings: RecomputeSettings) -> pd.DataFrame:
        """Return these rows with the time of an ideal FLOP and its interval."""
        rows = self.rows(frame, settings)
        return rows.assign(**{name: rows[time] / rows["flops"] for name, time in TIMES.items()})

    def draw(self, frame: pd.DataFrame, settings: RecomputeSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        rows = self.numbers(frame, settings)
        columns = check_readable(rows.drop(columns=list(SIZES)), settings.panels)
        left_out = not_shown("Not timed, or not counted", choose_rows(frame, settings), rows, settings)
        times = rows[list(TIMES)] * PICO
        rows, styles = rows.assign(**times), series_styles(frame)
        grid = panel_grid(rows, columns, settings.panels_beside)
        factors = rows["recompute_factor"]
        ends = float(factors.min()) / SIDE_ROOM, float(factors.max()) * SIDE_ROOM
        low, high = np.nanmin(times.to_numpy(float)) / ROOM, np.nanmax(times.to_numpy(float)) * ROOM
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                settings,
                caption,
                notes=[NOTE, *left_out],
                legend=legend_of(styles, labels_in(rows), settings),
                labels=("executed / ideal FLOPs", "time / ideal FLOPs (ps)"),
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                for label in labels_in(panel.frame):
                    of_series = panel.frame[panel.frame["label"] == label].sort_values(["seq_q", "seq_kv"])
                    draw_line(axes, of_series, "recompute_factor", [*TIMES], styles[label], linewidth=0.7)
                axes.set(xlim=ends, ylim=(low, high), xscale="log", yscale="log")
                write_log_ticks(axes.xaxis, *ends)
                write_log_ticks(axes.yaxis, low, high)
                axes.grid(axis="y")
                _draw_rate(axes, panel.frame, ends)
        return drawing


def _draw_rate(axes: Axes, rows: pd.DataFrame, ends: tuple[float, float]) -> None:
    """Draw what the best executed rate of a panel would take."""
    # whole numbers that can be missing take no fractions
    executed = rows["flops_executed"].astype(float).fillna(rows["flops"] * rows["recompute_factor"])
    best = float((executed / rows["time_s"]).max())
    times = [end / best * PICO for end in ends]
    axes.plot(ends, times, linestyle=":", color="0.15", linewidth=0.9, gid="rate")
    add_to_heading(axes, f"dotted: {significant(best / 1e9)} GFLOP/s executed")
