"""What bounds each variant's code in a model: busy cycles by part of a multiprocessor, a hatched bar each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.stacked import Stack, StackedFigure, parts_of
from harness.reporting.units import percent

if TYPE_CHECKING:
    import pandas as pd

MODEL, CYCLES, BUSY = "model.", "_cycles", "busy_cycles."
SIMULATED_CYCLES, TEXT = "simulated_cycles", "text"
"""Columns of what is drawn, for `SCORES` scores."""
PARTS = ("tensor", "special", "fma", "alu", "uniform", "issue", "shared", "l2")
"""In the order of the bars; what a vendor has besides follows."""
HATCH = "////"
"""Of what is modelled; measured bars of other figures have their series' own."""
SCORES = 1000
"""Cycles are of so many scores, so that tiles of several sizes can be compared."""
SIMULATED = "simulated time"


class Bounds(StackedFigure):
    """A bar of busy cycles for each part in the row of a series, and a line at the simulated time."""

    name = "bounds"
    summary = "modelled: cycles by part of a multiprocessor that each variant's main loop keeps busy"
    data_columns = (BUSY, SIMULATED_CYCLES, f"{MODEL}fraction_of_peak", f"{MODEL}bound")
    is_usual = True
    reads = ""
    note = (
        "Modelled, nothing is measured: cycles that each part of a multiprocessor is busy with 1000 scores. "
        "Parts work at the same time: the longest bar is the least time. The line is the simulated time; "
        "beside it the fraction of the dense peak, and the part that is busy longest. tensor: matrix "
        "products; special: exponentials; fma, alu, uniform: other arithmetic; issue: instructions that are "
        "issued; shared: shared memory; l2: second-level cache."
    )

    def needed(self, rows: pd.DataFrame, settings: Any) -> Sequence[str]:
        """Return what only rows with a model have."""
        return [f"{MODEL}fraction_of_peak"]

    def numbers(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows that are drawn with their cycles for `SCORES` scores."""
        rows = self.rows(frame, settings)
        factor = SCORES / rows[f"{MODEL}scores"]
        busy = {f"{BUSY}{part}": rows[name] * factor for name, part in parts_of(rows, MODEL, CYCLES).items()}
        fractions = rows[f"{MODEL}fraction_of_peak"].map(percent)
        text = fractions + " % of peak, bound by " + rows[f"{MODEL}bound"]
        return rows.assign(**busy, **{SIMULATED_CYCLES: rows[f"{MODEL}cycles"] * factor, TEXT: text})

    def stacks(self, rows: pd.DataFrame, settings: Any) -> list[Stack]:
        """Return the parts of a multiprocessor."""
        parts = sorted(
            parts_of(rows, BUSY).items(),
            key=lambda part: PARTS.index(part[1]) if part[1] in PARTS else len(PARTS),
        )
        label = f"modelled cycles for {SCORES} scores"
        mark = (SIMULATED_CYCLES, SIMULATED)
        return [Stack(dict(parts), label, hatch=HATCH, mark=mark, text=TEXT, is_parallel=True)]
