"""The figure that docs/plugins.md shows: what its readers copy can be read as it stands."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from synthetic_results import example_manifest, make_result

from harness.reporting.captions import figure_caption
from harness.reporting.figures.base import Figure
from harness.reporting.frames import prepare
from harness.results.frame import results_frame

PAGE = Path(__file__).parents[3] / "docs" / "plugins.md"


@pytest.fixture(scope="module")
def figure() -> Figure:
    """The figure, from the page's own text."""
    texts = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (text,) = (text for text in texts if "(Figure)" in text)
    names: dict[str, Any] = {}
    exec(text, names)
    return names["BuildTimes"]()


def frame_of(count: int) -> pd.DataFrame:
    rows = [make_result(f"variant-{number}", build_s=0.5 + number) for number in range(count)]
    return prepare(results_frame(rows))


def drawing_of(figure: Figure, frame: pd.DataFrame, **settings: Any) -> Drawing:
    facts = figure_caption(frame, [example_manifest("", "sweep")], shows_rates=figure.shows_rates)
    caption = f"{figure.reading(None)} {facts} " + "Its devices have names of many words. " * 5
    return figure.draw(frame, figure.settings(**settings), caption)


@pytest.mark.parametrize("width", ["page", "column"])
@pytest.mark.parametrize("count", [1, 7])
def test_its_caption_is_whole_and_below_the_panel(figure: Figure, count: int, width: str) -> None:
    drawing = drawing_of(figure, frame_of(count), width=width)
    drawing.draw_without_rendering()
    (caption,) = [text for text in drawing.texts if text.get_gid() == "caption"]
    extent, (axes,) = caption.get_window_extent(), drawing.axes
    assert extent.x0 >= 0
    assert extent.x1 <= drawing.bbox.width
    assert extent.y0 >= 0
    tight = axes.get_tightbbox()
    assert tight is not None
    assert extent.y1 <= tight.y0


def test_it_heeds_the_settings_that_all_figures_have(figure: Figure) -> None:
    drawing = drawing_of(
        figure, frame_of(3), caption=False, variants=["variant-1"], names={"variant-1": "one"}
    )
    (axes,) = drawing.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one"]
    assert not any(text.get_text() for text in drawing.texts if text.get_gid() == "caption")
