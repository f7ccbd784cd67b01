"""The frame that all figures share: nothing is cut off, and logarithmic scales have numbers."""

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from rows_of_all_figures import drawable
from synthetic_results import make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import NothingToDraw, lay_out
from harness.reporting.figures.layout import write_log_ticks
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.status import Status

ROUNDING = 0.02
"""Inches that hinted letters may be wider than they are laid out."""
VARIANTS = {"unfused": 1.0, "naive": 2.0, "flash": 3.0}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Rows of two panels that every figure can draw; one of them failed."""
    rows = [
        drawable(variant, seq, factor, mask=mask)
        for variant, factor in VARIANTS.items()
        for seq in (256, 512)
        for mask in ("full", "causal")
    ]
    rows.append(make_result("flash", 1024, status=Status.UNSUPPORTED, mask="full", baseline="unfused"))
    return prepare(results_frame(rows), tuple(VARIANTS))


def draw(frame: pd.DataFrame, name: str, **settings: Any) -> Drawing:
    figure = plugins.load("figure", name)
    caption = "Machine, problem, code and date. " * 8
    drawing = figure.draw(frame, parse_settings(figure, settings), caption)
    lay_out(drawing)
    return drawing


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", ["page", "column"])
@pytest.mark.parametrize("name", plugins.names("figure"))
def test_nothing_is_cut_off_at_the_edges(frame: pd.DataFrame, name: str, width: str) -> None:
    names = {"flash": "a name that is a good deal longer than names of series are"}
    drawing = draw(frame, name, width=width, title="A title", names=names)
    box = drawing.get_tightbbox()
    inches = drawing.get_size_inches()
    assert min(box.x0, box.y0) >= -ROUNDING
    assert box.x1 <= inches[0] + ROUNDING
    assert box.y1 <= inches[1] + ROUNDING


@pytest.mark.parametrize("name", plugins.names("figure"))
def test_a_size_without_room_is_refused_with_one_that_has_it(frame: pd.DataFrame, name: str) -> None:
    with pytest.raises(NothingToDraw, match=r"size: 1 inches of height, at least \S+ are needed") as refused:
        draw(frame, name, size=(7, 1))
    least = float(str(refused.value).split()[-3])
    assert list(draw(frame, name, size=(7, least)).get_size_inches()) == [7, least]


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (1, 3), (0.02, 700), (1e-9, 1e9), (4.1, 4.2)])
@pytest.mark.parametrize("base", [2, 10])
def test_a_logarithmic_scale_has_two_numbers_at_least(low: float, high: float, base: int) -> None:
    axes = Drawing().add_subplot()
    axes.set_yscale("log", base=base)
    write_log_ticks(axes.yaxis, low, high, base)
    ticks = axes.get_yticks()
    assert len(ticks) > 1
    assert all(low <= tick <= high for tick in ticks)
    assert [float(label.get_text()) for label in axes.get_yticklabels()] == pytest.approx(
        list(ticks), rel=1e-5
    )
