"""What building each series takes, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, not_shown
from harness.reporting.figures.common_cases import common_cases
from harness.reporting.figures.stacked import (
    OTHERS,
    RowSettings,
    by_size,
    draw_stacks,
    form_columns,
    row_numbers,
)
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
        return common_cases(built, form_columns(built, settings.by))[0]

    def numbers(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the mean time of each stage, a line for each row of bars."""
        built = _built(frame, settings)
        columns = form_columns(built, settings.by)
        return row_numbers(common_cases(built, columns)[0], columns, _times)

    def draw(self, frame: pd.DataFrame, settings: RowSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        built = _built(frame, settings)
        columns = form_columns(built, settings.by)
        common, notes = common_cases(built, columns)
        table = row_numbers(common, columns, _times)
        unit = time_unit(built["build_s"])
        parts = {str(name): str(name).removeprefix(STAGE) for name in table if str(name).startswith(STAGE)}
        return draw_stacks(
            table,
            columns,
            by_size(table, parts),
            settings,
            caption,
            [NOTE, *not_shown("Without a build time", choose_rows(frame, settings), built, settings), *notes],
            f"build time ({unit.symbol})",
            lambda row: significant(row["build_s"] * unit.factor),
            factor=unit.factor,
        )


def _built(frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
    """Return the rows with a build time; none has a library's code, which is not built here."""
    shown = choose_rows(frame, settings)
    built = shown[shown["build_s"].fillna(0) > 0]
    if built.empty:
        raise NothingToDraw("no case has a build time")
    return built


def _times(cases: pd.DataFrame) -> dict[str, float]:
    """Return the mean times of a row's cases in seconds, by column; what no stage says is with the others.

    A stage that none of the cases has is left out.
    """
    stages = [str(name) for name in cases.columns if str(name).startswith(STAGE)]
    names = [name for name in stages if cases[name].notna().any()]
    means = {name: float(cases[name].fillna(0).mean()) for name in names}
    total = float(cases["build_s"].mean())
    return {"build_s": total, **means, f"{STAGE}{OTHERS}": max(total - sum(means.values()), 0.0)}
