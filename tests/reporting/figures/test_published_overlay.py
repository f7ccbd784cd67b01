"""Published points over the throughput figure: hatched, apart, and never among what was measured."""

from typing import Any

import pandas as pd
import pytest
from drawings import caption, draw_frame, legend, words
from drawings import points as points_of
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Drawing
from synthetic_results import WriteRun, make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.published_overlay import FAR, NO_RATES, OWN_SCALE
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import prepare
from harness.reporting.report import redraw
from harness.reporting.runs import read_runs
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.system.errors import InputError

NEAR, SLOW = 300.0, 0.1
"""TFLOP/s of a GPU, and of a processor."""


def results(tflops: float, **fields: Any) -> list[Result]:
    """Rows of the FlashAttention-3 paper's problems, of which one was out of memory without fusion."""
    rows = []
    for seq in (8192, 16384):
        shape = {
            "batch": 16384 // seq,
            "heads": 32,
            "kv_heads": 32,
            "dtype": "f16",
            "causal": False,
            **fields,
        }
        flops = 4 * 16384 * 32 * seq * 64
        rows.append(make_result("flash", seq, time_s=flops / tflops / 1e12, flops=flops, **shape))
    return rows


def frame_of(tflops: float, **fields: Any) -> pd.DataFrame:
    return prepare(results_frame(results(tflops, **fields)))


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    values = {"published": True, "published_devices": ("H100",), **settings}
    return draw_frame(Throughput(), frame, **values)


def lines(axes: Axes) -> dict[str, Any]:
    """Return the line of each series."""
    return {str(entry.get_label()): entry.lines[0] for entry in axes.containers}  # type: ignore[attr-defined]


def notes(frame: pd.DataFrame, **settings: Any) -> list[str]:
    figure = Throughput()
    return figure.notes(frame, parse_settings(figure, settings))


@pytest.mark.parametrize("style", ["lines", "bars"])
def test_near_points_share_the_measured_scale(style: str) -> None:
    (axes,) = draw(frame_of(NEAR), style=style).axes
    assert axes.get_ylim()[1] > 497


@pytest.mark.parametrize("style", ["lines", "bars"])
def test_far_points_have_panels_of_their_own(style: str) -> None:
    drawing = draw(frame_of(SLOW), style=style)
    measured, published = drawing.axes
    assert [axes.get_title() for axes in drawing.axes] == ["measured here", "published by others"]
    assert measured.get_ylim()[1] < FAR * SLOW
    assert published.get_ylim()[1] > 497
    assert measured.get_ylabel() == "throughput (TFLOP/s)"
    assert OWN_SCALE in caption(drawing)


def test_markers_are_hollow() -> None:
    (axes,) = draw(frame_of(NEAR)).axes
    published = {label: line for label, line in lines(axes).items() if "H100" in label}
    assert set(published) >= {
        "NVIDIA H100 SXM5, FlashAttention-3 (as of 2024-07)",
        "NVIDIA H100 SXM5, cuDNN (as of 2024-07)",
    }
    assert {line.get_markerfacecolor() for line in published.values()} == {"white"}
    assert lines(axes)["flash"].get_markerfacecolor() != "white"


def test_bars_are_white_and_hatched_unlike_measured_ones() -> None:
    (axes,) = draw(frame_of(NEAR), style="bars").axes
    looks = {
        container.get_label(): {(bool(bar.get_hatch()), to_hex(bar.get_facecolor())) for bar in container}
        for container in axes.containers
        if len(container)
    }
    assert looks.pop("flash") == {(False, "#0173b2")}
    assert set().union(*looks.values()) == {(True, "#ffffff")}
    assert len(looks) == 5


def test_points_stand_at_the_published_values() -> None:
    (axes,) = draw(frame_of(NEAR), published_implementations=("cudnn",)).axes
    published = points_of(axes, "NVIDIA H100 SXM5, cuDNN (as of 2024-07)")
    assert published == [(8192, 412), (16384, 413)]


@pytest.mark.parametrize("style", ["lines", "bars"])
@pytest.mark.parametrize("tflops", [NEAR, SLOW])
def test_memory_that_ran_out_is_said(style: str, tflops: float) -> None:
    shown = draw(frame_of(tflops), style=style).axes[-1]
    assert words(shown, "missing") == ["OOM"]


def test_the_caption_names_the_source() -> None:
    text = caption(draw(frame_of(NEAR)))
    assert "Hatched or hollow: published by others, not measured here; from FlashAttention-3 paper" in text


def test_nothing_is_overlaid_unasked() -> None:
    assert legend(draw(frame_of(NEAR), published=False)) == ["flash"]
    assert notes(frame_of(NEAR)) == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"dtype": "f32"}, "none of 262 published points is of a measured problem"),
        ({"flop_convention": "all pairs"}, "2 of 2 rows count FLOPs otherwise"),
    ],
)
def test_a_line_says_why_nothing_is_overlaid(fields: dict[str, Any], reason: str) -> None:
    frame = frame_of(NEAR, **fields)
    (line,) = notes(frame, published=True)
    assert line.startswith(reason)
    assert legend(draw(frame)) == ["flash"]


def test_rates_are_not_overlaid_on_times() -> None:
    assert notes(frame_of(NEAR), published=True, y="time") == [NO_RATES]
    assert legend(draw(frame_of(NEAR), y="time")) == ["flash"]


def test_a_device_that_nothing_was_published_of_is_refused() -> None:
    with pytest.raises(InputError, match=r'published_devices: found "h999", expected a part of one of'):
        draw(frame_of(NEAR), published_devices=("h999",))


def test_a_figure_without_rates_has_no_overlay(write_run: WriteRun) -> None:
    with pytest.raises(InputError, match="--published: found --figure speedup, expected a figure of rates"):
        redraw([write_run(results(NEAR))], ["speedup"], published=True)


def test_no_point_stands_beside_a_run_of_another_problem(write_run: WriteRun) -> None:
    folders = []
    for name, heads in (("few", 32), ("many", 64)):
        rows = results(NEAR, heads=heads, kv_heads=heads)
        folders.append(write_run([row.model_copy(update={"run": name}) for row in rows], name=name))
    drawing = draw(read_runs(folders).frame)
    has_points = {
        axes.get_title(): any("H100" in label for label in lines(axes)) for axes in drawing.axes if axes.lines
    }
    assert has_points == {"heads 32": True, "heads 64": False}
