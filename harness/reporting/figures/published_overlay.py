"""Published points over a throughput figure: hatched, with a legend of their own.

Where they are far above all that was measured, they have axes of their own above each panel, so that neither
is squeezed into nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from harness.reporting.figures import bars
from harness.reporting.figures.bars import Bar, bar_handle, draw_bar_panel
from harness.reporting.figures.base import FigureSettings
from harness.reporting.figures.layout import PanelGrid
from harness.reporting.figures.legend import plan_legend
from harness.reporting.figures.style import DOTTED, POINTS_PER_INCH, STATUS_WORDS, SeriesStyle, text_color
from harness.reporting.published.matching import (
    disagreements,
    matching,
    mixed_places,
    nothing_matches,
    other_conventions,
    sources,
)
from harness.reporting.published.points import PublishedPoint, check_words, published_points
from harness.reporting.units import TFLOPS, Unit
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FAR = 4.0
"""Published values above so many times the highest measurement have a scale of their own."""
OWN_AXES_INCHES = 1.15
"""Height of axes of their own."""
OWN_AXES_GAP = 0.09
"""Inches between them and the panel below."""
TITLE_PAD = 4.0
"""Points from axes to the heading above them."""
HEADROOM = 1.15
MARKER_AREA = 34.0
WORD_SIZE = 5.0
WORD_LINE = 6.0
"""Points from one word for a missing point to the next."""
LEGEND_TITLE = "published by others, not measured here"
NO_RATES = "published points are rates and are not overlaid on times"
MIXED = "No published point stands where one panel has several problems at one place, each of another run."
OWN_SCALE = "The scale above each panel is that of published points alone."

COLORS = ("#5f5f5f", "#8a5a83", "#8c6d31", "#3d7a80", "#a05050")
MARKERS = ("o", "s", "^", "D", "v", "p", "h")
HATCHES = ("//////", "\\\\\\\\\\\\", "xxxxxx", "......", "||||||", "------")


class PublishedSettings(FigureSettings):
    """What is overlaid on a figure of rates."""

    published: bool = False
    """Whether published points of the measured problems are overlaid."""
    published_devices: tuple[str, ...] | None = None
    """Of devices whose names contain one of these words; of all if not given."""
    published_implementations: tuple[str, ...] | None = None
    """Likewise of implementations."""

    @field_validator("published_devices")
    @classmethod
    def _known_devices(cls, words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        check_words("device", words or ())
        return words

    @field_validator("published_implementations")
    @classmethod
    def _known_implementations(cls, words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        check_words("implementation", words or ())
        return words

    def chosen_points(self) -> list[str]:
        """Return the names of the settings that choose among published points, of those that are given."""
        choices = {
            "published_devices": self.published_devices,
            "published_implementations": self.published_implementations,
        }
        return [name for name, words in choices.items() if words is not None]

    def points(self) -> list[PublishedPoint]:
        """Return the points that are wanted; none where none is overlaid."""
        if not self.published:
            return []
        return published_points(self.published_devices, self.published_implementations)


def overlay_notes(rows: pd.DataFrame, settings: PublishedSettings, *, is_time: bool) -> list[str]:
    """Return why no point is overlaid, or not on all rows, a line each."""
    if not settings.published:
        return [
            f"{name} has no effect without published = true or --published"
            for name in settings.chosen_points()
        ]
    points = settings.points()
    if not points:
        return ["no published point is of both these devices and these implementations"]
    if is_time:
        return [NO_RATES]
    refused = other_conventions(rows)
    lines = [] if refused is None else [refused]
    if not matching(rows, points, "seq_q") and not (refused and lines[0].startswith(f"{len(rows)} of")):
        lines.append(nothing_matches(rows, points))
    return lines


@dataclass(frozen=True)
class Overlay:
    """The published points of each panel, in the unit of their axes."""

    panels: tuple[Mapping[str, Sequence[Bar]], ...] = ()
    """Of each panel each series' points: a value at a place, or a word."""
    styles: Mapping[str, SeriesStyle] = field(default_factory=dict)
    """Of each series, in the legend's order."""
    notes: tuple[str, ...] = ()
    """Sentences for the caption."""
    is_far: bool = False
    """Whether the points have axes of their own."""

    @property
    def height_above(self) -> float:
        """How many inches it takes above each panel."""
        return OWN_AXES_INCHES + OWN_AXES_GAP if self.is_far else 0.0

    @property
    def highest(self) -> float:
        """The highest value."""
        bars = (bar for panel in self.panels for of_series in panel.values() for bar in of_series)
        return max((bar.value for bar in bars), default=0.0)

    def beside(self, panel: int, bars: Mapping[str, Sequence[Bar]]) -> dict[str, Sequence[Bar]]:
        """Return a panel's bars and those of its published points, where both have one scale."""
        return {**bars, **({} if self.is_far else self.panels[panel] if self.panels else {})}


def overlay_of(
    frames: Sequence[pd.DataFrame], settings: PublishedSettings, x: str, unit: Unit, highest_tflops: float
) -> Overlay:
    """Return the points of the problems of each panel's rows; `highest_tflops` is the highest measured rate.

    Of several rows at one place each point counts once; where they are of several problems, none is drawn.
    """
    points = settings.points()
    all_matches = [matching(frame, points, x) for frame in frames]
    mixed = [mixed_places(frame, x) for frame in frames]
    matches = [
        [(place, point) for place, point in of_panel if place not in places]
        for of_panel, places in zip(all_matches, mixed, strict=True)
    ]
    mixed_notes = [MIXED] if matches != all_matches else []
    found = list(dict.fromkeys(point for panel in matches for _, point in panel))
    if not found:
        return Overlay(notes=tuple(mixed_notes))
    is_far = max((point.tflops or 0.0 for point in found), default=0.0) > FAR * highest_tflops
    factor = TFLOPS.factor if is_far else unit.factor
    names = sorted({point.series for point in found})
    panels = tuple(
        {
            name: [_bar(place, point, factor) for place, point in panel if point.series == name]
            for name in names
            if any(point.series == name for _, point in panel)
        }
        for panel in matches
    )
    notes = [sources(found), *disagreements(found), *([OWN_SCALE] if is_far else []), *mixed_notes]
    return Overlay(panels, {name: _style(rank) for rank, name in enumerate(names)}, tuple(notes), is_far)


def _bar(place: Any, point: PublishedPoint, factor: float) -> Bar:
    if point.tflops is None:
        return Bar(place, word=STATUS_WORDS[Status.OUT_OF_MEMORY])
    return Bar(place, point.tflops * factor, exact=f"{point.tflops * factor:g}")


def _style(rank: int) -> SeriesStyle:
    return SeriesStyle(
        COLORS[rank % len(COLORS)],
        MARKERS[rank % len(MARKERS)],
        DOTTED,
        HATCHES[rank % len(HATCHES)],
        is_hollow=True,
        is_published=True,
    )


class PublishedLegend:
    """The legend of the published series, between panels and caption."""

    def __init__(self, overlay: Overlay, width: float) -> None:
        self._styles = overlay.styles
        self._plan = plan_legend(list(overlay.styles), LEGEND_TITLE, width) if overlay.styles else None

    @property
    def height(self) -> float:
        """In inches; 0 where nothing is overlaid."""
        return 0.0 if self._plan is None else self._plan.height

    def add(self, drawing: Drawing, *, as_bars: bool) -> None:
        """Put it below the panels, into the room that `new_drawing` left for it."""
        if self._plan is None:
            return
        handles = [bar_handle(look) if as_bars else _handle(look) for look in self._styles.values()]
        for handle, label in zip(handles, self._plan.labels, strict=True):
            handle.set_label(label)
        engine = drawing.get_layout_engine()
        top = engine.get()["rect"][1] if engine is not None else 0.0
        legend = drawing.legend(
            handles=handles,
            title=self._plan.title,
            title_fontsize=WORD_SIZE + 2,
            loc="upper center",
            bbox_to_anchor=(0.5, top),
            ncols=self._plan.columns,
            handlelength=3.0,
            borderaxespad=0.0,
        )
        legend.set_gid("published")
        legend.set_in_layout(False)


def draw_beside_lines(
    axes: Axes, points: Mapping[str, Sequence[Bar]], styles: Mapping[str, SeriesStyle]
) -> None:
    """Draw a panel's points on axes that have their scale."""
    missing: dict[Any, int] = {}
    for name, of_series in points.items():
        look = styles[name]
        known = sorted((bar.group, bar.value) for bar in of_series if not bar.word)
        places, values = [place for place, _ in known], [value for _, value in known]
        if len(set(places)) == len(places):
            axes.plot(places, values, color=look.color, linestyle=look.line, linewidth=0.8, gid="published")
        axes.scatter(places, values, label=name, gid="published", **_marker(look))
        for bar in of_series:
            if bar.word:
                line = missing[bar.group] = missing.get(bar.group, -1) + 1
                _write_word(axes, bar, line, look)


def draw_on_own_axes(
    all_axes: Sequence[Axes],
    grid: PanelGrid,
    overlay: Overlay,
    x: str,
    width: float,
    *,
    as_bars: bool,
) -> None:
    """Draw the points of every panel on axes above it, all of one scale, below its heading."""
    for panel, axes, points in zip(grid.panels, all_axes, overlay.panels, strict=True):
        ticks, labels = list(axes.get_xticks()), [label.get_text() for label in axes.get_xticklabels()]
        own = _axes_above(axes)
        if as_bars and points:
            groups = sorted(panel.frame[x].dropna().unique())
            draw_bar_panel(own, points, overlay.styles, grid, width, groups=groups)
            own.set_ylim(0, overlay.highest * bars.HEADROOM)
        else:
            draw_beside_lines(own, points, overlay.styles)
            own.set_ylim(0, overlay.highest * HEADROOM)
            own.grid(axis="y")
        axes.set_xticks(ticks, labels)
        axes.set_xticks([], minor=True)
        own.tick_params(axis="x", which="both", labelbottom=False, length=0)
        own.tick_params(axis="y", labelleft=panel.column == 0)
        if panel.column == 0:
            own.set_ylabel(f"published\n({TFLOPS.symbol})")
        if not points:
            _say_there_is_none(own)


def _axes_above(axes: Axes) -> Axes:
    """Return axes above a panel's, with its horizontal axis; the panel's heading makes room for them."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    drawing = axes.get_figure(root=True)
    if drawing is None:
        raise ValueError("expected axes of a figure")
    inches_above = drawing.dpi_scale_trans + ScaledTranslation(0, 1, axes.transAxes)  # type: ignore[arg-type]
    place = blended_transform_factory(axes.transAxes, inches_above)
    pad = TITLE_PAD + (OWN_AXES_GAP + OWN_AXES_INCHES) * POINTS_PER_INCH
    axes.set_title(axes.get_title(), pad=pad)
    return axes.inset_axes((0, OWN_AXES_GAP, 1, OWN_AXES_INCHES), transform=place, sharex=axes)


def _say_there_is_none(axes: Axes) -> None:
    axes.text(
        0.5,
        0.5,
        "none of these problems",
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=WORD_SIZE + 1,
        fontstyle="italic",
        color="0.45",
    )


def _marker(look: SeriesStyle) -> dict[str, Any]:
    return {
        "s": MARKER_AREA,
        "marker": look.marker,
        "facecolor": "white",
        "edgecolor": look.color,
        "hatch": look.hatch,
        "linewidths": 0.7,
        "zorder": 3,
    }


def _handle(look: SeriesStyle) -> Any:
    from matplotlib.figure import Figure as Drawing

    axes: Axes = Drawing().add_subplot()
    return axes.scatter([], [], **_marker(look))


def _write_word(axes: Axes, bar: Bar, line: int, look: SeriesStyle) -> None:
    """Write the word for a missing point at the foot of its place, one above the other."""
    axes.annotate(
        bar.word,
        (bar.group, 0),
        xytext=(0, 2 + line * WORD_LINE),
        textcoords="offset points",
        ha="center",
        fontsize=WORD_SIZE,
        fontstyle="italic",
        color=text_color(look),
        gid="published-missing",
    )
