"""What the code of each series takes of a device: registers, spills, shared memory, occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.reporting.figures.stacked import RowSettings, Stack, StackedFigure

if TYPE_CHECKING:
    import pandas as pd

QUANTITIES = {
    "registers": ("registers of\na thread", 1.0),
    "spills": ("spilled\nregisters", 1.0),
    "scratch_bytes": ("scratch of\na lane (B)", 1.0),
    "shared_bytes": ("shared mem-\nory (KiB)", 1 / 1024),
    "bank_conflicts": ("bank\nconflicts", 1.0),
    "narrow_loads": ("narrow\nloads", 1.0),
    "occupancy": ("occupancy\n(%)", 100.0),
    "code_bytes": ("code\n(KiB)", 1 / 1024),
}
FLAWS = ("scratch_bytes", "bank_conflicts", "narrow_loads")
"""Of them, those that good code has none of."""


class Resources(StackedFigure):
    """A row of bars for each series and form: registers, spills, shared memory, occupancy, code size."""

    name = "resources"
    summary = "registers, spills, shared memory, occupancy and code size of each series, a row each"
    data_columns = tuple(QUANTITIES)
    is_usual_without_times = True
    reads = "Occupancy: higher is better; all else: lower is better."
    note = "Counted in the generated code, not measured."

    def needed(self, rows: pd.DataFrame, settings: RowSettings) -> Sequence[str]:
        """Return the columns of all quantities."""
        return list(QUANTITIES)

    def stacks(self, rows: pd.DataFrame, settings: RowSettings) -> list[Stack]:
        """Return a bar for each quantity that any row has; what should be 0 and is has none."""
        return [
            Stack({column: column}, title, factor)
            for column, (title, factor) in QUANTITIES.items()
            if rows[column].notna().any() and not (column in FLAWS and rows[column].fillna(0).eq(0).all())
        ]
