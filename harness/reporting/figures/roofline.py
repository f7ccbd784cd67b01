"""Throughput over arithmetic intensity, below what the machine computes and reads at most.

After Williams, Waterman and Patterson, *Roofline: An insightful visual performance model*, 2009, with a slope
for each level of memory (Ilic, Pratas and Sousa, *Cache-aware Roofline model*, 2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    require_times,
)
from harness.reporting.figures.layout import (
    HEADING_SIZE,
    add_to_heading,
    check_readable,
    new_drawing,
    panel_grid,
    panel_inches,
    wrap,
    write_log_ticks,
)
from harness.reporting.figures.over_sizes import legend_of
from harness.reporting.figures.roofs import MEMORY, Roof, columns_of_roofs, roofs_of, with_roof_peaks
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
"""End of the horizontal scale left of the ridge of memory, so that its slope can be seen."""
LENGTHS = ("seq_q", "seq_kv", "batch")
"""Columns along which the points of a series are joined."""
NOTE = (
    "Arithmetic intensity: the problem's FLOPs over its least traffic, what is visible of the inputs read "
    "once and the outputs written once. Slopes: bandwidths of reading from each level of memory, solid that "
    "of memory itself. What lies above it is data that stays in a cache. Points of a problem are joined by "
    "growing length."
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
    reads = "Throughput: higher is better."

    def rows(self, frame: pd.DataFrame, settings: RooflineSettings) -> pd.DataFrame:
        """Return the timed rows that have an arithmetic intensity, each with the peak of its roof."""
        chosen = choose_rows(with_roof_peaks(frame), settings)
        shown = chosen.dropna(subset=["time_s", "tflops"])
        shown = shown[shown["intensity"].gt(0) & shown["intensity"].lt(float("inf"))]
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
            drawing, all_axes = new_drawing(
                grid,
                PANEL_HEIGHT,
                settings,
                caption,
                notes=[NOTE, *_doubts(shown, all_roofs)],
                legend=legend_of(styles, labels, settings),
                labels=("arithmetic intensity (FLOP/byte)", f"throughput ({scales.unit.symbol})"),
            )
            for panel, axes, of_panel in zip(grid.panels, all_axes, roofs, strict=True):
                _scale(axes, scales)
                names_device = panel.frame["device"].nunique(dropna=False) > 1
                for roof in of_panel:
                    words = _words(roof, scales, names_device=names_device)
                    add_to_heading(axes, wrap(words, panel_inches(grid, settings.inches), HEADING_SIZE))
                    _draw_roof(axes, roof, scales)
                _draw_points(axes, panel.frame, styles, scales.unit)
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


def _draw_roof(axes: Axes, roof: Roof, scales: _Scales) -> None:
    """Draw the peak and a slope for each level up to it; dashed is what a data sheet says.

    A slope that lies left of the panel or above it is left out.
    """
    factor = scales.unit.factor
    for level in roof.bandwidths:
        if not _is_in_sight(roof, level, scales):
            continue
        ridge = roof.ridge(level)
        end = scales.right if ridge is None else min(ridge, scales.right)
        axes.plot(
            [scales.left, end],
            [roof.reach(level, scales.left) * factor, roof.reach(level, end) * factor],
            color="0.15" if level == MEMORY else "0.55",
            linestyle="--" if not roof.is_measured else "-" if level == MEMORY else DOTTED,
            linewidth=1.0 if level == MEMORY else 0.7,
            gid="slope",
            zorder=1,
        )
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


def _words(roof: Roof, scales: _Scales, *, names_device: bool) -> str:
    """Return what a roof is, below its panel's heading."""
    words = [roof.words(level) for level in roof.bandwidths if _is_in_sight(roof, level, scales)]
    if roof.tflops is not None:
        words.insert(0, f"peak {significant(roof.tflops * scales.unit.factor)} {scales.unit.symbol}")
    owner = f" ({roof.device})" if names_device else ""
    return f"{'measured' if roof.is_measured else 'data sheet'} {', '.join(words)}{owner}"


def _is_in_sight(roof: Roof, level: str, scales: _Scales) -> bool:
    ridge = roof.ridge(level)
    is_left = ridge is not None and ridge <= scales.left
    return not is_left and roof.reach(level, scales.left) < scales.high


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
    devices = shown.groupby("device", sort=False)
    unknown = [str(device) for device, rows in devices if not roofs_of(rows)]
    sentences = []
    if stated:
        sentences.append(f"Dashed: nothing was measured, the data sheet says so ({', '.join(stated)}).")
    if unknown:
        sentences.append(f"Nothing measured what these can do at most: {', '.join(unknown)}.")
    return sentences
