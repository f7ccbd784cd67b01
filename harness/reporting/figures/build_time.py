"""What building each series takes, by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.reporting.figures.stacked import RowSettings, Stack, StackedFigure, parts_of
from harness.reporting.units import time_unit

if TYPE_CHECKING:
    import pandas as pd

STAGE = "stage_s."
OTHERS = f"{STAGE}others"


class BuildTime(StackedFigure):
    """A stack of stages for each series."""

    name = "build_time"
    summary = "build time of each series by stage"
    data_columns = ("build_s", STAGE)
    note = (
        "Build time by stage, of single builds, which ran beside others where the run had several jobs. "
        "For what was found in the cache, the time of its first build."
    )

    def needed(self, rows: pd.DataFrame, settings: RowSettings) -> Sequence[str]:
        """Return the build time; a library's code, which is not built here, has none."""
        return ["build_s"]

    def numbers(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows that are drawn with what no stage says."""
        rows = self.rows(frame, settings)
        stages = rows[[name for name in rows if str(name).startswith(STAGE)]]
        return rows.assign(**{OTHERS: (rows["build_s"] - stages.sum(axis="columns")).clip(lower=0)})

    def stacks(self, rows: pd.DataFrame, settings: RowSettings) -> list[Stack]:
        """Return the stages."""
        unit = time_unit(rows["build_s"])
        return [Stack(parts_of(rows, STAGE), f"build time ({unit.symbol})", unit.factor)]
