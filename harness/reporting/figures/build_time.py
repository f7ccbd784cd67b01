"""What building each series takes, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows
from harness.reporting.figures.row_bars import BarRow, RowSettings, bar_rows, row_numbers
from harness.reporting.figures.stacked_rows import OTHERS, draw_stacks
from harness.reporting.units import significant, time_unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

STAGE = "stage_s."
NOTE = (
    "Build time by stage: the mean over the cases of a row, of single builds, which ran beside others where "
    "the run had several jobs. For what was found in the cache, the time of its first build."
)


class BuildTime(Figure):
    """A stack of stages for each series, the largest stages named."""

    name = "build_time"
    summary = "build time of each series by stage"
    settings = RowSettings
    data_columns = ("build_s", STAGE)
    shows_rates = False
    is_usual = False

    def reading(self, settings: RowSettings) -> str:
        """See `Figure.reading`."""
        return "Lower is better."

    def rows(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows with a build time; none has a library's code, which is not built here."""
        shown = choose_rows(frame, settings)
        built = shown[shown["build_s"].fillna(0) > 0]
        if built.empty:
            raise NothingToDraw("no case has a build time")
        return built

    def numbers(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the mean time of each stage, a line for each row of bars."""
        shown = self.rows(frame, settings)
        return row_numbers(shown, bar_rows(shown, settings), _times)

    def draw(self, frame: pd.DataFrame, settings: RowSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown = self.rows(frame, settings)
        unit = time_unit(shown["build_s"])
        stacks = [(row, _stages(row, unit.factor)) for row in bar_rows(shown, settings)]
        title = f"build time ({unit.symbol})"
        return draw_stacks(frame, stacks, settings, title, significant, f"{NOTE} {caption}")


def _times(row: BarRow) -> dict[str, float]:
    """Return the mean times of a row in seconds, by column."""
    stages = {f"{STAGE}{name}": value for name, value in _stages(row, 1.0).items()}
    return {"build_s": float(row.cases["build_s"].mean()), **stages}


def _stages(row: BarRow, factor: float) -> dict[str, float]:
    """Return the mean time of each stage of a row's cases; what no stage says is with the others."""
    names = [str(name) for name in row.cases.columns if str(name).startswith(STAGE)]
    means = {name.removeprefix(STAGE): float(row.cases[name].fillna(0).mean()) * factor for name in names}
    unsaid = float(row.cases["build_s"].mean()) * factor - sum(means.values())
    return {**means, OTHERS: max(unsaid, 0.0)}
