"""Figures of a number of each series over a size, in panels: as lines or as groups of bars.

A figure says what its vertical axis is; placing rows, series, panels and words for what is missing are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from harness.reporting.captions import KIND
from harness.reporting.figures.base import Figure, FigureSettings, NothingToDraw, PanelColumn, choose_rows
from harness.reporting.figures.layout import (
    check_readable,
    new_drawing,
    panel_grid,
    panel_inches,
    write_log_ticks,
)
from harness.reporting.figures.places import along, x_label
from harness.reporting.figures.style import (
    POINTS_PER_INCH,
    STATUS_WORDS,
    SeriesStyle,
    bar_properties,
    marker_properties,
    paper_style,
    series_styles,
)
from harness.reporting.frames import format_value, labels_in, records
from harness.reporting.units import is_number, significant
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

VALUE, LOW, HIGH, WORD = "drawn_value", "drawn_low", "drawn_high", "drawn_word"
HEIGHT_OF_LINES, HEIGHT_OF_BARS = 2.4, 1.75
MOST_BARS_SIDE_BY_SIDE = 16
"""More bars than this in a panel, and panels are stacked instead of standing side by side."""
GROUP_SHARE = 0.86
"""Share of the distance between groups that its bars fill."""
LARGEST_TEXT, SMALLEST_TEXT = 7.0, 3.5
WORD_SIZE = 5.0
WORD_LINE = 0.055
"""Height of one line of words for missing points, as a share of a panel."""


class SizeSettings(FigureSettings):
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
    line: tuple[float, str] | None = None
    """A value that every panel has a line at, and its name."""
    as_bars: bool = False
    is_logarithmic: bool = False


@dataclass(frozen=True)
class Overlay:
    """The rows of a figure with rows of others among them."""

    rows: pd.DataFrame
    notes: Sequence[str] = ()
    styles: Mapping[str, SeriesStyle] | None = None


class SizeFigure(Figure):
    """A number of each series over a size; subclasses say which number."""

    settings: ClassVar[type[FigureSettings]] = SizeSettings
    leaves_out_empty: ClassVar[bool] = True
    """Whether a series without any value is named below instead of drawn."""

    @abstractmethod
    def scale(self, rows: pd.DataFrame, settings: Any) -> Scale:
        """Return the vertical axis of some rows."""

    def chosen(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the chosen rows, with the columns of the vertical axis."""
        return choose_rows(frame, settings)

    def word(self, row: Mapping[str, Any]) -> str:
        """Return what stands in the place of a row that has no number."""
        return STATUS_WORDS[Status(row["status"])]

    def facts(self, rows: pd.DataFrame, settings: Any) -> list[str]:
        """Return what the caption says of the numbers, sentences."""
        return []

    def overlay(self, rows: pd.DataFrame, settings: Any, x: str) -> Overlay:
        """Return the rows with what is drawn beside them."""
        return Overlay(rows)

    def held(self, rows: pd.DataFrame, scale: Scale) -> list[float]:
        """Return what the vertical scale holds besides values and intervals."""
        return []

    def add_to_panel(
        self, axes: Axes, rows: pd.DataFrame, x: str, scale: Scale, held: Sequence[float]
    ) -> None:
        """Draw what a panel has besides its series."""

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows of the series that are drawn."""
        return self.placed(frame, settings)[0]

    def placed(self, frame: pd.DataFrame, settings: Any) -> tuple[pd.DataFrame, str, list[str]]:
        """Return these rows, the column of the horizontal axis, and a sentence on the other series."""
        rows, x = along(self.chosen(frame, settings), settings.x)
        values = rows[self.scale(rows, settings).column]
        if not any(is_number(value) for value in values):
            raise NothingToDraw(f"no case that has {x}, which this is over, has such a number")
        if not self.leaves_out_empty:
            return rows, x, []
        has_value = rows["label"].isin(rows.loc[values.notna(), "label"])
        left_out = rows[~has_value].groupby("label", observed=True)["status"].unique()
        named = ", ".join(
            f"{settings.display(str(name))} ({', '.join(why)})" for name, why in left_out.items()
        )
        return rows[has_value], x, [f"Without any value, so not shown: {named}."] if named else []

    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        placed, x, left_out = self.placed(frame, settings)
        overlay = self.overlay(placed, settings, x)
        scale = self.scale(overlay.rows, settings)
        rows = self._with_values(overlay.rows, scale)
        styles = {**series_styles(frame), **(overlay.styles or {})}
        held = [*self.held(rows, scale), *([scale.line[0]] if scale.line else [])]
        columns = check_readable(rows, settings.panels, x)
        labels = labels_in(rows)
        is_crowded = scale.as_bars and len(labels) * rows[x].nunique() > MOST_BARS_SIDE_BY_SIDE
        grid = panel_grid(rows, columns, 1 if is_crowded else settings.panels_beside)
        missing = max(panel.frame.loc[panel.frame[WORD] != "", "label"].nunique() for panel in grid.panels)
        strip = 0.0 if scale.as_bars or not missing else (missing + 0.4) * WORD_LINE
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(
                grid,
                HEIGHT_OF_BARS if scale.as_bars else HEIGHT_OF_LINES,
                settings,
                caption,
                notes=[*self.facts(placed, settings), *overlay.notes, *left_out],
                legend=legend_of(styles, labels, settings, as_bars=scale.as_bars),
                labels=(x_label(rows, x), scale.label),
                shares_scale=KIND not in columns,
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                draw_series = _draw_bars if scale.as_bars else _draw_lines
                draw_series(axes, panel.frame, x, styles, panel_inches(grid, settings.inches))
                if scale.line is not None:
                    axes.axhline(scale.line[0], color="0.15", linewidth=0.7, gid=scale.line[1])
                self.add_to_panel(axes, panel.frame, x, scale, held)
                of_kind = rows if KIND not in columns else rows[rows[KIND] == panel.frame[KIND].iloc[0]]
                _set_scale(axes, of_kind, held, strip, scale)
                if strip:
                    _write_missing(axes, panel.frame, x, strip, styles)
        return drawing

    def _with_values(self, rows: pd.DataFrame, scale: Scale) -> pd.DataFrame:
        """Add what is drawn of each row: a number, the ends of its interval, or a word in its place."""
        values = rows[scale.column].astype(float) * scale.factor
        is_missing = ~values.map(is_number)
        values = values.mask(is_missing)
        drawn = rows.assign(**dict.fromkeys((VALUE, LOW, HIGH), values)).assign(**{WORD: ""})
        for end, column in zip((LOW, HIGH), scale.ends or (), strict=False):
            drawn[end] = (rows[column].astype(float) * scale.factor).fillna(values)
        drawn.loc[is_missing, WORD] = [self.word(row) for row in records(rows[is_missing])]
        return drawn


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
        settings.display(label): (
            Patch(**bar_properties(styles[label]))
            if as_bars
            else Line2D([], [], **marker_properties(styles[label]))
        )
        for label in labels
    }


def draw_line(
    axes: Axes, rows: pd.DataFrame, x: str, columns: Sequence[str], look: SeriesStyle, **more: Any
) -> None:
    """Draw a line with intervals; `columns` are those of the value and of the interval's ends."""
    has_interval = bool((rows[columns[1]] != rows[columns[2]]).any())
    axes.errorbar(
        rows[x].astype(float),
        rows[columns[0]],
        yerr=_distances(rows, *columns) if has_interval else None,
        **{**marker_properties(look), **more},
        capsize=1.8,
        elinewidth=0.8,
        label=str(rows["label"].iloc[0]),
    )


def _distances(rows: pd.DataFrame, value: str, low: str, high: str) -> list[Any]:
    """Return how far the ends of intervals are from the values, 0 where there is none."""
    down, up = rows[value] - rows[low], rows[high] - rows[value]
    return [down.clip(lower=0).fillna(0), up.clip(lower=0).fillna(0)]


def _draw_lines(
    axes: Axes, rows: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle], inches: float
) -> None:
    """Draw the line of each series of a panel, broken where a row has no number."""
    for label in labels_in(rows):
        of_series = rows[rows["label"] == label].sort_values(x)
        draw_line(axes, of_series, x, (VALUE, LOW, HIGH), styles[label])
    sizes = sorted(rows[x].unique())
    margin = (sizes[-1] / sizes[0]) ** 0.1 if len(sizes) > 1 else 2.0
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    texts = list(map(format_value, sizes))
    axes.set_xticks(sizes, texts)
    axes.set_xticks([], minor=True)
    if sum(len(text) + 1 for text in texts) * 0.07 > inches:
        axes.tick_params(axis="x", rotation=90, labelsize=SMALLEST_TEXT + 1)


def _draw_bars(
    axes: Axes, rows: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle], inches: float
) -> None:
    """Draw groups of bars, the value above each, or a word where a bar is missing."""
    groups, labels = sorted(rows[x].unique()), labels_in(rows)
    width = GROUP_SHARE / len(labels)
    slot = inches * POINTS_PER_INCH / len(groups) * width
    is_upright = slot < 0.62 * LARGEST_TEXT * 4
    size = max(min(LARGEST_TEXT, 0.85 * slot), SMALLEST_TEXT) if is_upright else LARGEST_TEXT
    for rank, label in enumerate(labels):
        of_series = rows[rows["label"] == label]
        places = of_series[x].map(groups.index) + (rank - (len(labels) - 1) / 2) * width
        present = of_series[of_series[WORD] == ""]
        has_interval = present[LOW] != present[HIGH]
        for drawn in (present[has_interval], present[~has_interval]):
            bars = axes.bar(
                places[drawn.index],
                drawn[VALUE],
                width,
                yerr=_distances(drawn, VALUE, LOW, HIGH) if has_interval[drawn.index].any() else None,
                error_kw={"elinewidth": 0.6, "capsize": 1.0, "capthick": 0.6, "ecolor": "0.1"},
                label=label,
                **bar_properties(styles[label]),
            )
            text_of = "{:g}".format if styles[label].is_published else significant
            axes.bar_label(
                bars,
                [text_of(value) for value in drawn[VALUE]],
                padding=2,
                fontsize=size,
                rotation=90 if is_upright else 0,
                gid="value",
                in_layout=False,
            )
        for row, place in zip(records(of_series), places, strict=True):
            if row[WORD]:
                _write(axes, row[WORD], (place, 0), (0, 2), rotation=90, ha="center", fontsize=size)
    axes.set_xticks(range(len(groups)), map(format_value, groups))
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.margins(y=0.4 if is_upright else 0.15)


def _set_scale(axes: Axes, rows: pd.DataFrame, held: Sequence[float], strip: float, scale: Scale) -> None:
    """Give a panel the vertical scale of all rows; its lowest share `strip` is for words."""
    ends = [float(end) for end in (*rows[[VALUE, LOW, HIGH]].to_numpy().ravel(), *held) if is_number(end)]
    if scale.is_logarithmic:
        low, high = min(end for end in ends if end > 0) / 1.5, max(ends) * 1.5
        axes.set_ylim(low / (high / low) ** (strip / (1 - strip)), high)
        axes.set_yscale("log")
        write_log_ticks(axes.yaxis, low, high)
    else:
        high = max(ends) * (1 + max(0.05, axes.get_ymargin() if scale.as_bars else 0.0))
        axes.set_ylim(-high * strip / (1 - strip), high)
        axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= high])
    axes.grid(axis="y")


def _write_missing(
    axes: Axes, rows: pd.DataFrame, x: str, strip: float, styles: Mapping[str, SeriesStyle]
) -> None:
    """Write marker and word of each missing point into a strip at the panel's foot, one line a series."""
    axes.axhspan(*_heights(axes, strip), color="0.95", linewidth=0, zorder=0)
    missing = rows[rows[WORD] != ""]
    across = axes.get_xaxis_transform()
    for line, label in enumerate(labels_in(missing)):
        height = strip - WORD_LINE * (line + 0.75)
        of_series = missing[missing["label"] == label]
        look = {**marker_properties(styles[label]), "linestyle": "none", "markersize": 3.2}
        axes.plot(of_series[x], [height] * len(of_series), transform=across, **look, gid="missing")
        for row in records(of_series):
            _write(axes, row[WORD], (row[x], height), (3, 0), xycoords=across, va="center_baseline")


def _heights(axes: Axes, strip: float) -> list[float]:
    """Return the values between which the lowest share of a panel lies."""
    low_to_top = axes.transData.inverted()
    return [float(low_to_top.transform(axes.transAxes.transform((0, share)))[1]) for share in (0, strip)]


def _write(axes: Axes, word: str, place: Any, offset: tuple[float, float], **more: Any) -> None:
    look = {"fontsize": WORD_SIZE, "fontstyle": "italic", "color": "0.25", "gid": "missing"}
    axes.annotate(word, place, xytext=offset, textcoords="offset points", in_layout=False, **{**look, **more})
