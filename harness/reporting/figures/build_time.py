"""What building each series takes, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, not_shown
from harness.reporting.figures.common_cases import common_cases
from harness.reporting.figures.row_bars import BarRow, RowSettings, bar_rows, row_numbers
from harness.reporting.figures.stacked_rows import OTHERS, draw_stacks
from harness.reporting.units import significant, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

STAGE = "stage_s."
NOTE = (
    "Build time by stage: the mean over lengths, of single builds, which ran beside others where "
    "the run had several jobs. For what was found in the cache, the time of its first build."
)


class BuildTime(Figure):
    """A stack of stages for each series, the largest stages named."""

    name = "build_time"
    summary = "build time of each series by stage"
    settings = RowSettings
    data_columns = ("build_s", STAGE)
    shows_times = False
    shows_rates = False
    has_axis_of_lengths = False
    is_usual = False

    def reading(self, settings: RowSettings) -> str:
        """See `Figure.reading`."""
        return "Lower is better."

    def rows(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows whose build times are drawn."""
        built = _built(frame, settings)
        return common_cases(built, bar_rows(built, settings)).among(built)

    def numbers(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the mean time of each stage, a line for each row of bars."""
        built = _built(frame, settings)
        return row_numbers(built, common_cases(built, bar_rows(built, settings)).rows, _times)

    def draw(self, frame: pd.DataFrame, settings: RowSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        built = _built(frame, settings)
        common = common_cases(built, bar_rows(built, settings))
        unit = time_unit(built["build_s"])
        stacks = [(row, _stages(row, unit.factor)) for row in common.rows]
        without = not_shown("Without a build time", choose_rows(frame, settings), built, settings)
        words = " ".join([NOTE, *without, *common.notes, caption])
        return draw_stacks(frame, stacks, settings, f"build time ({unit.symbol})", significant, words)


def _built(frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
    """Return the rows with a build time; none has a library's code, which is not built here."""
    shown = choose_rows(frame, settings)
    built = shown[shown["build_s"].fillna(0) > 0]
    if built.empty:
        raise NothingToDraw("no case has a build time")
    return built


def _times(row: BarRow) -> dict[str, float]:
    """Return the mean times of a row in seconds, by column."""
    stages = {f"{STAGE}{name}": value for name, value in _stages(row, 1.0).items()}
    return {"build_s": float(row.cases["build_s"].mean()), **stages}


def _stages(row: BarRow, factor: float) -> dict[str, float]:
    """Return the mean time of each stage of a row's cases; what no stage says is with the others.

    A stage that none of the cases has is left out.
    """
    stages = [str(name) for name in row.cases.columns if str(name).startswith(STAGE)]
    names = [name for name in stages if row.cases[name].notna().any()]
    means = {name.removeprefix(STAGE): float(row.cases[name].fillna(0).mean()) * factor for name in names}
    unsaid = float(row.cases["build_s"].mean()) * factor - sum(means.values())
    return {**means, OTHERS: max(unsaid, 0.0)}
