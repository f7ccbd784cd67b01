"""The memory that a call of each series takes, over a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows
from harness.reporting.figures.logarithmic import (
    draw_logarithmic,
    known_series,
    left_out_note,
    on_scale,
)
from harness.reporting.figures.over_sizes import SizeSettings
from harness.reporting.figures.places import along
from harness.reporting.frames import RUN_LABEL, several_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MEBIBYTE = 2**20
VALUES = "memory_bytes"
HELD_NOTE = (
    "Held by a call: inputs, output, and workspace such as the score matrix, counted from the code. Dotted: "
    "inputs and outputs alone, of each run where problems differ."
)
PEAK_NOTE = "Largest resident memory of the process that ran it, its interpreter and libraries included."


class MemorySettings(SizeSettings):
    """`[figures] memory = { … }`."""

    y: Literal["held", "peak"] = "held"
    """What a call holds, counted; or the largest resident memory of its process, measured."""


class Memory(Figure):
    """Lines of memory over the length, with the least that the problem needs."""

    name = "memory"
    summary = "memory that a call of each variant takes over sequence length, and the least it could"
    settings = MemorySettings
    data_columns = ("seq", "status", VALUES, "bytes", "workspace_bytes", "peak_bytes")
    shows_times = False
    shows_rates = False
    is_usual = False

    def reading(self, settings: MemorySettings) -> str:
        """See `Figure.reading`."""
        return "Memory: lower is better."

    def rows(self, frame: pd.DataFrame, settings: MemorySettings) -> pd.DataFrame:
        """Return the rows with the memory that is drawn, or with a word in its place."""
        return on_scale(_shown(frame, settings)[0], VALUES)

    def draw(self, frame: pd.DataFrame, settings: MemorySettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        known, left_out = _shown(frame, settings)
        shown = on_scale(known, VALUES)
        is_held = settings.y == "held"
        x = along(shown, settings.x)[1]
        least = shown["bytes"].dropna().astype(float) / MEBIBYTE if is_held else ()

        def add_least(axes: Axes, rows: pd.DataFrame) -> None:
            for name, points in _least_of_runs(rows, x).items():
                _draw_least(axes, points, name)

        return draw_logarithmic(
            frame,
            shown,
            shown[VALUES].astype(float) / MEBIBYTE,
            "memory of a call (MiB)" if is_held else "resident memory (MiB)",
            settings,
            caption,
            [HELD_NOTE if is_held else PEAK_NOTE, *left_out_note(left_out, settings)],
            held=list(least),
            add_to_panel=add_least if is_held else None,
        )


def _least_of_runs(rows: pd.DataFrame, x: str) -> dict[str, Any]:
    """Return what inputs and outputs alone take at each place, by the names of the runs that agree in it.

    Problems at one place differ between runs only, where series carry their names; else there is one line.
    """
    known = rows.dropna(subset=["bytes"])
    by_run = RUN_LABEL in known and several_values(known, [x], "bytes")
    runs_of: dict[tuple[Any, ...], list[str]] = {}
    for run, of_run in known.groupby(RUN_LABEL, sort=False) if by_run else [("", known)]:
        least = of_run.groupby(x)["bytes"].min().astype(float) / MEBIBYTE
        if len(least):
            runs_of.setdefault(tuple(least.items()), []).append(str(run))
    return {
        f"inputs and outputs ({', '.join(runs)})" if len(runs_of) > 1 else "": points
        for points, runs in runs_of.items()
    }


def _draw_least(axes: Axes, points: Any, words: str) -> None:
    """Draw what inputs and outputs alone take, with words below its start that say whose they are."""
    places, heights = zip(*points, strict=True)
    (line,) = axes.plot(places, heights, linestyle=":", color="0.15", linewidth=1.0, gid="least", zorder=3)
    if len(points) == 1:
        line.set(marker="_", markersize=12)
    if words:
        text = axes.annotate(words, points[0], xytext=(2, -2), textcoords="offset points", va="top")
        text.set(fontsize=5.5, color="0.25", gid="least")


def _shown(frame: pd.DataFrame, settings: MemorySettings) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the rows of the series of which any memory is known, with it, and the other series' statuses."""
    chosen = choose_rows(frame, settings)
    needed = ["bytes", "workspace_bytes"] if settings.y == "held" else ["peak_bytes"]
    if chosen.dropna(subset=needed).empty:
        raise NothingToDraw(f"no case has {' and '.join(needed)}")
    of_call = chosen["bytes"] + chosen["workspace_bytes"] if settings.y == "held" else chosen["peak_bytes"]
    return known_series(chosen.assign(**{VALUES: of_call}), VALUES, settings)
