"""What each form executes beyond what is needed: the recompute factor, counted from the generated code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows
from harness.reporting.figures.over_sizes import SizeSettings, draw_over_sizes, status_word, with_values
from harness.reporting.figures.places import along
from harness.reporting.figures.style import series_styles
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

NOT_COUNTED = "not counted"
"""Stands where code is somebody else's, whose operations nobody here counts."""
LABEL = "executed / needed\n(lower is better)"


class Operations(Figure):
    """Bars of executed over needed operations, and a line at 1; nothing in it is measured."""

    name = "operations"
    summary = "matrix-product operations that each variant executes over those that are needed, counted"
    settings = SizeSettings
    data_columns = ("seq", "skew", "status", "recompute_factor")
    shows_times = False
    shows_rates = False

    def rows(self, frame: pd.DataFrame, settings: SizeSettings) -> pd.DataFrame:
        """Return the rows that have a place along the horizontal axis."""
        return along(choose_rows(frame, settings), settings.x)[0]

    def draw(self, frame: pd.DataFrame, settings: SizeSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown, x = along(choose_rows(frame, settings), settings.x)
        if not shown["recompute_factor"].notna().any():
            raise NothingToDraw("no operations were counted")
        conventions = "; ".join(map(str, shown["flop_convention"].drop_duplicates()))
        return draw_over_sizes(
            with_values(shown, shown["recompute_factor"], word=_word),
            x,
            LABEL,
            series_styles(frame),
            settings,
            caption,
            [f"Counted from the generated code, matrix products only; needed: {conventions}."],
            as_bars=True,
            line=(1.0, "needed"),
        )


def _word(row: Mapping[str, Any]) -> str:
    has_code = Status(row["status"]) in (Status.PASSED, Status.EMULATED, Status.BUILT)
    return NOT_COUNTED if has_code else status_word(row)
