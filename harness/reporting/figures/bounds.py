"""What bounds each variant's code in a model: busy cycles by part of a multiprocessor, hatched stacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.plugins import name_of
from harness.reporting.figures.base import FigureSettings, NothingToDraw, PanelColumn, choose_rows
from harness.reporting.figures.stacked import Stack, StackedFigure, form_columns
from harness.reporting.units import percent
from harness.system.toolchains.nvidia import no_reader

if TYPE_CHECKING:
    import pandas as pd

CUDA = "cuda"
"""The target whose code there is a model of."""
INSTRUCTIONS = "instructions."
COLUMN = "model."
CYCLES = "_cycles"
NEEDED = tuple(f"{COLUMN}{name}" for name in ("cycles", "scores", "fraction_of_peak", "bound"))
BUSY = "busy_cycles."
SIMULATED_CYCLES = "simulated_cycles"
"""Columns of what is drawn, for `SCORES` scores."""
PARTS = ("tensor", "special", "fma", "alu", "uniform", "issue", "shared", "l2")
"""In the order of the stack; what a vendor has besides follows."""
HATCH = "////"
"""Of what is modelled; measured bars of other figures have their series' own."""
SCORES = 1000
"""Cycles are of so many scores, so that tiles of several sizes can be compared."""
SIMULATED = "simulated time"
NOTE = (
    "Modelled, nothing is measured: cycles that each part of a multiprocessor is busy with 1000 scores. "
    "Parts work at the same time: the length of a stack is no time. The line is the simulated time; beside "
    "it the fraction of the dense peak, and the part that is busy longest. tensor: matrix products; special: "
    "exponentials; fma, alu, uniform: other arithmetic; issue: instructions that are issued; shared: shared "
    "memory; l2: second-level cache."
)


class BoundsSettings(FigureSettings):
    """`[figures] bounds = { … }`."""

    panels: tuple[PanelColumn, ...] = ("target", "dtype", "head_dim", "mask")
    """One panel for each combination of these that varies."""


class Bounds(StackedFigure):
    """A stack of busy cycles for each series, with a line at the simulated time."""

    name = "bounds"
    summary = "modelled: cycles by part of a multiprocessor that each variant's main loop keeps busy"
    settings = BoundsSettings
    data_columns = (BUSY, SIMULATED_CYCLES, f"{COLUMN}fraction_of_peak", f"{COLUMN}bound")
    is_usual = True
    reads = ""
    lacking = "Without a model"

    def forms(self, rows: pd.DataFrame, settings: BoundsSettings) -> list[str]:
        """Return the columns that tell forms of problems apart."""
        return form_columns(rows, settings.panels)

    def known(self, frame: pd.DataFrame, settings: BoundsSettings) -> pd.DataFrame:
        """Return the rows that the model says all of."""
        rows = choose_rows(frame, settings)
        complete_rows = rows.dropna(subset=list(NEEDED)) if set(NEEDED) <= set(rows) else rows.iloc[:0]
        if complete_rows.empty:
            reason = "no case has a model of what bounds its code"
            tool = _missing_reader(rows)
            raise NothingToDraw(reason if tool is None else f"{reason}: built with {no_reader(tool)}")
        return complete_rows

    def numbers(self, frame: pd.DataFrame, settings: BoundsSettings) -> pd.DataFrame:
        """Return the rows that are drawn with their cycles for `SCORES` scores."""
        import pandas as pd

        rows = self.rows(frame, settings)
        factor = SCORES / rows[f"{COLUMN}scores"]
        names = [str(name) for name in rows if str(name).startswith(COLUMN) and str(name).endswith(CYCLES)]
        cycles = {name: rows[name] * factor for name in names if (rows[name] > 0).any()}
        busy = {f"{BUSY}{name.removeprefix(COLUMN).removesuffix(CYCLES)}": cycles[name] for name in cycles}
        busy[SIMULATED_CYCLES] = rows[f"{COLUMN}cycles"] * factor
        return pd.concat([rows, pd.DataFrame(busy)], axis="columns")

    def stack(self, rows: pd.DataFrame, settings: BoundsSettings) -> Stack:
        """Return the parts of a multiprocessor."""
        names = [str(name).removeprefix(BUSY) for name in rows if str(name).startswith(BUSY)]
        names.sort(key=lambda part: PARTS.index(part) if part in PARTS else len(PARTS))
        parts = {f"{BUSY}{name}": name for name in names}
        label = f"modelled cycles for {SCORES} scores"
        return Stack(parts, label, hatch=HATCH, mark=(SIMULATED_CYCLES, SIMULATED))

    def text(self, row: Mapping[str, Any], stack: Stack) -> str:
        """Return the fraction of the peak, and what bounds the code."""
        fraction = percent(row[f"{COLUMN}fraction_of_peak"])
        return f"{fraction} % of peak, bound by {row[f'{COLUMN}bound']}"

    def facts(self, rows: pd.DataFrame, settings: BoundsSettings) -> list[str]:
        """Return what the model says."""
        return [NOTE]


def _missing_reader(frame: pd.DataFrame) -> str | None:
    """Return the program that kernels for NVIDIA's GPUs were built without, by what is not known of them."""
    kernels = frame[frame["target"].map(lambda target: name_of(str(target)) == CUDA).astype(bool)]
    kernels = kernels[kernels["intrinsics"].notna()]
    if kernels.empty:
        return None
    if kernels["registers"].isna().all():
        return "ptxas"
    counts = [name for name in frame.columns if str(name).startswith(INSTRUCTIONS)]
    return "nvdisasm" if kernels[counts].isna().all(axis=None) else None
