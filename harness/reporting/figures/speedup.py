"""Speed-up of each variant over a baseline: grouped bars, the value on each bar."""

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
    require_times,
)
from harness.reporting.figures.baseline import Comparison, compare
from harness.reporting.figures.layout import (
    check_readable,
    label_axes,
    new_drawing,
    panel_grid,
)
from harness.reporting.figures.legend import add_legend, plan_legend, wrap
from harness.reporting.figures.places import along, x_label
from harness.reporting.figures.style import FONT_SIZES, STATUS_WORDS, paper_style, series_styles
from harness.reporting.frames import labels_in, records
from harness.reporting.units import is_number
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

AXIS_LABEL_SIZE = float(FONT_SIZES["axes.labelsize"])
LONGEST_AXIS_LABEL = 110.0
"""Points that a vertical axis has for its label."""
NO_BASELINE = "no baseline"
"""Stands where a variant was timed but the baseline was not."""


class SpeedupSettings(FigureSettings):
    """`[figures] speedup = { … }`."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads", "skew"] = "seq"
    """What the groups of bars are; `seq` is the longer of `seq_q` and `seq_kv`."""
    baseline: str | None = None
    """Variant (or series) that 1 stands for; the experiment's baseline if not given."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""

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
        shown, _ = _drawn(compare(frame, settings.baseline), settings)
        return shown

    def draw(self, frame: pd.DataFrame, settings: SpeedupSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        comparison = compare(frame, settings.baseline, settings.display)
        shown, x = _drawn(comparison, settings)
        columns = check_readable(shown, settings.panels, x)
        styles = series_styles(frame)
        labels = labels_in(shown)
        beside = panel_columns_side_by_side(len(labels), shown[x].nunique())
        beside = min(beside, settings.panels_beside)
        grid = panel_grid(shown, columns, most_columns=beside)
        width = settings.inches
        with paper_style(settings.font):
            legend = plan_legend([settings.display(label) for label in labels], settings.title, width)
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                caption if settings.caption else None,
                [comparison.note],
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
                axes.axhline(1, color="0.15", linewidth=0.7, gid="baseline")
            add_legend(drawing, legend, [bar_handle(styles[label]) for label in labels])
            named = wrap(f"({comparison.baseline} = 1)", AXIS_LABEL_SIZE, LONGEST_AXIS_LABEL)
            label_axes(all_axes, grid, x_label(shown, x), f"speed-up\n{named}")
            scale_bars(all_axes, grid.rows, _highest(shown))
        return drawing


def _drawn(comparison: Comparison, settings: SpeedupSettings) -> tuple[pd.DataFrame, str]:
    """Return the rows that have a bar, or a word in its place, and the column of the horizontal axis."""
    shown = choose_rows(comparison.frame, settings)
    if not shown["speedup"].notna().any():
        raise NothingToDraw(f"no case was timed together with {comparison.baseline}")
    placed, x = along(shown, settings.x)
    if not placed["speedup"].notna().any():
        raise NothingToDraw(f"no case that has {x}, which this is over, was timed with {comparison.baseline}")
    return placed, x


def _highest(frame: pd.DataFrame) -> float:
    """Return the highest end of a bar or its interval, at least 1."""
    ends = [*frame["speedup"], *frame["speedup_high"]]
    return max([1.0, *(end for end in ends if is_number(end))])


def _bar(row: dict[str, Any], x: str) -> Bar:
    """Return the bar of a row, or the word for its status where there is no speed-up."""
    value, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    if not is_number(value):
        if is_number(row["time_s"]):
            return Bar(row[x], word=NO_BASELINE, is_muted=True)
        return Bar(row[x], word=STATUS_WORDS[Status(row["status"])])
    down = value - low if is_number(low) else 0.0
    up = high - value if is_number(high) else 0.0
    return Bar(row[x], value, max(down, 0.0), max(up, 0.0))
