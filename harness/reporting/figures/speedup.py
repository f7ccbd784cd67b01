"""Speed-up of each variant over a baseline: grouped bars, the value on each bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import NothingToDraw, choose_rows, require_times
from harness.reporting.figures.baseline import compare, comparison_notes, what_is_1
from harness.reporting.figures.layout import wrap
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.reporting.figures.places import along
from harness.reporting.figures.style import FONT_SIZES
from harness.reporting.units import is_number

if TYPE_CHECKING:
    import pandas as pd

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


class Speedup(SizeFigure):
    """Bars with the paired 95 % interval, a line at 1, and a word where a bar is missing."""

    name = "speedup"
    summary = "speed-up of each variant over a baseline, a value on each bar"
    settings = SpeedupSettings
    data_columns = ("seq", "skew", "status", "baseline", "speedup")
    shows_rates = False
    leaves_out_empty = False
    reads = "Speed-up: higher is better."

    def rows(self, frame: pd.DataFrame, settings: SpeedupSettings) -> pd.DataFrame:
        """Return the rows that have a place along the horizontal axis, with those of the baseline."""
        require_times(frame)
        return along(choose_rows(frame, settings), settings.x)[0]

    def numbers(self, frame: pd.DataFrame, settings: SpeedupSettings) -> pd.DataFrame:
        """Return the rows with their speed-ups over the figure's baseline, which has no bar itself."""
        return self.placed(frame, settings)[0]

    def chosen(self, frame: pd.DataFrame, settings: SpeedupSettings) -> pd.DataFrame:
        """Return the chosen rows with their speed-ups."""
        rows = choose_rows(compare(frame, settings.baseline), settings)
        if not rows["speedup"].notna().any():
            raise NothingToDraw("no case was timed together with its baseline")
        return rows

    def scale(self, rows: pd.DataFrame, settings: SpeedupSettings) -> Scale:
        """Return the axis of speed-ups."""
        baseline = what_is_1(rows, settings.display)
        named = wrap(f"({baseline} = 1)", LABEL_INCHES, float(FONT_SIZES["axes.labelsize"]))
        ends = ("speedup_low", "speedup_high")
        return Scale("speedup", f"speed-up\n{named}", ends=ends, line=(1.0, "baseline"), as_bars=True)

    def word(self, row: Mapping[str, Any]) -> str:
        """Return that the baseline of what was timed is missing, else what became of it."""
        return NO_BASELINE if is_number(row["time_s"]) else super().word(row)

    def facts(self, rows: pd.DataFrame, settings: SpeedupSettings) -> list[str]:
        """Return what the speed-ups are."""
        return comparison_notes(rows, settings.display)
