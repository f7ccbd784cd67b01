"""The legend: everything it says lies inside the figure, and it takes no room from the panels."""

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from sweeps import sweep
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure
from harness.reporting.figures.legend import LONGEST_TEXT, plan_legend, text_width, wrap
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import prepare
from harness.results.frame import results_frame


def merged(name_length: int) -> pd.DataFrame:
    """Two experiments with names of this length, five series each."""
    rows = [
        make_result(
            "flash",
            seq,
            experiment=experiment.ljust(name_length, "e"),
            case=f"{experiment}{tile}{seq}",
            params={"tile_kv": tile},
            time_s=1.0,
            baseline="unfused",
            speedup=2.0,
        )
        for experiment in ("first_", "second_")
        for tile in (16, 32, 64, 128, 256)
        for seq in (256, 512)
    ]
    return prepare(results_frame(rows))


def draw(figure: Figure, frame: pd.DataFrame, **settings: Any) -> Drawing:
    drawing = figure.draw(frame, parse_settings(figure, settings), "the caption")
    drawing.draw_without_rendering()
    return drawing


@pytest.mark.parametrize("figure", [Throughput(), Speedup()], ids=lambda figure: figure.name)
@pytest.mark.parametrize("name_length", sweep([8, 30, 100], but=[30]))
def test_nothing_is_cut_off_at_the_edges(figure: Figure, name_length: int) -> None:
    drawing = draw(figure, merged(name_length), title="A title of many words " * 8)
    extent = drawing.legends[0].get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= drawing.bbox.width
    assert extent.y1 <= drawing.bbox.height


def test_a_high_legend_makes_the_figure_higher_not_the_panels_lower() -> None:
    low = draw(Throughput(), merged(8), variants=["flash tile_kv=16 (first_ee)"])
    high = draw(Throughput(), merged(60))
    heights = [drawing.axes[0].get_window_extent().height for drawing in (low, high)]
    assert heights[1] == pytest.approx(heights[0], rel=0.1)


def test_short_labels_stand_in_four_columns_and_long_ones_in_fewer() -> None:
    assert plan_legend(["flash", "naive", "torch", "iree", "unfused"], None).columns == 4
    long = [f"flash tile_kv={tile} (my_second_experiment)" for tile in (16, 32, 64)]
    assert plan_legend(long, None).columns == 2
    assert plan_legend(["flash"], None).columns == 1


def test_a_text_is_broken_at_spaces_and_a_long_word_anywhere() -> None:
    assert wrap("one two", 7, 1000) == "one two"
    assert wrap("one two three", 7, text_width("two three", 7)) == "one two\nthree"
    assert max(text_width(line, 7) for line in wrap("w" * 100, 7, 100).split("\n")) <= 100


def test_of_a_text_that_nobody_can_read_the_beginning_is_wrapped() -> None:
    lines = wrap("x" * 100_000, 7, 100).split("\n")
    assert len("".join(lines)) == LONGEST_TEXT
    assert lines[-1].endswith("…")
