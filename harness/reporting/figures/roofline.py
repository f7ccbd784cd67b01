"""Throughput over arithmetic intensity, below what the machine computes and reads at most.

After Williams, Waterman and Patterson, *Roofline: An insightful visual performance model*, 2009, with a slope
for each level of memory (Ilic, Pratas and Sousa, *Cache-aware Roofline model*, 2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    require_times,
)
from harness.reporting.figures.layout import check_readable, label_axes, new_drawing, panel_grid
from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.log_ticks import write_log_ticks
from harness.reporting.figures.roofs import (
    MEMORY,
    Roof,
    columns_of_roofs,
    intensities,
    roofs_of,
    with_roof_peaks,
    without_roof,
)
from harness.reporting.figures.size_lines import line_handle
from harness.reporting.figures.style import DOTTED, SeriesStyle, marker_properties, paper_style, series_styles
from harness.reporting.frames import PROBLEM_COLUMNS, labels_in, varying
from harness.reporting.units import Unit, rate_unit, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PANEL_HEIGHT = 2.9
ROOM = 1.7
"""Ends of both scales beyond points and peaks."""
ROOM_OF_SLOPE = 6.0
"""End of the horizontal scale left of the ridge of memory, so that its slope and its words can be seen."""
TEXT_SIZE = 5.5
HALF_A_LINE = 0.04
"""Half the height of words at a slope, and a little more, as a share of the vertical scale."""
LENGTHS = ("seq_q", "seq_kv", "batch")
"""Columns along which the points of a series are joined."""
NOTE = (
    "Arithmetic intensity: the problem's FLOPs over its least traffic, what is visible of the inputs read "
    "once and the outputs written once. Slopes: bandwidths of reading from each level of memory. What lies "
    "above that of memory is data that stays in a cache. Points of a problem are joined by growing length."
)


class RooflineSettings(FigureSettings):
    """`[figures] roofline = { … }`."""

    panels: tuple[PanelColumn, ...] = ("head_dim", "mask")
    """One panel for each combination of these; targets, threads and dtypes that vary are added, and options
    of targets that peaks vary with."""


@dataclass(frozen=True)
class _Scales:
    """The ends of the scales that all panels share; rates in TFLOP/s."""

    left: float
    right: float
    low: float
    high: float
    unit: Unit


class Roofline(Figure):
    """Points of each variant, below the measured peak and the measured bandwidths."""

    name = "roofline"
    summary = "throughput over arithmetic intensity, below the measured peak and bandwidths of memory"
    settings = RooflineSettings
    data_columns = ("intensity", "tflops", "peak_tflops", "bandwidth_gb_s.")
    is_usual = False

    def reading(self, settings: RooflineSettings) -> str:
        """See `Figure.reading`."""
        return "Throughput: higher is better."

    def rows(self, frame: pd.DataFrame, settings: RooflineSettings) -> pd.DataFrame:
        """Return the timed rows that have an arithmetic intensity, each with the peak of its roof."""
        chosen = choose_rows(with_roof_peaks(frame), settings)
        shown = intensities(chosen.dropna(subset=["time_s", "tflops"]))
        require_times(frame)
        if shown.empty:
            raise NothingToDraw("no case that variants and where leave was timed and has an intensity")
        return shown

    def draw(self, frame: pd.DataFrame, settings: RooflineSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown = self.rows(frame, settings)
        wanted = [*settings.panels, *columns_of_roofs(shown)]
        others = [name for name in PROBLEM_COLUMNS if name not in wanted]
        columns = check_readable(shown.drop(columns=others), wanted)
        grid = panel_grid(shown, columns, settings.panels_beside)
        labels, styles = labels_in(shown), series_styles(frame)
        roofs = [roofs_of(panel.frame) for panel in grid.panels]
        all_roofs = [roof for of_panel in roofs for roof in of_panel]
        scales = _scales(shown, all_roofs)
        with paper_style(settings.font):
            names = [settings.display(label) for label in labels]
            legend = plan_legend(names, settings.title, settings.inches)
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                caption if settings.caption else None,
                [NOTE, *_doubts(shown, all_roofs), *_without_words(all_roofs, scales)],
                size=settings.size,
                width=settings.inches,
                heading_height=legend.height,
            )
            for panel, axes, of_panel in zip(grid.panels, all_axes, roofs, strict=True):
                _scale(axes, scales)
                names_device = panel.frame["device"].nunique(dropna=False) > 1
                for roof in of_panel:
                    _draw_roof(axes, roof, scales, names_device=names_device)
                _draw_points(axes, panel.frame, styles, scales.unit)
            add_legend(drawing, legend, [line_handle(marker_properties(styles[label])) for label in labels])
            label_axes(
                all_axes, grid, "arithmetic intensity (FLOP/byte)", f"throughput ({scales.unit.symbol})"
            )
        return drawing


def _scales(shown: pd.DataFrame, roofs: Sequence[Roof]) -> _Scales:
    """Return scales that hold all points, all peaks and the ridges of memory."""
    peaks = [roof.tflops for roof in roofs if roof.tflops is not None]
    ridges = [ridge for roof in roofs if MEMORY in roof.bandwidths and (ridge := roof.ridge(MEMORY))]
    left = min([float(shown["intensity"].min()) / ROOM, *(ridge / ROOM_OF_SLOPE for ridge in ridges)])
    right = max([float(shown["intensity"].max()), *ridges]) * ROOM
    at_left = [roof.reach(MEMORY, left) for roof in roofs if MEMORY in roof.bandwidths]
    return _Scales(
        left=left,
        right=right,
        low=float(min([*shown["tflops"], *at_left])) / ROOM,
        high=float(max([*shown["tflops"], *peaks])) * ROOM,
        unit=rate_unit([*shown["tflops"], *peaks]),
    )


def _scale(axes: Axes, scales: _Scales) -> None:
    """Give both scales of a panel their ends and ticks that are written as numbers."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(scales.left, scales.right)
    low, high = scales.low * scales.unit.factor, scales.high * scales.unit.factor
    axes.set_ylim(low, high)
    write_log_ticks(axes.xaxis, scales.left, scales.right, base=2)
    write_log_ticks(axes.yaxis, low, high)
    axes.grid(axis="both")


def _draw_roof(axes: Axes, roof: Roof, scales: _Scales, *, names_device: bool) -> None:
    """Draw the peak and a slope for each level up to it; dashed is what a data sheet says.

    A slope that lies left of the panel or above it is left out.
    """
    owner = f" ({roof.device})" if names_device else ""
    factor = scales.unit.factor
    for level in roof.bandwidths:
        ridge = roof.ridge(level)
        end = scales.right if ridge is None else min(ridge, scales.right)
        if not _is_in_sight(roof, level, scales):
            continue
        axes.plot(
            [scales.left, end],
            [roof.reach(level, scales.left) * factor, roof.reach(level, end) * factor],
            color="0.15" if level == MEMORY else "0.55",
            linestyle=_line_style(roof, is_memory=level == MEMORY),
            linewidth=1.0 if level == MEMORY else 0.7,
            gid="slope",
            zorder=1,
        )
        _write_at_slope(axes, roof, level, scales, owner)
    if roof.tflops is not None:
        ridges = [ridge for level in roof.bandwidths if (ridge := roof.ridge(level)) is not None]
        axes.plot(
            [max(scales.left, min(ridges, default=scales.left)), scales.right],
            [roof.tflops * factor] * 2,
            color="0.15",
            linestyle="-" if roof.is_measured else "--",
            linewidth=1.0,
            gid="peak",
            zorder=1,
        )
        axes.annotate(
            f"{roof.source} peak {significant(roof.tflops * factor)} {scales.unit.symbol}{owner}",
            (1, roof.tflops * factor),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            fontsize=TEXT_SIZE,
            color="0.25",
            gid="peak",
        )


def _line_style(roof: Roof, *, is_memory: bool) -> Any:
    if not roof.is_measured:
        return "--"
    return "-" if is_memory else DOTTED


def _write_at_slope(axes: Axes, roof: Roof, level: str, scales: _Scales, owner: str) -> None:
    """Write what a slope is on it, where it enters the panel, if it has room below peak and upper end."""
    start = _start_of_words(roof, level, scales)
    if not _has_room_for_words(roof, level, scales):
        return
    words = _words(roof, level)
    axes.text(
        start,
        roof.reach(level, start) * scales.unit.factor,
        f"{words}{owner}",
        va="center",
        fontsize=TEXT_SIZE,
        color="0.25",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.4},
        gid="slope",
        zorder=2,
    )


def _is_in_sight(roof: Roof, level: str, scales: _Scales) -> bool:
    ridge = roof.ridge(level)
    is_left = ridge is not None and ridge <= scales.left
    return not is_left and roof.reach(level, scales.left) < scales.high


def _start_of_words(roof: Roof, level: str, scales: _Scales) -> float:
    """Return the intensity at which words of a slope begin."""
    enters = max(scales.left, scales.left * scales.low / roof.reach(level, scales.left))
    return float(enters * ROOM**0.15)


def _has_room_for_words(roof: Roof, level: str, scales: _Scales) -> bool:
    highest = scales.high / (scales.high / scales.low) ** HALF_A_LINE
    start = _start_of_words(roof, level, scales)
    return roof.reach(level, start) < min((roof.tflops or float("inf")) / ROOM, highest)


def _words(roof: Roof, level: str) -> str:
    return roof.words(level) if roof.is_measured else f"{roof.source}: {roof.words(level)}"


def _without_words(roofs: Sequence[Roof], scales: _Scales) -> list[str]:
    """Return a sentence on the slopes that are drawn and have no room for words beside them."""
    several = len({roof.device for roof in roofs}) > 1
    words = dict.fromkeys(
        f"{_words(roof, level)} ({roof.device})" if several else _words(roof, level)
        for roof in roofs
        for level in roof.bandwidths
        if _is_in_sight(roof, level, scales) and not _has_room_for_words(roof, level, scales)
    )
    return [f"Slopes without words beside them: {', '.join(words)}."] if words else []


def _draw_points(axes: Axes, frame: pd.DataFrame, styles: dict[str, SeriesStyle], unit: Unit) -> None:
    for label in labels_in(frame):
        for rows in _of_one_problem(frame[frame["label"] == label]):
            rows = rows.sort_values("intensity")
            properties = {**marker_properties(styles[label]), "linewidth": 0.6, "markersize": 4}
            axes.plot(rows["intensity"], rows["tflops"] * unit.factor, **properties, label=label, zorder=3)


def _of_one_problem(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the rows that differ in their lengths alone, those of as many queries as keys by themselves."""
    columns = [name for name in varying(rows, PROBLEM_COLUMNS) if name not in LENGTHS]
    is_square = (rows["seq_q"] == rows["seq_kv"]).rename("is_square")
    for _, members in rows.groupby([*columns, is_square], dropna=False, observed=True, sort=False):
        yield members


def _doubts(shown: pd.DataFrame, roofs: Sequence[Roof]) -> list[str]:
    """Return sentences on roofs that are not measured, or not there."""
    stated = sorted({roof.device for roof in roofs if not roof.is_measured})
    unknown = without_roof(shown)
    sentences = []
    if stated:
        sentences.append(f"Dashed: nothing was measured, the data sheet says so ({', '.join(stated)}).")
    if unknown:
        sentences.append(f"Nothing measured what these can do at most: {', '.join(unknown)}.")
    return sentences
