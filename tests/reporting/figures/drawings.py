"""Drawing figures of rows, and what a drawing holds."""

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result

ORDER = ("flash", "torch", "unfused", "naive")


def frame_of(*results: Result) -> pd.DataFrame:
    return prepare(results_frame(results), ORDER)


def draw(figure: Figure, *results: Result, **settings: Any) -> Drawing:
    return draw_frame(figure, frame_of(*results), **settings)


def draw_frame(figure: Figure, frame: pd.DataFrame, **settings: Any) -> Drawing:
    return figure.draw(frame, parse_settings(figure, settings), "the caption")


def caption(drawing: Drawing) -> str:
    (text,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    return " ".join(text.split())


def words(axes: Axes, gid: str = "value") -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == gid]


def legend(drawing: Drawing) -> list[str]:
    return [text.get_text() for legend in drawing.legends for text in legend.get_texts()]


def headings(drawing: Drawing) -> list[str]:
    """Return what stands above panels."""
    return [axes.get_title() or axes.get_title(loc="left") for axes in drawing.axes if axes.get_visible()]


def points(axes: Axes, label: str) -> list[tuple[float, float]]:
    """Return the points of the line of a series."""
    (container,) = [entry for entry in axes.containers if entry.get_label() == label]
    line = container.lines[0]  # type: ignore[attr-defined]
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def lines(axes: Axes, gid: str) -> list[list[tuple[float, float]]]:
    """Return the points of the lines of one kind, or of one series."""
    chosen = [line for line in axes.lines if gid in (line.get_gid(), line.get_label())]
    pairs = [zip(line.get_xdata(), line.get_ydata(), strict=True) for line in chosen]  # type: ignore[arg-type]
    return [[(float(x), float(y)) for x, y in of_line] for of_line in pairs]


def heights(axes: Axes) -> list[float]:
    """Return the heights of bars; where a value is missing there is none."""
    return [float(patch.get_height()) for patch in axes.patches if patch.get_height()]  # type: ignore[attr-defined]


def widths(axes: Axes, part: str) -> list[float]:
    return [float(bar.get_width()) for bar in axes.patches if bar.get_gid() == part]  # type: ignore[attr-defined]


def error_bars(axes: Axes) -> list[list[float]]:
    """Return the ends of the error bars, from left to right."""
    drawn = [bars.lines[2] for bars in axes.containers if hasattr(bars, "has_yerr") and bars.lines[2]]
    ends = [sorted(map(float, segment[:, 1])) for (bars,) in drawn for segment in bars.get_segments()]
    return [pair for pair in ends if not math.isnan(pair[0])]
