"""Numbers of each series over a size, in panels: as lines or as groups of bars.

What is drawn are rows with the columns that `with_values` adds.  A row without a number has a word instead,
which stands at the foot of its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.figures.base import FigureSettings, PanelColumn
from harness.reporting.figures.layout import (
    KIND,
    PanelGrid,
    check_readable,
    new_drawing,
    panel_grid,
    panel_inches,
    write_log_ticks,
)
from harness.reporting.figures.places import x_label
from harness.reporting.figures.style import (
    POINTS_PER_INCH,
    STATUS_WORDS,
    SeriesStyle,
    bar_properties,
    marker_properties,
    paper_style,
    text_color,
)
from harness.reporting.frames import format_value, labels_in, records
from harness.reporting.units import is_number, significant
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

VALUE, LOW, HIGH, WORD = DRAWN = ("drawn_value", "drawn_low", "drawn_high", "drawn_word")
NO_MEASUREMENT = {**STATUS_WORDS, Status.PASSED: "not known"}
"""What stands where a value would be that is no time."""

HEIGHT_OF_LINES, HEIGHT_OF_BARS = 2.4, 1.75
MOST_BARS_SIDE_BY_SIDE = 16
"""More bars than this in a panel, and panels are stacked instead of standing side by side."""
GROUP_SHARE = 0.86
"""Share of the distance between groups that its bars fill."""
LARGEST_TEXT, SMALLEST_TEXT = 7.0, 3.5
WORD_SIZE = 5.0
WORD_LINE = 0.055
"""Height of one line of words for missing points, as a share of a panel."""
SIDE_MARGIN = 0.1
"""Free space left and right of the points, as a share of their extent."""


class SizeSettings(FigureSettings):
    """What figures over a size can be told."""

    x: Literal["seq", "seq_q", "seq_kv", "head_dim", "batch", "heads", "kv_heads", "threads", "skew"] = "seq"
    """Horizontal axis; `seq` is the longer of `seq_q` and `seq_kv`."""
    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; further columns that vary are added."""


def status_word(row: Mapping[str, Any]) -> str:
    """Return what stands in the place of a row that has no time."""
    return STATUS_WORDS[Status(row["status"])]


def with_values(
    rows: pd.DataFrame,
    values: Iterable[Any],
    low: Iterable[Any] | None = None,
    high: Iterable[Any] | None = None,
    word: Callable[[Mapping[str, Any]], str] = status_word,
) -> pd.DataFrame:
    """Add what is drawn of each row: a number, the ends of its interval, or a word in its place."""
    values = list(values)
    is_missing = [not is_number(value) for value in values]
    told = iter(records(rows[is_missing]))
    words = [word(next(told)) if missing else "" for missing in is_missing]
    columns = {VALUE: values, LOW: values if low is None else low, HIGH: values if high is None else high}
    numbers = {
        name: [float(value) if is_number(value) else math.nan for value in column]
        for name, column in columns.items()
    }
    drawn = rows.assign(**numbers, **{WORD: words})
    return drawn.assign(**{end: drawn[end].fillna(drawn[VALUE]) for end in (LOW, HIGH)})


def series_with(frame: pd.DataFrame, values: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Leave out series that have no value in a column anywhere, and return their statuses by label.

    An infinite value is one.
    """
    has_value = frame["label"].isin(frame.loc[frame[values].notna(), "label"])
    left_out = frame.loc[~has_value, ["label", "status"]].groupby("label", observed=True)["status"]
    return frame[has_value], {str(label): ", ".join(dict.fromkeys(rows)) for label, rows in left_out}


def draw_over_sizes(
    rows: pd.DataFrame,
    x: str,
    y_label: str,
    styles: Mapping[str, SeriesStyle],
    settings: SizeSettings,
    caption: str,
    notes: Sequence[str] = (),
    *,
    as_bars: bool = False,
    is_logarithmic: bool = False,
    held: Sequence[float] = (),
    line: tuple[float, str] | None = None,
    add_to_panel: Callable[[Axes, pd.DataFrame], None] | None = None,
) -> Drawing:
    """Draw the rows, which have the columns of `with_values`, over the column `x`.

    The vertical scale is that of all panels of one kind, and also holds the values `held`.  Every panel has
    the horizontal `line`, a value and its name; `add_to_panel` draws what else it has besides its series.
    """
    columns = check_readable(rows, settings.panels, x)
    labels, places = labels_in(rows), rows[x].nunique()
    is_crowded = as_bars and len(labels) * places > MOST_BARS_SIDE_BY_SIDE
    grid = panel_grid(rows, columns, 1 if is_crowded else settings.panels_beside)
    height = HEIGHT_OF_BARS if as_bars else HEIGHT_OF_LINES
    draw = _draw_bars if as_bars else _draw_lines
    held = held if line is None else [*held, line[0]]
    with paper_style(settings.font):
        drawing, all_axes = new_drawing(
            grid,
            height,
            settings,
            caption,
            notes=notes,
            legend={settings.display(label): _handle(styles[label], as_bars) for label in labels},
            labels=(x_label(rows, x), y_label),
            shares_scale=KIND not in columns,
        )
        strip = 0.0 if as_bars else _strip(grid)
        for panel, axes in zip(grid.panels, all_axes, strict=True):
            draw(axes, panel.frame, x, styles, panel_inches(grid, settings.inches))
            if line is not None:
                axes.axhline(line[0], color="0.15", linewidth=0.7, gid=line[1])
            if add_to_panel is not None:
                add_to_panel(axes, panel.frame)
            of_kind = rows if KIND not in columns else rows[rows[KIND] == panel.frame[KIND].iloc[0]]
            _scale(axes, of_kind, held, strip, is_logarithmic)
            if as_bars:
                axes.set_ylim(top=axes.get_ylim()[1] * (1.4 if _is_upright(axes) else 1.15))
            elif strip:
                _write_missing(axes, panel.frame, x, strip, styles)
    return drawing


def handles(
    styles: Mapping[str, SeriesStyle], labels: Sequence[str], settings: FigureSettings
) -> dict[str, Any]:
    """Return the entries of lines in a legend."""
    return {settings.display(label): _handle(styles[label], as_bars=False) for label in labels}


def _handle(look: SeriesStyle, as_bars: bool) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return Patch(**bar_properties(look)) if as_bars else Line2D([], [], **marker_properties(look))


def distances(rows: pd.DataFrame, value: str, low: str, high: str) -> list[Any]:
    """Return how far the ends of intervals are from the values, 0 where there is none."""
    down, up = rows[value] - rows[low], rows[high] - rows[value]
    return [down.clip(lower=0).fillna(0), up.clip(lower=0).fillna(0)]


def draw_series(
    axes: Axes, rows: pd.DataFrame, x: str, columns: Sequence[str], look: SeriesStyle, **more: Any
) -> None:
    """Draw a line with intervals; `columns` are those of the value and of the interval's ends."""
    is_interval = bool((rows[columns[1]] != rows[columns[2]]).any())
    axes.errorbar(
        rows[x].astype(float),
        rows[columns[0]],
        yerr=distances(rows, *columns) if is_interval else None,
        **{**marker_properties(look), **more},
        capsize=1.8,
        elinewidth=0.8,
        label=str(rows["label"].iloc[0]),
    )


def _draw_lines(
    axes: Axes, rows: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle], inches: float
) -> None:
    """Draw the line of each series of a panel, broken where a row has no number."""
    rows = rows[["label", x, *DRAWN]]
    for label in labels_in(rows):
        draw_series(axes, rows[rows["label"] == label].sort_values(x), x, (VALUE, LOW, HIGH), styles[label])
    sizes = sorted(rows[x].unique())
    margin = (sizes[-1] / sizes[0]) ** SIDE_MARGIN if len(sizes) > 1 else 2.0
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    axes.set_xticks(sizes, map(format_value, sizes))
    axes.set_xticks([], minor=True)
    gaps = [math.log(after / before) for before, after in itertools.pairwise(sizes)]
    room = inches * min(gaps, default=1.0) / math.log(sizes[-1] * margin**2 / sizes[0])
    if room < 0.07 * len(format_value(sizes[-1])):
        axes.tick_params(axis="x", rotation=90, labelsize=SMALLEST_TEXT + 1)


def _draw_bars(
    axes: Axes, rows: pd.DataFrame, x: str, styles: Mapping[str, SeriesStyle], inches: float
) -> None:
    """Draw groups of bars, the value above each, or a word where a bar is missing."""
    rows = rows[["label", x, *DRAWN]]
    groups, labels = sorted(rows[x].unique()), labels_in(rows)
    width = GROUP_SHARE / len(labels)
    slot = inches * POINTS_PER_INCH / len(groups) * width
    size = max(min(LARGEST_TEXT, 0.85 * slot), SMALLEST_TEXT)
    for rank, label in enumerate(labels):
        of_series = rows[rows["label"] == label]
        places = of_series[x].map(groups.index) + (rank - (len(labels) - 1) / 2) * width
        known = of_series[of_series[WORD] == ""]
        has_interval = known[LOW] != known[HIGH]
        is_upright = slot < 0.62 * LARGEST_TEXT * 4
        for of_kind in (known[has_interval], known[~has_interval]):
            bars = axes.bar(
                places[of_kind.index],
                of_kind[VALUE],
                width,
                yerr=distances(of_kind, VALUE, LOW, HIGH) if has_interval[of_kind.index].any() else None,
                error_kw={"elinewidth": 0.6, "capsize": 1.0, "capthick": 0.6, "ecolor": "0.1"},
                label=label,
                **bar_properties(styles[label]),
            )
            number = "{:g}".format if styles[label].is_published else significant
            axes.bar_label(
                bars,
                [number(value) for value in of_kind[VALUE]],
                padding=2,
                fontsize=size if is_upright else LARGEST_TEXT,
                rotation=90 if is_upright else 0,
                gid="value",
                in_layout=False,
            )
        for place, word in zip(places, of_series[WORD], strict=True):
            if word:
                text = axes.annotate(word, (place, 0), xytext=(0, 2), textcoords="offset points", rotation=90)
                text.set(ha="center", va="bottom", fontsize=size, fontstyle="italic", in_layout=False)
                text.set(color=text_color(styles[label]), gid="missing")
    axes.set_xticks(range(len(groups)), map(format_value, groups))
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)


def _is_upright(axes: Axes) -> bool:
    return any(text.get_rotation() for text in axes.texts)


def _strip(grid: PanelGrid) -> float:
    """Return the share of every panel's height that the words for missing points need, a line a series."""
    lines = max(panel.frame.loc[panel.frame[WORD] != "", "label"].nunique() for panel in grid.panels)
    return (lines + 0.4) * WORD_LINE if lines else 0.0


def _scale(axes: Axes, rows: pd.DataFrame, held: Sequence[float], strip: float, is_logarithmic: bool) -> None:
    """Give a panel the vertical scale of all rows; its lowest share `strip` is for words."""
    ends = [*rows[[VALUE, LOW, HIGH]].to_numpy().ravel(), *held]
    numbers = [float(end) for end in ends if is_number(end)]
    high = max(numbers) * (1.5 if is_logarithmic else 1.05)
    if is_logarithmic:
        low = min(number for number in numbers if number > 0) / 1.5
        axes.set_ylim(low / (high / low) ** (strip / (1 - strip)), high)
        axes.set_yscale("log")
        write_log_ticks(axes.yaxis, low, high)
    else:
        axes.set_ylim(-high * strip / (1 - strip), high)
        axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= high])
    axes.grid(axis="y")


def _write_missing(
    axes: Axes, rows: pd.DataFrame, x: str, strip: float, styles: Mapping[str, SeriesStyle]
) -> None:
    """Write marker and word of each missing point into a strip at the panel's foot, one line a series."""
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import offset_copy

    axes.add_patch(Rectangle((0, 0), 1, strip, transform=axes.transAxes, color="0.95", linewidth=0, zorder=0))
    missing = rows.loc[rows[WORD] != "", ["label", x, WORD]]
    left = offset_copy(axes.get_xaxis_transform(), axes.get_figure(root=True), x=-9, units="points")
    for line, label in enumerate(labels_in(missing)):
        height = strip - WORD_LINE * (line + 0.75)
        of_series = missing[missing["label"] == label]
        look = {**marker_properties(styles[label]), "linestyle": "none", "markersize": 3.2}
        axes.plot(of_series[x], [height] * len(of_series), transform=left, **look, gid="missing")
        for place, word in zip(of_series[x], of_series[WORD], strict=True):
            text = axes.annotate(
                word,
                (place, height),
                xycoords=axes.get_xaxis_transform(),
                xytext=(-5.5, 0),
                textcoords="offset points",
                va="center_baseline",
                fontsize=WORD_SIZE,
                color=text_color(styles[label]),
                gid="missing",
            )
            text.set_in_layout(False)
