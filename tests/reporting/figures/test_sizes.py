"""Sizes of figures: what is too low is refused with a height that is drawn; low panels have room for all."""

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from rows_of_all_figures import KNOWN, drawable
from sweeps import sweep
from synthetic_results import make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, FigureSettings, TooLow, Unreadable, draw_figure
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status

WIDTHS = (3.4, 7.0)
VARIANTS = {"unfused": 1.0, "naive": 2.0, "flash": 3.0}
BARS = ("operations", "speedup", "throughput bars")
ROUNDING = 1e-6
"""Points that floating-point numbers may add to where a text ends."""


def rows() -> Iterator[Result]:
    """Yield rows of two panels that every figure can draw; in one of them a case failed."""
    for variant, factor in VARIANTS.items():
        for seq in (256, 512):
            for mask in ("full", "causal"):
                yield drawable(variant, seq, factor, mask=mask)
    yield make_result("flash", 1024, status=Status.UNSUPPORTED, mask="full", baseline="unfused")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return prepare(results_frame(list(rows())), tuple(VARIANTS))


def draw(frame: pd.DataFrame, name: str, **settings: Any) -> Drawing:
    name, _, style = name.partition(" ")
    figure, chosen = plugins.load("figure", name), {"style": style} if style else {}
    return draw_figure(figure, frame, parse_settings(figure, {**chosen, **settings}), "the caption")


def least_height(frame: pd.DataFrame, name: str, width: float, height: float) -> float:
    """Return the height that is told where one is refused."""
    told = rf"^size: {height:g} inches of height, at least \d+\.\d are needed$"
    with pytest.raises(TooLow, match=told) as refused:
        draw(frame, name, size=(width, height))
    return float(str(refused.value).split()[-3])


@pytest.mark.parametrize("width", sweep(WIDTHS, but=WIDTHS[:1]))
@pytest.mark.parametrize("name", [*plugins.names("figure"), "throughput bars"])
def test_a_size_that_is_refused_is_told_with_one_that_is_drawn(
    frame: pd.DataFrame, name: str, width: float
) -> None:
    least = least_height(frame, name, width, 1.0)
    draw(frame, name, size=(width, least))
    assert least_height(frame, name, width, round(least - 0.3, 1)) == least


class LowFigure(Figure):
    """Needs some inches of height, and says so only little by little."""

    name = "low"
    summary = "a figure for tests"

    def __init__(self, needed: float) -> None:
        self.needed = needed
        self.drawings = 0

    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        self.drawings += 1
        height = settings.size[1]
        if height < self.needed:
            raise TooLow(height, height + 0.01)
        return Drawing()


def test_the_least_height_is_found_in_few_drawings(frame: pd.DataFrame) -> None:
    figure = LowFigure(needed=9.0)
    with pytest.raises(TooLow, match=r"at least 9\.0 are needed"):
        draw_figure(figure, frame, FigureSettings(size=(6, 1)), "")
    assert figure.drawings < 20


def test_a_figure_that_no_height_is_enough_for_is_refused(frame: pd.DataFrame) -> None:
    figure = LowFigure(needed=float("inf"))
    with pytest.raises(Unreadable, match="no height up to 100 inches has room for it"):
        draw_figure(figure, frame, FigureSettings(size=(6, 1)), "")


def tops(axes: Axes, kind: str) -> list[float]:
    """Return how many points texts of a kind end above a panel."""
    boxes = [text.get_window_extent() for text in axes.texts if text.get_gid() == kind]
    return [float(box.y1 - axes.bbox.y1) for box in boxes]


@pytest.mark.parametrize("width", sweep(WIDTHS, but=WIDTHS[:1]))
@pytest.mark.parametrize("name", BARS)
def test_values_and_words_of_bars_stay_inside_panels_of_any_height(
    frame: pd.DataFrame, name: str, width: float
) -> None:
    least = least_height(frame, name, width, 1.0)
    for more in (0.0, 0.4, 1.1):
        drawing = draw(frame, name, size=(width, round(least + more, 1)))
        drawing.draw_without_rendering()
        for axes in drawing.axes:
            if axes.get_visible():
                assert max([*tops(axes, "value"), *tops(axes, "missing")]) <= ROUNDING


def of_panels(count: int) -> pd.DataFrame:
    """Return rows of so many panels."""
    fields = {**KNOWN, "time_s": 1e-3, "recompute_factor": 2.0, "error_ratio": 0.5}
    return prepare(
        results_frame(
            make_result(variant, seq, 8 * (number + 1), baseline_case="", speedup=2.0, **fields)
            for number in range(count)
            for variant in ("flash", "unfused")
            for seq in (256, 512)
        )
    )


IN_PANELS = ("bounds", "operations", "throughput", "throughput bars")


@pytest.mark.parametrize("name", IN_PANELS)
def test_panels_in_a_column_fit_into_a_page(name: str) -> None:
    drawing = draw(of_panels(8), name, width="column")
    assert len(drawing.axes) == 8
    assert drawing.get_figheight() <= 9


@pytest.mark.parametrize("name", sweep(IN_PANELS, but=IN_PANELS[:1]))
def test_more_panels_than_fit_into_a_column_are_refused_with_a_size_that_is_drawn(name: str) -> None:
    frame = of_panels(12)
    with pytest.raises(Unreadable, match=r"a column of a page has 9 inches of height") as refused:
        draw(frame, name, width="column")
    told = re.search(r"a size, \[3\.4, (\d+\.\d)\]", str(refused.value))
    assert told is not None
    draw(frame, name, size=(3.4, float(told[1])))
