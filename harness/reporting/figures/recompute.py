"""Whether time follows the operations that are executed: executed over ideal FLOPs, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.reporting.distinct import numbered
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    require_times,
)
from harness.reporting.figures.layout import check_readable, label_axes, new_drawing, panel_grid
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.log_ticks import write_log_ticks
from harness.reporting.figures.size_lines import line_handle, scale_values
from harness.reporting.figures.style import SeriesStyle, marker_properties, paper_style, series_styles
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
SIDE_ROOM = 1.18
"""Ends of the horizontal scale over and under the points."""
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
        grid = panel_grid(lines, columns, settings.panels_beside)
        labels, styles = labels_in(shown), series_styles(frame)
        with paper_style(settings.font):
            names = [settings.display(label) for label in labels]
            legend = plan_legend(names, settings.title, settings.inches)
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                caption if settings.caption else None,
                [NOTE, *_not_counted(frame, shown, settings), *_broken(lines, settings)],
                size=settings.size,
                width=settings.inches,
                heading_height=legend.height,
            )
            least, most = (
                shown["recompute_factor"].min() / SIDE_ROOM,
                shown["recompute_factor"].max() * SIDE_ROOM,
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                _draw_panel(axes, panel.frame, styles)
                _scale_factors(axes, float(least), float(most))
            scale_values(all_axes)
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                _draw_rate(axes, panel.frame, float(least), float(most))
            add_legend(drawing, legend, [line_handle(marker_properties(styles[label])) for label in labels])
            label_axes(all_axes, grid, "executed / ideal FLOPs", "time / ideal FLOPs (ps)")
        return drawing


def _draw_panel(axes: Axes, frame: pd.DataFrame, styles: dict[str, SeriesStyle]) -> None:
    for label in labels_in(frame):
        rows = frame[frame["label"] == label].sort_values(["seq_q", "seq_kv"])
        middle, low, high = (rows[name] * PICO for name in TIMES)
        distances: list[Any] = [
            (middle - low).clip(lower=0).fillna(0),
            (high - middle).clip(lower=0).fillna(0),
        ]
        axes.errorbar(
            rows["recompute_factor"],
            middle,
            yerr=distances,
            **{**marker_properties(styles[label]), "linewidth": 0.7},
            capsize=1.5,
            elinewidth=0.7,
            label=label,
        )


def _draw_rate(axes: Axes, frame: pd.DataFrame, least: float, most: float) -> None:
    """Draw what the best executed rate of a panel would take; it changes no scale."""
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
        scaley=False,
        gid="rate",
    )
    axes.annotate(
        f"{significant(best / 1e9)} GFLOP/s executed",
        (0.98, 0.03),
        xycoords="axes fraction",
        ha="right",
        fontsize=5.5,
        color="0.25",
        gid="rate",
    )


def _scale_factors(axes: Axes, least: float, most: float) -> None:
    axes.set_xscale("log")
    axes.set_xlim(least, most)
    write_log_ticks(axes.xaxis, least, most)


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
