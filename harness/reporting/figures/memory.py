"""The memory that a call of each series takes, over a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import choose_rows
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEBIBYTE = 2**20
HELD = "held_bytes"
HELD_NOTE = (
    "Held by a call: inputs, output, and workspace such as the score matrix, counted from the code. Dotted: "
    "inputs and outputs alone."
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
    data_columns = ("seq", "status", HELD, "bytes", "workspace_bytes", "peak_bytes")
    shows_times = False
    shows_rates = False
    is_usual = False
    reads = "Memory: lower is better."

    def chosen(self, frame: pd.DataFrame, settings: MemorySettings) -> pd.DataFrame:
        """Return the chosen rows with what a call holds."""
        rows = choose_rows(frame, settings)
        return rows.assign(**{HELD: rows["bytes"] + rows["workspace_bytes"]})

    def scale(self, rows: pd.DataFrame, settings: MemorySettings) -> Scale:
        """Return the axis of memory."""
        column, label, note = (
            (HELD, "memory of a call (MiB)", HELD_NOTE)
            if settings.y == "held"
            else ("peak_bytes", "resident memory (MiB)", PEAK_NOTE)
        )
        return Scale(column, label, 1 / MEBIBYTE, notes=(note,), is_logarithmic=True)

    def add_to_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale, rows: pd.DataFrame) -> None:
        """Draw what inputs and outputs alone take."""
        if scale.column == HELD:
            least = panel.dropna(subset=["bytes"]).groupby(x)["bytes"].min().astype(float) / MEBIBYTE
            marker = "_" if len(least) == 1 else ""
            axes.plot(least, linestyle=":", color="0.15", linewidth=1.0, marker=marker, gid="least", zorder=3)
