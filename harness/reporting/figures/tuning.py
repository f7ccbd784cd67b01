"""A search for parameters: what each trial gave, and the best until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import Figure, FigureSettings, NothingToDraw, choose_rows
from harness.reporting.figures.layout import new_drawing, panel_grid
from harness.reporting.figures.style import paper_style
from harness.reporting.frames import PROBLEM_COLUMNS, varying
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

GAIN, LOW, HIGH = "gain", "gain_low", "gain_high"
CYCLES = ("flops_executed", "model.peak_flops_per_cycle", "model.fraction_of_peak")
OF_GRID = "model.grid_fraction_of_peak"
HEIGHT = 2.2
COLORS = {"measured": "#0173b2", "best": "0.15", "refused": "0.6", "wrong": "#d55e00"}
FOOT = 0.04
"""Height of marks for trials without a number, as a share of a panel."""
NOTE = (
    "Each point is a trial of a search, with its 95 % interval, paired by timing round. Line: the best until "
    "then. At the foot: trials that were refused, or were wrong or failed."
)
MODEL_NOTE = (
    "Each point is a trial of a search. Nothing is measured: cycles of a call by the model of its main loop, "
    "those of the first trial over those of each. Line: the best until then."
)


class Tuning(Figure):
    """Points over the number of the trial, a panel for each search."""

    name = "tuning"
    summary = "what each trial of a search for parameters gave (harness tune), and the best until then"
    data_columns = ("trial", "status", GAIN, LOW, HIGH)
    shows_rates = False
    is_usual = False
    reads = "Speed-up: higher is better."

    def rows(self, frame: pd.DataFrame, settings: FigureSettings) -> pd.DataFrame:
        """Return the trials with what they gained, the first one of each search with 1."""
        chosen = choose_rows(frame, settings)
        if "trial" not in chosen or not chosen["trial"].notna().any():
            raise NothingToDraw("no row is a trial of a search")
        trials = chosen[chosen["trial"].notna()]
        gained = with_gains(trials, ["variant", *PROBLEM_COLUMNS])
        if not gained[GAIN].notna().any():
            raise NothingToDraw("no trial has a time or a model")
        return gained

    def draw(self, frame: pd.DataFrame, settings: FigureSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        from matplotlib.lines import Line2D
        from matplotlib.ticker import MaxNLocator

        rows = self.rows(frame, settings)
        columns = varying(rows, ["variant", *PROBLEM_COLUMNS]) or ["variant"]
        grid = panel_grid(rows, columns, settings.panels_beside)
        is_modelled = not rows["speedup"].notna().any()
        legend: dict[str, Any] = {
            "trial": Line2D([], [], color=COLORS["measured"], marker="o", linestyle=""),
            "best until then": Line2D([], [], color=COLORS["best"], drawstyle="steps-post"),
            "refused": Line2D([], [], color=COLORS["refused"], marker="x", linestyle=""),
            "wrong or failed": Line2D([], [], color=COLORS["wrong"], marker="X", linestyle=""),
        }
        label = "modelled speed-up" if is_modelled else "speed-up"
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(
                grid,
                HEIGHT,
                settings,
                caption,
                notes=[MODEL_NOTE if is_modelled else NOTE],
                legend=legend,
                labels=("trial", label),
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                _draw_search(axes, panel.frame.sort_values("trial"))
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return drawing


def with_gains(trials: pd.DataFrame, search: list[str]) -> pd.DataFrame:
    """Return trials with their speed-ups, or where no row has a time with those of the model.

    `search` are the columns that tell searches apart.
    """
    if trials["speedup"].notna().any() or not set(CYCLES) <= set(trials.columns):
        return trials.assign(
            **{GAIN: trials["speedup"], LOW: trials["speedup_low"], HIGH: trials["speedup_high"]}
        )
    flops, peak, fraction = (trials[name].astype(float) for name in CYCLES)
    if OF_GRID in trials:
        fraction = trials[OF_GRID].astype(float).fillna(fraction)
    cycles = (flops / (peak * fraction)).where(
        ~trials["status"].map(lambda status: Status(status).is_failure)
    )
    columns = [name for name in search if name in trials]
    numbered = trials.assign(cycles=cycles).sort_values("trial")
    first = numbered.groupby(columns, dropna=False, observed=True)["cycles"].transform("first")
    gains = (first / numbered["cycles"]).reindex(trials.index)
    return trials.assign(gain=gains, gain_low=float("nan"), gain_high=float("nan"))


def _draw_search(axes: Axes, trials: pd.DataFrame) -> None:
    """Draw the trials of one search, in their order."""
    measured = trials[trials[GAIN].notna()]
    below, above = measured[GAIN] - measured[LOW], measured[HIGH] - measured[GAIN]
    axes.errorbar(
        measured["trial"].astype(float),
        measured[GAIN],
        yerr=[below.fillna(0).clip(lower=0), above.fillna(0).clip(lower=0)],
        color=COLORS["measured"],
        marker="o",
        markersize=3,
        linestyle="",
        elinewidth=0.7,
        gid="trial",
    )
    best = measured[GAIN].cummax()
    axes.step(measured["trial"].astype(float), best, where="post", color=COLORS["best"], gid="best")
    axes.axhline(1.0, color="0.15", linewidth=0.5, linestyle=":")
    refused = trials["status"].isin([Status.UNSUPPORTED, Status.BUILD_FAILED])
    others = trials[GAIN].isna() & ~refused
    for rows, kind, marker in ((trials[refused], "refused", "x"), (trials[others], "wrong", "X")):
        axes.plot(
            rows["trial"].astype(float),
            [FOOT] * len(rows),
            transform=axes.get_xaxis_transform(),
            color=COLORS[kind],
            marker=marker,
            markersize=3,
            linestyle="",
            gid=kind,
        )
