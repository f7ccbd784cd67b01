"""Figures of a number of each series over a size, in panels: as lines or as groups of bars.

A figure says what its vertical axis is; placing rows, series, panels and words for what is missing are here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    not_shown,
)
from harness.reporting.figures.layout import Panel, check_readable, new_drawing, panel_grid, write_log_ticks
from harness.reporting.figures.places import EITHER_LENGTH, along, x_label
from harness.reporting.figures.series_settings import SeriesSettings
from harness.reporting.figures.style import (
    STATUS_WORDS,
    SeriesStyle,
    bar_properties,
    marker_properties,
    paper_style,
    series_styles,
)
from harness.reporting.frames import format_value, labels_in, records, shown_names
from harness.reporting.published.nearest import with_own_problems
from harness.reporting.units import is_number, significant
from harness.system.errors import InputError
from harness.system.plurals import counted
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

VALUE, LOW, HIGH, WORD = "drawn_value", "drawn_low", "drawn_high", "drawn_word"
HEIGHT_OF_LINES, HEIGHT_OF_BARS = 2.4, 1.75
MOST_BARS_SIDE_BY_SIDE = 16
"""More bars than this in a panel, and panels are stacked instead of standing side by side."""
MOST_LEVEL_VALUES, MOST_LEVEL_TICKS = 8, 8
"""More values, or lengths, than this in a panel, and they are written upwards."""
GROUP_SHARE = 0.86
"""Share of the distance between groups that its bars fill."""
SMALL_TEXT = 5.0
LONGEST_INTERVAL = 2.0
"""A linear scale ends at so many times its largest value; error bars that are longer are cut off."""
ALIKE = 5.0
"""Panels whose largest values differ by more than this factor have vertical scales of their own."""
WORD_LINE = 0.055
"""Height of one line of words for missing points, as a share of a panel."""
ROOM_OF_WORD = 0.08
"""Share of a panel's width that a word has right of the last place."""


class SizeSettings(SeriesSettings):
    """What figures over a size can be told."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads", "skew"] = "seq"
    """Horizontal axis; `seq` is the length that grows."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


@dataclass(frozen=True)
class Scale:
    """The vertical axis: a column of the rows, in a unit."""

    column: str
    label: str
    factor: float = 1.0
    ends: tuple[str, str] | None = None
    """Columns of the ends of the intervals."""
    symbol: str = ""
    line: tuple[float, str] | None = None
    """A value that every panel has a line at, and its name."""
    notes: tuple[str, ...] = ()
    as_bars: bool = False
    is_logarithmic: bool = False
    limits: tuple[float | None, float | None] = (None, None)


class SizeFigure(Figure):
    """A number of each series over a size; subclasses say which number."""

    settings: ClassVar[type[FigureSettings]] = SizeSettings
    measured_x: ClassVar[str | None] = None
    """A measured column that stands along the horizontal axis instead of the setting `x`."""
    not_in_panels: ClassVar[Sequence[str]] = ()
    """Columns that make no panels unless the settings name them."""
    joins_points: ClassVar[bool] = True
    word_of_passed: ClassVar[str] = "not known"
    """What stands in the place of a row that passed and has no number."""

    @abstractmethod
    def scale(self, rows: pd.DataFrame, settings: Any) -> Scale:
        """Return the vertical axis of some rows."""

    def chosen(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the chosen rows, with the columns of the vertical axis."""
        return choose_rows(frame, settings)

    def overlay(
        self, rows: pd.DataFrame, settings: Any, x: str
    ) -> tuple[pd.DataFrame, dict[str, SeriesStyle], list[str]]:
        """Return the rows with what is drawn beside them, the looks of that, and sentences on it."""
        return rows, {}, []

    def add_to_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale, rows: pd.DataFrame) -> None:
        """Draw what a panel has besides its series; `rows` are those of all panels on its vertical scale."""

    def finish_panel(self, axes: Axes, panel: pd.DataFrame, x: str, scale: Scale) -> None:
        """Draw and write what depends on the final ends of a panel's vertical scale."""

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows of the series that are drawn."""
        return self.placed(frame, settings)[0]

    def numbers(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows that are drawn, and what is drawn beside them."""
        rows, x = self.placed(frame, settings)
        return with_own_problems(self.overlay(rows, settings, x)[0])

    def placed(self, frame: pd.DataFrame, settings: Any) -> tuple[pd.DataFrame, str]:
        """Return these rows, and the column of the horizontal axis."""
        rows, x = along(self.chosen(frame, settings), self.measured_x or settings.x)
        has_value = rows[self.scale(rows, settings).column].map(is_number).astype(bool)
        if not has_value.any():
            raise NothingToDraw(f"no case that has {x}, which this is over, has such a number")
        return rows[rows["label"].isin(rows.loc[has_value, "label"])], x

    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        placed, x = self.placed(frame, settings)
        rows, looks, notes = self.overlay(placed, settings, x)
        scale = replace(self.scale(rows, settings), limits=settings.y_limits)
        rows, labels = self._with_values(rows, scale), labels_in(rows)
        styles = (
            settings.styled(series_styles(frame), [label for label in labels if label not in looks]) | looks
        )
        others = [name for name in self.not_in_panels if name not in settings.panels]
        columns = check_readable(rows.drop(columns=others), settings.panels, None if self.measured_x else x)
        is_crowded = scale.as_bars and len(labels) * rows[x].nunique() > MOST_BARS_SIDE_BY_SIDE
        grid = panel_grid(rows, columns, 1 if is_crowded else settings.panels_beside)
        missing = max(panel.frame.loc[panel.frame[WORD] != "", "label"].nunique() for panel in grid.panels)
        scales = _scale_numbers(grid.panels, scale, settings.sharey)
        on_scale = _rows_on_scales(grid.panels, scales)
        ends = _ends_of_long_intervals(on_scale, scale)
        room = 0.0 if scale.as_bars or not missing else WORD_LINE * (missing + 0.5)
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(
                grid,
                HEIGHT_OF_BARS if scale.as_bars else HEIGHT_OF_LINES,
                settings,
                caption,
                notes=[
                    *scale.notes,
                    *notes,
                    *_cut_off(rows, scale, [on_scale[number][HIGH] > end for number, end in ends.items()]),
                    *not_shown(self.chosen(frame, settings), placed, settings),
                ],
                legend=legend_of(styles, labels, settings, as_bars=scale.as_bars),
                labels=(x_label(rows, x), scale.label),
                scales=scales,
            )
            for panel, axes, number in zip(grid.panels, all_axes, scales, strict=True):
                draw_series = _draw_bars if scale.as_bars else self._draw_lines
                draw_series(axes, panel.frame, x, styles)
                if scale.line is not None:
                    axes.axhline(scale.line[0], color="0.15", linewidth=0.7, gid=scale.line[1])
                if x_label(rows, x) == EITHER_LENGTH:
                    axes.set_xlabel(x_label(panel.frame, x))
                self.add_to_panel(axes, panel.frame, x, scale, on_scale[number])
            _set_scales(all_axes, scales, scale, room, ends)
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                self.finish_panel(axes, panel.frame, x, scale)
        return drawing

    def _with_values(self, rows: pd.DataFrame, scale: Scale) -> pd.DataFrame:
        values = rows[scale.column].astype(float) * scale.factor
        values = values.where(values.map(is_number))
        low, high = scale.ends or (scale.column, scale.column)
        words = {**STATUS_WORDS, Status.PASSED: self.word_of_passed}
        rows = rows.assign(**{VALUE: values}).assign(**{WORD: ""})
        for end, column in ((LOW, low), (HIGH, high)):
            rows[end] = rows[column].astype(float) * scale.factor
        rows.loc[values.isna(), WORD] = rows["status"].astype(object).map(words)
        return rows

    def _draw_lines(self, axes: Axes, rows: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle]) -> None:
        for label in labels_in(rows):
            of_series = rows[rows["label"] == label].sort_values(x)
            look = marker_properties(styles[label]) | ({} if self.joins_points else {"linestyle": ""})
            axes.errorbar(
                of_series[x].astype(float),
                of_series[VALUE],
                yerr=_distances(of_series),
                **look,
                capsize=1.8,
                elinewidth=0.8,
                label=label,
            )
        axes.margins(x=0.1)
        if self.measured_x:
            axes.set_xscale("log")
            write_log_ticks(axes.xaxis)
        else:
            _name_sizes(axes, sorted(rows[x].unique()))
            _write_missing(axes, rows[rows[WORD] != ""], x, styles)


def legend_of(
    styles: Mapping[str, SeriesStyle],
    labels: Sequence[str],
    settings: FigureSettings,
    *,
    as_bars: bool = False,
) -> dict[str, Any]:
    """Return the entries of series in a legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return {
        name: (
            Patch(**bar_properties(styles[label]))
            if as_bars
            else Line2D([], [], **marker_properties(styles[label]))
        )
        for label, name in shown_names(labels, settings.names).items()
    }


def _distances(rows: pd.DataFrame) -> list[Any]:
    has_interval = rows[LOW] < rows[HIGH]
    down, up = rows[VALUE] - rows[LOW], rows[HIGH] - rows[VALUE]
    return [distance.clip(lower=0).where(has_interval) for distance in (down, up)]


def _name_sizes(axes: Axes, sizes: Sequence[Any]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, map(format_value, sizes))
    axes.set_xticks([], minor=True)
    if len(sizes) > MOST_LEVEL_TICKS:
        axes.tick_params(axis="x", rotation=90, labelsize=SMALL_TEXT)


def _write_missing(axes: Axes, missing: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle]) -> None:
    """Write marker and word of each missing point at the foot of a panel, one line a series."""
    if (missing[x] == axes.get_xticks()[-1]).any():
        first, last = axes.get_xlim()
        axes.set_xlim(first, last * (last / first) ** ROOM_OF_WORD)
    across = axes.get_xaxis_transform()
    for line, label in enumerate(labels_in(missing)):
        of_series, height = missing[missing["label"] == label], WORD_LINE * (line + 0.75)
        look = {**marker_properties(styles[label]), "linestyle": "none", "markersize": 3.2}
        axes.plot(of_series[x], [height] * len(of_series), transform=across, **look, gid="missing")
        for row in records(of_series):
            place: dict[str, Any] = {"xycoords": across, "xytext": (3, 0), "textcoords": "offset points"}
            words = axes.annotate(row[WORD], (row[x], height), **place, gid="missing", in_layout=False)
            words.set(va="center_baseline", fontsize=SMALL_TEXT, fontstyle="italic")


def _draw_bars(axes: Axes, rows: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle]) -> None:
    """Draw groups of bars, the value above each, or a word where a bar is missing."""
    from matplotlib.patheffects import withStroke

    groups, labels = sorted(rows[x].unique()), labels_in(rows)
    width = GROUP_SHARE / len(labels)
    is_upright = len(groups) * len(labels) > MOST_LEVEL_VALUES
    for rank, label in enumerate(labels):
        of_series = rows[rows["label"] == label]
        bars = axes.bar(
            of_series[x].map(groups.index) + (rank - (len(labels) - 1) / 2) * width,
            of_series[VALUE].fillna(0),
            width,
            yerr=_distances(of_series),
            **bar_properties(styles[label]),
            error_kw={"elinewidth": 0.7, "capsize": 1.5},
            label=label,
        )
        texts = [row[WORD] or significant(row[VALUE]) for row in records(of_series)]
        look: dict[str, Any] = {"rotation": 90 if is_upright else 0, "fontsize": SMALL_TEXT}
        look["path_effects"] = [withStroke(linewidth=3, foreground="white")]  # over lines and error bars
        axes.bar_label(bars, texts, padding=2, gid="value", in_layout=False, **look)
    axes.set_xticks(range(len(groups)), map(format_value, groups))
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.margins(y=0.4 if is_upright else 0.15)


def _scale_numbers(panels: Sequence[Panel], scale: Scale, sharey: str | bool) -> list[int]:
    """Return the number of each panel's vertical scale: panels whose largest values are alike share one."""
    if sharey is False:
        return list(range(len(panels)))
    if sharey is True or scale.is_logarithmic or None not in scale.limits:
        return [0] * len(panels)
    line = 0.0 if scale.line is None else scale.line[0]
    largest = [max(line, panel.frame[VALUE].fillna(0).max()) for panel in panels]
    numbers, tops = [0] * len(panels), [max(largest)]
    for place in sorted(range(len(panels)), key=lambda place: -largest[place]):
        if 0 < largest[place] < tops[-1] / ALIKE:
            tops.append(largest[place])
        numbers[place] = len(tops) - 1
    return numbers


def _rows_on_scales(panels: Sequence[Panel], scales: Sequence[int]) -> dict[int, pd.DataFrame]:
    import pandas as pd

    frames = [(number, panel.frame) for number, panel in zip(scales, panels, strict=True)]
    return {
        number: pd.concat([frame for other, frame in frames if other == number]) for number in set(scales)
    }


def _ends_of_long_intervals(on_scale: Mapping[int, pd.DataFrame], scale: Scale) -> dict[int, float]:
    """Return where the scales end that some error bars would make too large for all values."""
    if scale.is_logarithmic or scale.limits[1] is not None:
        return {}
    line = 0.0 if scale.line is None else scale.line[0]
    ends = {number: LONGEST_INTERVAL * max(line, rows[VALUE].max()) for number, rows in on_scale.items()}
    return {number: end for number, end in ends.items() if on_scale[number][HIGH].max() > end}


def _set_scales(
    all_axes: Sequence[Axes], scales: Sequence[int], scale: Scale, room: float, ends: Mapping[int, float]
) -> None:
    """Finish the vertical scales of panels, with room at their foot for words: a share of it."""
    for axes in all_axes:
        axes.grid(axis="y")
        if scale.is_logarithmic:
            axes.set_yscale("log", nonpositive="mask")
    for number, axes in dict(zip(reversed(scales), reversed(all_axes), strict=True)).items():
        low, high = axes.get_ylim()
        low = _end(scale.limits[0], low if scale.is_logarithmic else 0.0)
        if number in ends:  # values stand above bars
            high = ends[number] * (1 + scale.as_bars * _margin(axes))
        high = _end(scale.limits[1], high)
        if scale.limits != (None, None) and not (low < high and (low > 0 or not scale.is_logarithmic)):
            above = " and above 0, since the axis is logarithmic" * scale.is_logarithmic
            raise InputError(
                f"y_limits: found {low:g} and {high:g}, expected the first below the second{above}"
            )
        if scale.is_logarithmic:
            axes.set_ylim(low / (high / low) ** room, high)
        else:
            axes.set_ylim(low, high)
            axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= high])
            axes.set_ylim(low - (high - low) * room, high)
    for axes in all_axes if scale.is_logarithmic else ():
        write_log_ticks(axes.yaxis)
    for number, axes in zip(scales, all_axes, strict=True):
        if number in ends or scale.limits != (None, None):
            _keep_values_inside(axes)


def _end(wanted: float | None, usual: float) -> float:
    return usual if wanted is None else wanted


def _margin(axes: Axes) -> float:
    """Return the room above values, as a share of their range."""
    return float((axes.margins() or (0, 0))[1])


def _keep_values_inside(axes: Axes) -> None:
    """Write the values of bars that are cut off at the end of the scale, on white."""
    from matplotlib.text import Annotation

    low, high = axes.get_ylim()
    highest = high - (high - low) * (1 - 1 / (1 + _margin(axes)))
    for text in axes.texts:
        if isinstance(text, Annotation) and text.get_gid() == "value" and not low <= text.xy[1] <= highest:
            is_above = text.xy[1] > highest
            text.xy = (text.xy[0], high if is_above else low)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
            if is_above:
                text.set(va="top")
                text.xyann = (0, -4)


def _cut_off(rows: pd.DataFrame, scale: Scale, too_long: Sequence[pd.Series[bool]]) -> list[str]:
    values, (low, high) = rows[VALUE], scale.limits
    is_outside = values < _end(low, -math.inf)
    is_outside |= values > _end(high, math.inf)
    counts = {
        f"{is_outside.sum()} of {len(rows)} values": is_outside.any(),
        counted(sum(int(bars.sum()) for bars in too_long), "error bar"): too_long,
    }
    return [f"Cut off at the limits of the axis: {words}." for words, is_so in counts.items() if is_so]
