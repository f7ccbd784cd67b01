"""What each form executes beyond what is needed: the recompute factor, counted from the generated code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd

NOT_COUNTED = "not counted"
"""Stands where code is somebody else's, whose operations nobody here counts."""


class Operations(SizeFigure):
    """Bars of executed over needed operations, and a line at 1; nothing in it is measured."""

    name = "operations"
    summary = "matrix-product operations that each variant executes over those that are needed, counted"
    settings = SizeSettings
    data_columns = ("seq", "skew", "status", "recompute_factor")
    shows_times = False
    shows_rates = False
    leaves_out_empty = False

    def scale(self, rows: pd.DataFrame, settings: SizeSettings) -> Scale:
        """Return the axis of the recompute factor."""
        label = "executed / needed\n(lower is better)"
        return Scale("recompute_factor", label, line=(1.0, "needed"), as_bars=True)

    def word(self, row: Mapping[str, Any]) -> str:
        """Return that what has code was not counted, else what became of it."""
        has_code = Status(row["status"]) in (Status.PASSED, Status.EMULATED, Status.BUILT)
        return NOT_COUNTED if has_code else super().word(row)

    def facts(self, rows: pd.DataFrame, settings: SizeSettings) -> list[str]:
        """Return how operations are counted."""
        conventions = "; ".join(map(str, rows["flop_convention"].drop_duplicates()))
        return [f"Counted from the generated code, matrix products only; needed: {conventions}."]
