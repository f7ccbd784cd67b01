"""Published points over the throughput figure: hatched or hollow, and never among what was measured."""

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
from harness.reporting.figures.published_overlay import NONE_MATCHES
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import prepare
from harness.reporting.latex import plot_data
from harness.reporting.published.points import SOURCE
from harness.reporting.runs import read_runs
from harness.results.frame import results_frame
from harness.results.result import Result

NEAR, SLOW = 300.0, 0.1
"""TFLOP/s of a GPU, and of a processor."""


def results(tflops: float, **fields: Any) -> list[Result]:
    """Rows of the FlashAttention-3 paper's problems, of which one was out of memory without fusion."""
    rows = []
    for seq in (8192, 16384):
        problem = {"batch": 16384 // seq, "heads": 32, "kv_heads": 32, "dtype": "f16", **fields}
        flops = 4 * 16384 * 32 * seq * 64
        rows.append(make_result("flash", seq, time_s=flops / tflops / 1e12, flops=flops, **problem))
    return rows


def frame_of(tflops: float, **fields: Any) -> pd.DataFrame:
    return prepare(results_frame(results(tflops, **fields)))


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    values = {"published": True, "published_devices": ("H100",), **settings}
    return draw_frame(Throughput(), frame, **values)


def lines(axes: Axes) -> dict[str, Any]:
    """Return the line of each series."""
    return {str(entry.get_label()): entry.lines[0] for entry in axes.containers}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tflops", "style", "scale"),
    [
        (NEAR, "lines", "linear"),
        (SLOW, "lines", "log"),
        (SLOW / 1e5, "lines", "log"),
        (SLOW, "bars", "linear"),
    ],
)
def test_far_points_make_the_scale_logarithmic(tflops: float, style: str, scale: str) -> None:
    drawing = draw(frame_of(tflops), style=style)
    (axes,) = drawing.axes
    assert axes.get_yscale() == scale
    low, high = axes.get_ylim()
    assert high > 497
    assert 2 < sum(low <= tick <= high for tick in axes.get_yticks()) < 15
    assert "OOM" in words(axes, "value" if style == "bars" else "missing")
    assert "Hatched or hollow: published by others, not measured here; from FlashAttention-3" in caption(
        drawing
    )


def test_markers_are_hollow() -> None:
    (axes,) = draw(frame_of(NEAR)).axes
    published = {label: line for label, line in lines(axes).items() if "H100" in label}
    assert "NVIDIA H100 SXM5, FlashAttention-3" in published
    assert {line.get_markerfacecolor() for line in published.values()} == {"white"}
    assert lines(axes)["flash"].get_markerfacecolor() != "white"


def test_a_series_looks_the_same_whatever_stands_beside_it() -> None:
    alone, among = (
        lines(draw(frame_of(NEAR), published_implementations=words).axes[0]) for words in (("cudnn",), None)
    )
    name = "NVIDIA H100 SXM5, cuDNN"
    looks = {(of_series[name].get_color(), of_series[name].get_marker()) for of_series in (alone, among)}
    assert len(looks) == 1
    colors = [line.get_color() for line in among.values()]
    assert len(set(colors)) == len(colors) == 6


def test_the_table_of_numbers_has_the_points_with_their_source() -> None:
    settings = {"published": True, "published_devices": ("H100",), "published_implementations": ("cudnn",)}
    numbers = Throughput().numbers(frame_of(NEAR), parse_settings(Throughput(), settings))
    _, header, *rows = plot_data(numbers, Throughput.data_columns, "")
    assert SOURCE in header.split()
    of_others = [row for row in rows if "cuDNN" in row]
    assert [" 412 " in row for row in of_others] == [True, False]
    assert all("{FlashAttention-3 paper" in row for row in of_others)
    assert len(rows) == 2 + 2


def test_bars_are_white_and_hatched_unlike_measured_ones() -> None:
    (axes,) = draw(frame_of(NEAR), style="bars").axes
    looks = {
        container.get_label(): {(bool(bar.get_hatch()), to_hex(bar.get_facecolor())) for bar in container}
        for container in axes.containers
        if hasattr(container, "patches")
    }
    assert looks.pop("flash") == {(False, "#0173b2")}
    assert set().union(*looks.values()) == {(True, "#ffffff")}
    assert len(looks) == 5


@pytest.mark.parametrize("settings", [{"published": False}, {"y": "time"}])
def test_nothing_is_overlaid_unasked_or_on_times(settings: dict[str, Any]) -> None:
    assert legend(draw(frame_of(NEAR), **settings)) == ["flash"]


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


def test_a_point_of_another_problem_stands_at_its_length_and_has_its_own_numbers() -> None:
    prefill = [make_result("flash", seq, time_s=1.0, dtype="bf16", batch=8, heads=8) for seq in (2000, 2040)]
    decode = [make_result("flash", 1, seq_kv=keys, time_s=1.0, dtype="bf16", heads=8) for keys in (512, 2040)]
    frame, devices = prepare(results_frame(prefill + decode)), ("A100 40",)
    figure, settings = Throughput(), {"published": True, "published_devices": devices}
    of_others = [
        point
        for axes in draw(frame, published_devices=devices).axes
        for label in lines(axes)
        if "A100" in label
        for point in points_of(axes, label)
    ]
    assert {x for x, _ in of_others} == {2048}
    numbers = figure.numbers(frame, parse_settings(figure, settings))
    points = numbers[numbers[SOURCE].notna()]
    own = points[["dtype", "batch", "heads", "seq_q", "seq_kv"]].drop_duplicates().to_numpy().tolist()
    assert own == [["f16", 16, 8, 2048, 2048]]
    assert set(numbers.loc[numbers[SOURCE].isna(), "dtype"]) == {"bf16"}


def test_the_reason_for_no_point_is_a_true_one() -> None:
    decoding = prepare(results_frame([make_result("flash", 1, seq_kv=512, time_s=1.0, dtype="f16")]))
    reasons = {
        caption(draw(frame)).split(NONE_MATCHES)[1]
        for frame in (decoding, frame_of(NEAR, dtype="f32"), frame_of(NEAR, flop_convention="all pairs"))
    }
    assert len(reasons) == 3
    assert "queries" in caption(draw(decoding))
