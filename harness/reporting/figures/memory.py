"""The memory that a call of each series takes, over a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import NothingToDraw, choose_rows
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.reporting.frames import RUN_LABEL, several_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

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


class Memory(SizeFigure):
    """Lines of memory over the length, with the least that the problem needs."""

    name = "memory"
    summary = "memory that a call of each variant takes over sequence length, and the least it could"
    settings = MemorySettings
    data_columns = ("seq", "status", VALUES, "bytes", "workspace_bytes", "peak_bytes")
    shows_times = False
    shows_rates = False
    is_usual = False
    reads = "Memory: lower is better."

    def chosen(self, frame: pd.DataFrame, settings: MemorySettings) -> pd.DataFrame:
        """Return the chosen rows with their memory."""
        rows = choose_rows(frame, settings)
        needed = ["bytes", "workspace_bytes"] if settings.y == "held" else ["peak_bytes"]
        memory = rows[needed].sum(axis="columns", min_count=len(needed))
        if memory.isna().all():
            raise NothingToDraw(f"no case has {' and '.join(needed)}")
        return rows.assign(**{VALUES: memory})

    def scale(self, rows: pd.DataFrame, settings: MemorySettings) -> Scale:
        """Return the axis of memory."""
        label = "memory of a call (MiB)" if settings.y == "held" else "resident memory (MiB)"
        return Scale(VALUES, label, 1 / MEBIBYTE, is_logarithmic=True)

    def word(self, row: Mapping[str, Any]) -> str:
        """Return that memory is not known of what passed."""
        return super().word(row).replace("not timed", "not known")

    def facts(self, rows: pd.DataFrame, settings: MemorySettings) -> list[str]:
        """Return what the memory is."""
        return [HELD_NOTE if settings.y == "held" else PEAK_NOTE]

    def held(self, rows: pd.DataFrame, scale: Scale) -> list[float]:
        """Return what inputs and outputs take, which is drawn below what calls hold."""
        is_held = scale.label.startswith("memory of a call")
        return list(rows["bytes"].dropna().astype(float) / MEBIBYTE) if is_held else []

    def add_to_panel(
        self, axes: Axes, rows: pd.DataFrame, x: str, scale: Scale, held: Sequence[float]
    ) -> None:
        """Draw what inputs and outputs alone take, of each run where problems at one place differ."""
        if not held:
            return
        rows = rows.dropna(subset=["bytes"])
        by_run = RUN_LABEL in rows and several_values(rows, [x], "bytes")
        for run, of_run in rows.groupby(RUN_LABEL, sort=False) if by_run else [("", rows)]:
            least = of_run.groupby(x)["bytes"].min().astype(float) / MEBIBYTE
            marker = "_" if len(least) == 1 else ""
            axes.plot(least, linestyle=":", color="0.15", linewidth=1.0, marker=marker, gid="least", zorder=3)
            if run:
                text = f"inputs and outputs ({run!s})"
                place = (least.index[0], least.iloc[0])
                axes.annotate(text, place, va="top", gid="least", fontsize=5.5, color="0.25")
