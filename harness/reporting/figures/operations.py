"""What each form executes beyond what is needed: the recompute factor, counted from the generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings

if TYPE_CHECKING:
    import pandas as pd


class Operations(SizeFigure):
    """Bars of executed over needed operations, and a line at 1; nothing in it is measured."""

    name = "operations"
    summary = "matrix-product operations that each variant executes over those that are needed, counted"
    data_columns = ("seq", "skew", "status", "recompute_factor")
    shows_times = False
    shows_rates = False
    word_of_passed = "not counted"

    def scale(self, rows: pd.DataFrame, settings: SizeSettings) -> Scale:
        """Return the axis of the recompute factor."""
        label = "executed / needed\n(lower is better)"
        conventions = "; ".join(map(str, rows["flop_convention"].drop_duplicates()))
        note = f"Counted from the generated code, matrix products only; needed: {conventions}."
        return Scale("recompute_factor", label, line=(1.0, "needed"), notes=(note,), as_bars=True)
