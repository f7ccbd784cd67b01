"""How the error of each series grows with a size: over its tolerance, or absolute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import NothingToDraw, PanelColumn, choose_rows
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.reporting.units import is_number

if TYPE_CHECKING:
    import pandas as pd

RATIO_NOTE = (
    "Largest error of any output row over the tolerance of that row, against the float64 reference. "
    "Line at 1: the tolerance; above it, wrong."
)
ABSOLUTE_NOTE = "Largest absolute error against the float64 reference, in the worst of the checked inputs."
ZERO_NOTE = "Without error, so not on the scale: {} of {} rows."
INFINITE_NOTE = "With NaN or infinity where the reference has a number, so not on the scale: {} of {} rows."


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

    def chosen(self, frame: pd.DataFrame, settings: ErrorGrowthSettings) -> pd.DataFrame:
        """Return the chosen rows; some of them were checked with an error that has a place on the scale."""
        rows = choose_rows(frame, settings)
        if not any(is_number(error) and error > 0 for error in rows[_column(settings)]):
            raise NothingToDraw("no case was checked with a finite error above 0")
        return rows

    def scale(self, rows: pd.DataFrame, settings: ErrorGrowthSettings) -> Scale:
        """Return the axis of errors."""
        if settings.y == "ratio":
            return Scale("error_ratio", "error / tolerance", line=(1.0, "limit"), is_logarithmic=True)
        return Scale("max_abs_error", "largest absolute error", is_logarithmic=True)

    def word(self, row: Mapping[str, Any]) -> str:
        """Return that the error is not known of what passed."""
        return super().word(row).replace("not timed", "not known")

    def facts(self, rows: pd.DataFrame, settings: ErrorGrowthSettings) -> list[str]:
        """Return what the error is, and how many have no place on the scale."""
        errors = rows[_column(settings)].dropna()
        exact, infinite = int((errors == 0).sum()), int((~errors.map(is_number)).sum())
        notes = [RATIO_NOTE if settings.y == "ratio" else ABSOLUTE_NOTE]
        notes += [ZERO_NOTE.format(exact, len(errors))] if exact else []
        return [*notes, *([INFINITE_NOTE.format(infinite, len(errors))] if infinite else [])]


def _column(settings: ErrorGrowthSettings) -> str:
    return "error_ratio" if settings.y == "ratio" else "max_abs_error"
