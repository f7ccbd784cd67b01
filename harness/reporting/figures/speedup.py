"""Speed-up of each variant over a baseline: grouped bars, the value on each bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    check_variants,
)
from harness.reporting.figures.baseline import compare
from harness.reporting.figures.layout import (
    PanelGrid,
    new_drawing,
    panel_columns,
    panel_grid,
)
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.style import (
    PAPER_WIDTH,
    POINTS_PER_INCH,
    STATUS_WORDS,
    SeriesStyle,
    paper_style,
    series_styles,
    text_color,
)
from harness.reporting.figures.throughput import X_LABELS
from harness.reporting.frames import labels_in, records, select_variants
from harness.reporting.units import is_number, significant
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANEL_HEIGHT = 1.75
MOST_BARS_SIDE_BY_SIDE = 16
"""More bars than this in a panel, and panels are stacked instead of standing side by side."""
GROUP_SHARE = 0.86
"""Share of the distance between groups that its bars fill."""
LARGEST_VALUE_TEXT = 7.0
SMALLEST_VALUE_TEXT = 3.5
CHARACTER_WIDTH = 0.62
"""Width of a digit over the font size."""
NO_BASELINE = "no baseline"
"""Stands where a variant was timed but the baseline was not."""
HEADROOM = 1.28
"""Top of the scale over the highest bar: room for upright values."""


class SpeedupSettings(FigureSettings):
    """`[figures] speedup = { … }`."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads"] = "seq"
    """What the groups of bars are; `seq` is `seq_q`."""
    baseline: str | None = None
    """Variant (or series) that 1 stands for; the experiment's baseline if not given."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


@dataclass(frozen=True)
class _Bar:
    """One bar, or the word that stands in its place."""

    position: float
    value: float
    down: float
    up: float
    word: str


class Speedup(Figure):
    """Bars with the paired 95 % interval, a line at 1, and a word where a bar is missing."""

    name = "speedup"
    summary = "speed-up of each variant over a baseline, a value on each bar"
    settings = SpeedupSettings

    def draw(self, frame: pd.DataFrame, settings: SpeedupSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        check_variants(self, settings, frame)
        comparison = compare(frame, settings.baseline)
        shown = select_variants(comparison.frame, settings.variants)
        if not shown["speedup"].notna().any():
            raise NothingToDraw(f"no case was timed together with {comparison.baseline}")
        x = "seq_q" if settings.x == "seq" else settings.x
        styles = series_styles(frame)
        columns = panel_columns(shown, settings.panels, x)
        bars = len(labels_in(shown)) * shown[x].nunique()
        grid = panel_grid(shown, columns, most_columns=2 if bars <= MOST_BARS_SIDE_BY_SIDE else 1)
        with paper_style():
            legend = plan_legend(labels_in(shown), settings.title)
            drawing, all_axes = new_drawing(
                grid, PANEL_HEIGHT, caption, [comparison.note], heading_height=legend.height
            )
            highest = _highest(shown)
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                slot_points = _slot_points(grid, len(labels_in(panel.frame)), panel.frame[x].nunique())
                _draw_panel(axes, panel.frame, x, styles, slot_points, highest)
                axes.set_title(panel.heading)
            _label_axes(all_axes, grid, X_LABELS[x], comparison.baseline)
            add_legend(drawing, legend, [_legend_handle(styles[label]) for label in labels_in(shown)])
        return drawing


def _highest(frame: pd.DataFrame) -> float:
    """Return the highest end of a bar or its interval, at least 1."""
    ends = [*frame["speedup"], *frame["speedup_high"]]
    return max([1.0, *(end for end in ends if is_number(end))])


def _slot_points(grid: PanelGrid, series: int, groups: int) -> float:
    """Return how many points one bar is wide."""
    panel_inches = (PAPER_WIDTH - 0.55 * grid.columns) / grid.columns
    return panel_inches * POINTS_PER_INCH / groups * GROUP_SHARE / series


def _draw_panel(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    styles: dict[str, SeriesStyle],
    slot_points: float,
    highest: float,
) -> None:
    groups = sorted(frame[x].unique())
    labels = labels_in(frame)
    width = GROUP_SHARE / len(labels)
    widest = max((len(significant(value)) for value in frame["speedup"].dropna()), default=0)
    upright = widest * CHARACTER_WIDTH * LARGEST_VALUE_TEXT > slot_points
    for number, label in enumerate(labels):
        rows = frame[frame["label"] == label]
        offset = (number - (len(labels) - 1) / 2) * width
        bars = [_bar(row, groups.index(row[x]) + offset) for row in records(rows)]
        _draw_bars(axes, bars, width, label, styles[label])
        for bar in bars:
            _write_value(axes, bar, slot_points, upright, styles[label])
    axes.axhline(1, color="0.15", linewidth=0.7, gid="baseline")
    axes.set_xticks(range(len(groups)), [str(group) for group in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylim(0, highest * HEADROOM)
    axes.grid(axis="y")


def _bar(row: dict[str, Any], position: float) -> _Bar:
    """Return the bar of a row, or the word for its status where there is no speed-up."""
    value, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    if not is_number(value):
        word = NO_BASELINE if is_number(row["time_s"]) else STATUS_WORDS[Status(row["status"])]
        return _Bar(position, 0, 0, 0, word)
    down = value - low if is_number(low) else 0.0
    up = high - value if is_number(high) else 0.0
    return _Bar(position, value, max(down, 0.0), max(up, 0.0), "")


def _draw_bars(axes: Axes, bars: Sequence[_Bar], width: float, label: str, look: SeriesStyle) -> None:
    measured = [bar for bar in bars if not bar.word]
    positions, values = [bar.position for bar in measured], [bar.value for bar in measured]
    axes.bar(
        positions,
        values,
        width,
        color=look.color,
        hatch=look.hatch,
        edgecolor="white",
        linewidth=0.4,
        label=label,
    )
    known = [bar for bar in measured if bar.down or bar.up]
    if known:
        axes.errorbar(
            [bar.position for bar in known],
            [bar.value for bar in known],
            yerr=[[bar.down for bar in known], [bar.up for bar in known]],
            linestyle="none",
            color="0.1",
            elinewidth=0.6,
            capsize=1.0,
            capthick=0.6,
        )


def _write_value(axes: Axes, bar: _Bar, slot_points: float, upright: bool, look: SeriesStyle) -> None:
    """Write the value above its bar, or the word, always upright, at the foot of its place."""
    is_upright = upright or bool(bar.word)
    size = LARGEST_VALUE_TEXT
    if is_upright:
        size = max(min(size, slot_points * 0.85), SMALLEST_VALUE_TEXT)
    axes.annotate(
        bar.word or significant(bar.value),
        (bar.position, bar.value + bar.up),
        xytext=(0, 2),
        textcoords="offset points",
        rotation=90 if is_upright else 0,
        ha="center",
        va="bottom",
        fontsize=size,
        color="0.1" if not bar.word else "0.45" if bar.word == NO_BASELINE else text_color(look),
        fontstyle="italic" if bar.word else "normal",
        gid="missing" if bar.word else "value",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )


def _label_axes(all_axes: Sequence[Axes], grid: PanelGrid, x_label: str, baseline: str) -> None:
    """Label the outer axes only."""
    places = {(panel.row, panel.column) for panel in grid.panels}
    for panel, axes in zip(grid.panels, all_axes, strict=True):
        if panel.column == 0:
            axes.set_ylabel(f"speed-up\n({baseline} = 1)")
        if (panel.row + 1, panel.column) not in places:
            axes.set_xlabel(x_label)


def _legend_handle(look: SeriesStyle) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=look.color, hatch=look.hatch, edgecolor="white", linewidth=0.4)
