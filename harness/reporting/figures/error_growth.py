"""How the error of each series grows with a size: over its tolerance, or absolute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import Figure, NothingToDraw, PanelColumn, choose_rows
from harness.reporting.figures.logarithmic import draw_logarithmic, known_series, left_out_note, on_scale
from harness.reporting.figures.over_sizes import SizeSettings
from harness.reporting.units import is_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

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


class ErrorGrowth(Figure):
    """Lines of the largest error, with the line above which an output is wrong."""

    name = "error_growth"
    summary = "largest error of each variant, over its tolerance, over sequence length"
    settings = ErrorGrowthSettings
    data_columns = ("seq", "status", "error_ratio", "max_abs_error", "tolerance")
    shows_times = False
    shows_rates = False
    is_usual = False

    def reading(self, settings: ErrorGrowthSettings) -> str:
        """See `Figure.reading`."""
        return "Error: lower is better."

    def rows(self, frame: pd.DataFrame, settings: ErrorGrowthSettings) -> pd.DataFrame:
        """Return the rows with a point, or with a word in its place."""
        return on_scale(_shown(frame, settings)[0], _column(settings))

    def draw(self, frame: pd.DataFrame, settings: ErrorGrowthSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`.

        Several cases of a series at one place, such as several head dims without a panel each, cannot be:
        what varies becomes a panel.
        """
        shown, left_out = _shown(frame, settings)
        is_ratio = settings.y == "ratio"
        errors = shown[_column(settings)].dropna()
        exact, infinite = int((errors == 0).sum()), int(sum(not is_number(error) for error in errors))
        notes = [RATIO_NOTE if is_ratio else ABSOLUTE_NOTE]
        notes += [ZERO_NOTE.format(exact, len(errors))] if exact else []
        notes += [INFINITE_NOTE.format(infinite, len(errors))] if infinite else []
        notes += left_out_note(left_out, settings)
        drawn = on_scale(shown, _column(settings))
        return draw_logarithmic(
            frame,
            drawn,
            drawn[_column(settings)],
            "error / tolerance" if is_ratio else "largest absolute error",
            settings,
            caption,
            notes,
            line=(1.0, "limit") if is_ratio else None,
        )


def _shown(frame: pd.DataFrame, settings: ErrorGrowthSettings) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the rows of the series of which any case was checked, and the statuses of the other series."""
    shown = choose_rows(frame, settings)
    errors = [error for error in shown[_column(settings)] if is_number(error)]
    if not any(error > 0 for error in errors):
        raise NothingToDraw("no case was checked with a finite error above 0")
    return known_series(shown, _column(settings), settings)


def _column(settings: ErrorGrowthSettings) -> str:
    return "error_ratio" if settings.y == "ratio" else "max_abs_error"
