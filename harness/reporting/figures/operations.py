"""What each form executes beyond what is needed: the recompute factor, counted from the generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.bars import (
    PANEL_HEIGHT,
    Bar,
    bar_handle,
    draw_bar_panel,
    panel_columns_side_by_side,
    scale_bars,
)
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
)
from harness.reporting.figures.layout import (
    check_readable,
    label_axes,
    new_drawing,
    panel_grid,
)
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.places import along, x_label
from harness.reporting.figures.style import STATUS_WORDS, paper_style, series_styles
from harness.reporting.frames import labels_in, records
from harness.reporting.units import is_number
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

NOT_COUNTED = "not counted"
"""Stands where code is somebody else's, whose operations nobody here counts."""
LABEL = "executed / needed\n(lower is better)"


class OperationsSettings(FigureSettings):
    """`[figures] operations = { … }`."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "skew"] = "seq"
    """What the groups of bars are; `seq` is the longer of `seq_q` and `seq_kv`."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


class Operations(Figure):
    """Bars of executed over needed operations, and a line at 1; nothing in it is measured."""

    name = "operations"
    summary = "matrix-product operations that each variant executes over those that are needed, counted"
    settings = OperationsSettings
    data_columns = ("seq", "skew", "status", "recompute_factor")
    shows_times = False
    shows_rates = False

    def rows(self, frame: pd.DataFrame, settings: OperationsSettings) -> pd.DataFrame:
        """Return the rows that have a place along the horizontal axis."""
        return along(choose_rows(frame, settings), settings.x)[0]

    def draw(self, frame: pd.DataFrame, settings: OperationsSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown, x = along(choose_rows(frame, settings), settings.x)
        if not shown["recompute_factor"].notna().any():
            raise NothingToDraw("no operations were counted")
        columns = check_readable(shown, settings.panels, x)
        styles, labels = series_styles(frame), labels_in(shown)
        beside = min(panel_columns_side_by_side(len(labels), shown[x].nunique()), settings.panels_beside)
        grid = panel_grid(shown, columns, most_columns=beside)
        width = settings.inches
        conventions = "; ".join(map(str, shown["flop_convention"].drop_duplicates()))
        note = f"Counted from the generated code, matrix products only; needed: {conventions}."
        with paper_style(settings.font):
            legend = plan_legend([settings.display(label) for label in labels], settings.title, width)
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                caption if settings.caption else None,
                [note],
                size=settings.size,
                width=width,
                heading_height=legend.height,
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                rows = records(panel.frame)
                bars = {
                    label: [_bar(row, x) for row in rows if row["label"] == label]
                    for label in labels_in(panel.frame)
                }
                draw_bar_panel(axes, bars, styles, grid, width)
                axes.axhline(1, color="0.15", linewidth=0.7, gid="needed")
            add_legend(drawing, legend, [bar_handle(styles[label]) for label in labels])
            label_axes(all_axes, grid, x_label(shown, x), LABEL)
            scale_bars(all_axes, grid.rows, float(shown["recompute_factor"].max()))
        return drawing


def _bar(row: dict[str, Any], x: str) -> Bar:
    """Return the bar of a row, or the word for what became of it."""
    if is_number(row["recompute_factor"]):
        return Bar(row[x], row["recompute_factor"])
    status = Status(row["status"])
    if status in (Status.PASSED, Status.EMULATED, Status.BUILT):
        return Bar(row[x], word=NOT_COUNTED, is_muted=True)
    return Bar(row[x], word=STATUS_WORDS[status])
