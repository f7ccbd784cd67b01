"""Bars in groups: the value above each bar, its interval on it, a word where a bar is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.layout import PanelGrid, drawing_of, lay_out, require_height
from harness.reporting.figures.style import POINTS_PER_INCH, SeriesStyle, text_color
from harness.reporting.frames import format_value
from harness.reporting.units import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_HEIGHT = 1.75
MOST_BARS_SIDE_BY_SIDE = 16
"""More bars than this in a panel, and panels are stacked instead of standing side by side."""
GROUP_SHARE = 0.86
"""Share of the distance between groups that its bars fill."""
VALUE_GAP = 2.0
"""Points between a bar and its value."""
LARGEST_VALUE_TEXT = 7.0
SMALLEST_VALUE_TEXT = 3.5
CHARACTER_WIDTH = 0.62
"""Width of a digit over the font size."""
HEADROOM = 1.28
"""Top of the scale over the highest bar: room for upright values where panels are as high as usual."""
MOST_LAYOUTS = 4
"""How often the scale is fitted to the panels' heights, which change with it: tick labels take room."""
LEAST_BAR_POINTS = 20.0
"""Height of the highest bar below which bars cannot be compared."""


@dataclass(frozen=True)
class Bar:
    """One bar, or the word that stands in its place."""

    group: Any
    """The value of the horizontal axis."""
    value: float = 0.0
    down: float = 0.0
    up: float = 0.0
    """Distances from the value to the ends of its interval."""
    word: str = ""
    is_muted: bool = False
    """Whether the word is no outcome of this series, so that it has not its colour."""
    exact: str = ""
    """The value as it is written, where it is not to be rounded."""

    @property
    def text(self) -> str:
        """What is written above the bar, or in its place."""
        return self.word or self.exact or significant(self.value)


def panel_columns_side_by_side(series: int, groups: int) -> int:
    """Return how many panels of so many bars stand side by side."""
    return 2 if series * groups <= MOST_BARS_SIDE_BY_SIDE else 1


def draw_bar_panel(
    axes: Axes,
    bars: Mapping[str, Sequence[Bar]],
    styles: Mapping[str, SeriesStyle],
    grid: PanelGrid,
    width: float,
    groups: Sequence[Any] | None = None,
) -> None:
    """Draw the bars of each series of one panel; the figure is `width` inches wide.

    `groups` are the places of the horizontal axis, by default those of the bars.  `scale_bars` gives the
    panels their vertical scale.
    """
    groups = groups or sorted({bar.group for of_series in bars.values() for bar in of_series})
    bar_width = GROUP_SHARE / len(bars)
    slot_points = _slot_points(grid, len(bars), len(groups), width)
    texts = [bar.text for of_series in bars.values() for bar in of_series if not bar.word]
    widest = max(map(len, texts), default=0)
    upright = widest * CHARACTER_WIDTH * LARGEST_VALUE_TEXT > slot_points
    for number, (label, of_series) in enumerate(bars.items()):
        offset = (number - (len(bars) - 1) / 2) * bar_width
        places = [groups.index(bar.group) + offset for bar in of_series]
        _draw_bars(axes, of_series, places, bar_width, label, styles[label])
        for bar, place in zip(of_series, places, strict=True):
            _write_value(axes, bar, place, slot_points, upright, styles[label])
    axes.set_xticks(range(len(groups)), [format_value(group) for group in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.grid(axis="y")


def scale_bars(all_axes: Sequence[Axes], rows: int, highest: float, words_above: float = 0.0) -> None:
    """Give panels of bars one scale, with room for the values and, above these, for so many points of words.

    `highest` is the highest end of a bar or of its interval in all panels, which lie in so many rows.
    Legend, titles and labels are there already: they take part of the height.  Raises `TooLow` where next to
    nothing of it is left for the bars, or not enough for a word in a bar's place.
    """
    top = HEADROOM
    for _ in range(MOST_LAYOUTS):
        for axes in all_axes:
            axes.set_ylim(0, highest * top)
        height, value, word = _heights(all_axes)
        taken = VALUE_GAP + value + words_above
        least = taken + max(LEAST_BAR_POINTS, word - value)
        require_height(drawing_of(all_axes), rows, least - height)
        needed = height / (height - taken)
        if needed <= top:
            return
        top = needed


def _heights(all_axes: Sequence[Axes]) -> tuple[float, float, float]:
    """Return how many points the lowest panel, the highest value, and the highest word have as laid out."""
    drawing = drawing_of(all_axes)
    lay_out(drawing)
    points = POINTS_PER_INCH / drawing.dpi
    texts = [text for axes in all_axes for text in axes.texts]
    values, words = (
        [text.get_window_extent().height for text in texts if text.get_gid() == kind]
        for kind in ("value", "missing")
    )
    panel = min(axes.bbox.height for axes in all_axes)
    return points * panel, points * max(values, default=0), points * max(words, default=0)


def bar_handle(look: SeriesStyle) -> Any:
    """Return a series' entry in the legend."""
    from matplotlib.patches import Patch

    return Patch(hatch=look.hatch, linewidth=0.4, **_colors(look))


def _colors(look: SeriesStyle) -> dict[str, Any]:
    """Return the colours of a bar's face and of its edge and hatch."""
    if look.is_published:
        return {"facecolor": "white", "edgecolor": look.color}
    return {"facecolor": look.color, "edgecolor": "white"}


def _slot_points(grid: PanelGrid, series: int, groups: int, width: float) -> float:
    """Return how many points one bar is wide."""
    panel_inches = (width - 0.55 * grid.columns) / grid.columns
    return panel_inches * POINTS_PER_INCH / groups * GROUP_SHARE / series


def _draw_bars(
    axes: Axes, bars: Sequence[Bar], places: Sequence[float], width: float, label: str, look: SeriesStyle
) -> None:
    measured = [(bar, place) for bar, place in zip(bars, places, strict=True) if not bar.word]
    axes.bar(
        [place for _, place in measured],
        [bar.value for bar, _ in measured],
        width,
        hatch=look.hatch,
        linewidth=0.4,
        label=label,
        **_colors(look),
    )
    known = [(bar, place) for bar, place in measured if bar.down or bar.up]
    if known:
        axes.errorbar(
            [place for _, place in known],
            [bar.value for bar, _ in known],
            yerr=[[bar.down for bar, _ in known], [bar.up for bar, _ in known]],
            linestyle="none",
            color="0.1",
            elinewidth=0.6,
            capsize=1.0,
            capthick=0.6,
        )


def _write_value(
    axes: Axes, bar: Bar, place: float, slot_points: float, upright: bool, look: SeriesStyle
) -> None:
    """Write the value above its bar, or the word, always upright, at the foot of its place."""
    is_upright = upright or bool(bar.word)
    size = LARGEST_VALUE_TEXT
    if is_upright:
        size = max(min(size, slot_points * 0.85), SMALLEST_VALUE_TEXT)
    axes.annotate(
        bar.text,
        (place, bar.value + bar.up),
        xytext=(0, VALUE_GAP),
        textcoords="offset points",
        rotation=90 if is_upright else 0,
        ha="center",
        va="bottom",
        fontsize=size,
        color="0.1" if not bar.word else "0.45" if bar.is_muted else text_color(look),
        fontstyle="italic" if bar.word else "normal",
        gid="missing" if bar.word else "value",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )
