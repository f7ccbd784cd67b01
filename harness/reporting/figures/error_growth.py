"""How the error of each series grows with a size: over its tolerance, or absolute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import PanelColumn
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.reporting.units import is_number

if TYPE_CHECKING:
    import pandas as pd

RATIO_NOTE = (
    "Largest error of any output row over the tolerance of that row, against the float64 reference. "
    "Line at 1: the tolerance; above it, wrong."
)
ABSOLUTE_NOTE = "Largest absolute error against the float64 reference, in the worst of the checked inputs."
UNPLACED_NOTE = "Without error, or not finite, so not on the scale: {} of {} rows."


class ErrorGrowthSettings(SizeSettings):
    """`[figures] error_growth = { … }`."""

    y: Literal["ratio", "absolute"] = "ratio"
    """The error over its tolerance, or the largest absolute error."""
    panels: tuple[PanelColumn, ...] = ("dtype", "mask")
    """One panel for each combination of these; further columns that vary are added."""


class ErrorGrowth(SizeFigure):
    """Lines of the largest error, with the line above which an output is wrong."""

    name = "error_growth"
    summary = "largest error of each variant, over its tolerance, over sequence length"
    settings = ErrorGrowthSettings
    data_columns = ("seq", "status", "error_ratio", "max_abs_error", "tolerance")
    shows_times = False
    shows_rates = False
    is_usual = False
    reads = "Error: lower is better."

    def scale(self, rows: pd.DataFrame, settings: ErrorGrowthSettings) -> Scale:
        """Return the axis of errors, and how many have no place on it."""
        column, label, line, note = (
            ("error_ratio", "error / tolerance", (1.0, "limit"), RATIO_NOTE)
            if settings.y == "ratio"
            else ("max_abs_error", "largest absolute error", None, ABSOLUTE_NOTE)
        )
        errors = rows[column].dropna()
        unplaced = sum(not is_number(error) or error == 0 for error in errors)
        notes = (note, UNPLACED_NOTE.format(unplaced, len(errors))) if unplaced else (note,)
        return Scale(column, label, line=line, notes=notes, is_logarithmic=True)
