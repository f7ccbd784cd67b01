"""Speed-up of each variant over a baseline: grouped bars, the value on each bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, require_times
from harness.reporting.figures.baseline import Comparison, compare
from harness.reporting.figures.layout import wrap
from harness.reporting.figures.over_sizes import SizeSettings, draw_over_sizes, status_word, with_values
from harness.reporting.figures.places import along
from harness.reporting.figures.style import FONT_SIZES, series_styles
from harness.reporting.units import is_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

LABEL_INCHES = 1.6
"""Height that a vertical axis has for its label."""
NO_BASELINE = "no baseline"
"""Stands where a variant was timed but the baseline was not."""


class SpeedupSettings(SizeSettings):
    """`[figures] speedup = { … }`."""

    baseline: str | None = None
    """Variant (or series) that 1 stands for; the experiment's baseline if not given."""

    @property
    def named_variants(self) -> dict[str, tuple[str, ...]]:
        """See `FigureSettings.named_variants`."""
        return {**super().named_variants, "baseline": (self.baseline,) if self.baseline else ()}


class Speedup(Figure):
    """Bars with the paired 95 % interval, a line at 1, and a word where a bar is missing."""

    name = "speedup"
    summary = "speed-up of each variant over a baseline, a value on each bar"
    settings = SpeedupSettings
    data_columns = ("seq", "skew", "status", "baseline", "speedup")
    shows_rates = False

    def reading(self, settings: SpeedupSettings) -> str:
        """See `Figure.reading`."""
        return "Speed-up: higher is better."

    def rows(self, frame: pd.DataFrame, settings: SpeedupSettings) -> pd.DataFrame:
        """Return the rows that have a place along the horizontal axis, with those of the baseline."""
        require_times(frame)
        return along(choose_rows(frame, settings), settings.x)[0]

    def numbers(self, frame: pd.DataFrame, settings: SpeedupSettings) -> pd.DataFrame:
        """Return the rows with their speed-ups over the figure's baseline, which has no bar itself."""
        return _drawn(compare(frame, settings.baseline), settings)[0]

    def draw(self, frame: pd.DataFrame, settings: SpeedupSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        comparison = compare(frame, settings.baseline, settings.display)
        shown, x = _drawn(comparison, settings)
        value, low, high = (shown[name] for name in ("speedup", "speedup_low", "speedup_high"))
        named = wrap(f"({comparison.baseline} = 1)", LABEL_INCHES, float(FONT_SIZES["axes.labelsize"]))
        return draw_over_sizes(
            with_values(shown, value, low, high, _word),
            x,
            f"speed-up\n{named}",
            series_styles(frame),
            settings,
            caption,
            [comparison.note],
            as_bars=True,
            line=(1.0, "baseline"),
        )


def _drawn(comparison: Comparison, settings: SpeedupSettings) -> tuple[pd.DataFrame, str]:
    """Return the rows that have a bar, or a word in its place, and the column of the horizontal axis."""
    shown = choose_rows(comparison.frame, settings)
    if not shown["speedup"].notna().any():
        raise NothingToDraw(f"no case was timed together with {comparison.baseline}")
    placed, x = along(shown, settings.x)
    if not placed["speedup"].notna().any():
        raise NothingToDraw(f"no case that has {x}, which this is over, was timed with {comparison.baseline}")
    return placed, x


def _word(row: Mapping[str, Any]) -> str:
    return NO_BASELINE if is_number(row["time_s"]) else status_word(row)
