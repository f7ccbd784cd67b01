"""Operations that forms execute beyond what is needed, and the axis of skew that figures share."""

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.operations import Operations
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status

PACKED = {1: "0,8,16", 4: "0,16,20,20", 32: "0,32,33"}
"""Starts of sequences by how many times the longest is as long as the shortest that is not empty."""


def frame_of(*results: Result) -> pd.DataFrame:
    return prepare(results_frame(results), ("unfused", "naive", "flash"))


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    figure = Operations()
    return figure.draw(frame, parse_settings(figure, settings), "the caption")


def heights(drawing: Drawing) -> dict[str, list[float]]:
    (axes,) = drawing.axes
    return {
        str(bars.get_label()): [float(bar.get_height()) for bar in bars]
        for bars in axes.containers
        if bars.get_label() in ("unfused", "naive", "flash", "padded")
    }


def words(drawing: Drawing) -> list[str]:
    (axes,) = drawing.axes
    return [text.get_text() for text in axes.texts if text.get_gid() == "missing"]


def test_bars_are_recompute_factors_whether_or_not_there_is_a_time() -> None:
    rows = [
        make_result("naive", seq, recompute_factor=factor, status=Status.EMULATED)
        for seq, factor in ((256, 3.0), (512, 5.0))
    ]
    drawing = draw(frame_of(*rows, make_result("flash", 256, time_s=1.0, recompute_factor=1.0)))
    assert heights(drawing) == {"naive": [3.0, 5.0], "flash": [1.0]}
    assert drawing.axes[0].get_ylabel() == "executed / needed\n(lower is better)"


def test_a_paper_decides_on_width_and_font() -> None:
    drawing = draw(frame_of(make_result("flash", 256, recompute_factor=1.0)), width="column", font="serif")
    assert drawing.get_figwidth() == 3.4
    assert drawing.axes[0].get_xticklabels()[0].get_fontfamily() == ["STIXGeneral", "DejaVu Sans"]


def test_what_is_not_counted_and_what_failed_have_words() -> None:
    rows = [
        make_result("unfused", time_s=1.0),
        make_result("naive", status=Status.WRONG, phase="check", reason="error", rerun="harness"),
        make_result("flash", recompute_factor=1.0),
    ]
    assert words(draw(frame_of(*rows))) == ["not counted", "wrong"]


def test_the_caption_says_what_is_counted_and_needed() -> None:
    drawing = draw(frame_of(make_result("flash", recompute_factor=1.0)))
    (caption,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    assert "Counted from the generated code, matrix products only; needed: visible pairs" in caption


def test_without_any_count_there_is_nothing_to_draw() -> None:
    with pytest.raises(NothingToDraw, match="no operations were counted"):
        draw(frame_of(make_result("flash", time_s=1.0)))


def test_a_figure_can_be_over_the_skew_of_packed_sequences() -> None:
    rows = [
        make_result(
            "padded", skew, mask="lengths", cu_seqlens_q=starts, cu_seqlens_kv=starts, recompute_factor=skew
        )
        for skew, starts in PACKED.items()
    ]
    (axes,) = draw(frame_of(*rows), x="skew").axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "4", "32"]
    assert axes.get_xlabel() == "longest sequence over shortest"


def test_rows_that_are_not_packed_have_no_skew() -> None:
    with pytest.raises(NothingToDraw, match="no row is of packed sequences"):
        draw(frame_of(make_result("flash", recompute_factor=1.0)), x="skew")
