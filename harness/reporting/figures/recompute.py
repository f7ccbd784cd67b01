"""Whether time follows the operations that are executed: executed over ideal FLOPs, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.distinct import numbered
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    require_times,
)
from harness.reporting.figures.layout import check_readable, new_drawing, panel_grid, write_log_ticks
from harness.reporting.figures.over_sizes import draw_series, handles
from harness.reporting.figures.style import paper_style, series_styles
from harness.reporting.frames import PROBLEM_COLUMNS, labels_in
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

    def reading(self, settings: RecomputeSettings) -> str:
        """See `Figure.reading`."""
        return "Executed over ideal FLOPs, and time: lower is better."

    def rows(self, frame: pd.DataFrame, settings: RecomputeSettings) -> pd.DataFrame:
        """Return the timed rows whose executed operations are counted."""
        shown = choose_rows(frame, settings).dropna(subset=["time_s", "recompute_factor"])
        require_times(frame)
        if shown.empty:
            raise NothingToDraw("no case was timed whose executed operations are counted")
        return shown

    def numbers(self, frame: pd.DataFrame, settings: RecomputeSettings) -> pd.DataFrame:
        """Return these rows with the time of an ideal FLOP and its interval."""
        shown = self.rows(frame, settings)
        return shown.assign(**{name: shown[time] / shown["flops"] for name, time in TIMES.items()})

    def draw(self, frame: pd.DataFrame, settings: RecomputeSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown = self.numbers(frame, settings)
        columns = check_readable(shown.drop(columns=list(SIZES)), settings.panels)
        lines = _with_gaps(choose_rows(frame, settings), shown)
        labels, styles = labels_in(shown), series_styles(frame)
        factors, times = shown["recompute_factor"], lines[list(TIMES)] * PICO
        lines = lines.assign(**{name: times[name] for name in TIMES})
        grid = panel_grid(lines, columns, settings.panels_beside)
        least, most = float(factors.min()) / SIDE_ROOM, float(factors.max()) * SIDE_ROOM
        low, high = float(times.min().min()) / ROOM, float(times.max().max()) * ROOM
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                settings,
                caption,
                notes=[NOTE, *_not_counted(frame, shown, settings), *_broken(lines, settings)],
                legend=handles(styles, labels, settings),
                labels=("executed / ideal FLOPs", "time / ideal FLOPs (ps)"),
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                for label in labels_in(panel.frame):
                    rows = panel.frame[panel.frame["label"] == label].sort_values(["seq_q", "seq_kv"])
                    draw_series(axes, rows, "recompute_factor", [*TIMES], styles[label], linewidth=0.7)
                axes.set(xlim=(least, most), ylim=(low, high), xscale="log", yscale="log")
                write_log_ticks(axes.xaxis, least, most)
                write_log_ticks(axes.yaxis, low, high)
                axes.grid(axis="y")
                _draw_rate(axes, panel.frame, least, most)
        return drawing


def _draw_rate(axes: Axes, frame: pd.DataFrame, least: float, most: float) -> None:
    """Draw what the best executed rate of a panel would take."""
    # whole numbers that can be missing take no fractions
    executed = frame["flops_executed"].astype(float).fillna(frame["flops"] * frame["recompute_factor"])
    rates = executed / frame["time_s"]
    best = float(rates.max())
    axes.plot(
        [least, most],
        [least / best * PICO, most / best * PICO],
        linestyle=":",
        color="0.15",
        linewidth=0.9,
        gid="rate",
    )
    words = f"dotted: {significant(best / 1e9)} GFLOP/s executed"
    axes.set_title("\n".join(filter(None, [axes.get_title(), words])))


def _with_gaps(chosen: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a point, and those of the same lines that have none, whose values are NaN.

    A line is of one series and of problems that differ in their sizes only.
    """
    import numpy as np

    of_line = numbered(chosen, ["label", *(name for name in PROBLEM_COLUMNS if name not in SIZES)])
    has_point = chosen.index.isin(shown.index)
    joined = chosen[np.isin(of_line, of_line[has_point])]
    values = {name: shown[name].astype(float).reindex(joined.index) for name in ("recompute_factor", *TIMES)}
    return joined.assign(**values)


def _broken(lines: pd.DataFrame, settings: RecomputeSettings) -> list[str]:
    """Return a sentence on the series whose lines are broken."""
    gaps = lines[lines[VALUES].isna()]
    statuses = [
        f"{settings.display(label)} ({', '.join(dict.fromkeys(gaps.loc[gaps['label'] == label, 'status']))})"
        for label in labels_in(gaps)
    ]
    return [f"Broken where a case has no time or no count: {', '.join(statuses)}."] if statuses else []


def _not_counted(frame: pd.DataFrame, shown: pd.DataFrame, settings: RecomputeSettings) -> list[str]:
    """Return a sentence on the series that were timed, but whose executed operations nobody counted."""
    timed = labels_in(frame[frame["time_s"].notna()])
    missing = [settings.display(label) for label in timed if label not in labels_in(shown)]
    return [f"Not shown, or not counted: {', '.join(missing)}."] if missing else []
