"""What building each series takes, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.base import NothingToDraw, choose_rows
from harness.reporting.figures.stacked import OTHERS, RowSettings, Stack, StackedFigure, by_size
from harness.reporting.units import time_unit

if TYPE_CHECKING:
    import pandas as pd

STAGE = "stage_s."
NOTE = (
    "Build time by stage, of single builds, which ran beside others where the run had several jobs. "
    "For what was found in the cache, the time of its first build."
)


class BuildTime(StackedFigure):
    """A stack of stages for each series, the largest stages first."""

    name = "build_time"
    summary = "build time of each series by stage"
    data_columns = ("build_s", STAGE)
    lacking = "Without a build time"

    def known(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows with a build time; none has a library's code, which is not built here."""
        rows = choose_rows(frame, settings)
        built = rows[rows["build_s"].fillna(0) > 0]
        if built.empty:
            raise NothingToDraw("no case has a build time")
        return built

    def numbers(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows that are drawn with what no stage says."""
        rows = self.rows(frame, settings)
        stages = rows[[name for name in rows if str(name).startswith(STAGE)]]
        others = rows["build_s"] - stages.sum(axis="columns")
        return rows.assign(**{f"{STAGE}{OTHERS}": others.clip(lower=0)})

    def stack(self, rows: pd.DataFrame, settings: RowSettings) -> Stack:
        """Return the stages."""
        unit = time_unit(rows["build_s"])
        parts = {str(name): str(name).removeprefix(STAGE) for name in rows if str(name).startswith(STAGE)}
        return Stack(by_size(rows, parts), f"build time ({unit.symbol})", unit.factor)

    def facts(self, rows: pd.DataFrame, settings: RowSettings) -> list[str]:
        """Return what build times are."""
        return [NOTE]
