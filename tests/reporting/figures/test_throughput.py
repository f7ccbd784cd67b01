"""Throughput over lengths, with peaks, gaps and panels."""

import math
from typing import Any

import pandas as pd
import pytest
from drawings import caption, draw_frame, error_bars, frame_of, heights, legend, lines, points, words
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.reporting.figures.throughput import Throughput
from harness.system.status import Status


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    return draw_frame(Throughput(), frame, **settings)


def peak_lines(axes: Axes) -> list[float]:
    return [first[1] for first, _ in lines(axes, "peak")]


@pytest.fixture(scope="module")
def drawn(sweep: pd.DataFrame) -> Drawing:
    """The realistic sweep, drawn once."""
    return draw(sweep)


@pytest.mark.parametrize(
    ("y", "value", "label"),
    [
        ("gflops", 2000.0, "throughput (GFLOP/s)"),
        ("tflops", 2.0, "throughput (TFLOP/s)"),
        ("auto", 2.0, "throughput (TFLOP/s)"),
        ("time", 4.0, "time (ms)"),
    ],
)
def test_the_vertical_axis_can_be_chosen(y: str, value: float, label: str) -> None:
    (axes,) = draw(frame_of(make_result("flash", time_s=0.004, tflops=2.0)), y=y).axes
    assert points(axes, "flash") == [(256, pytest.approx(value))]
    assert axes.get_ylabel() == label


def test_error_bars_reach_the_ends_of_the_interval() -> None:
    row = make_result("flash", time_s=0.010, time_low_s=0.008, time_high_s=0.0125, tflops=0.1)
    (axes,) = draw(frame_of(row)).axes
    assert error_bars(axes) == [pytest.approx([80.0, 125.0])]


@pytest.mark.parametrize("style", ["lines", "bars"])
def test_one_long_error_bar_stretches_no_axis(style: str) -> None:
    rows = [
        make_result("flash", seq, time_s=0.010, time_low_s=low, time_high_s=0.011, tflops=0.1)
        for seq, low in ((256, 0.001), (512, 0.009))
    ]
    drawing = draw(frame_of(*rows), style=style)
    (axes,) = drawing.axes
    top = axes.get_ylim()[1]
    assert 200 <= top < 250
    assert "Cut off at the limits of the axis: 1 error bar." in caption(drawing)
    assert all(text.xy[1] <= top for text in axes.texts)  # type: ignore[attr-defined]


@pytest.mark.parametrize("sharey", [True, False, "auto"])
@pytest.mark.parametrize(("peak", "is_in_sight"), [(0.178, True), (0.3, False)])
def test_what_is_said_of_a_peak_is_true_of_the_axis(sharey: Any, peak: float, is_in_sight: bool) -> None:
    rows = [
        make_result(mask=mask, case=mask, time_s=0.010, time_low_s=0.0052, tflops=0.1, peak_tflops=peak)
        for mask in ("full", "causal")
    ]
    drawing = draw(frame_of(*(row.model_copy(update={"time_high_s": 0.02}) for row in rows)), sharey=sharey)
    for axes in drawing.axes:
        assert (axes.get_ylim()[1] > 1e3 * peak) == is_in_sight == bool(peak_lines(axes))
        assert ("above this scale" in axes.get_title()) != is_in_sight


PEAKS = (("monday", 0.1), ("tuesday", 0.12))


def said_of_peaks(axes: Axes) -> list[str]:
    """Return the lines on peaks below a panel's heading."""
    return [line for line in axes.get_title().split("\n") if "peak" in line]


def test_of_several_peaks_of_a_device_the_best_is_drawn() -> None:
    rows = [make_result(run=run, time_s=1.0, tflops=0.09, peak_tflops=peak) for run, peak in PEAKS]
    rows.append(make_result(time_s=1.0, tflops=0.09, peak_tflops=0.13, device="Other CPU", case="other"))
    (axes,) = draw(frame_of(*rows)).axes
    assert peak_lines(axes) == pytest.approx([120, 130])
    assert said_of_peaks(axes) == [
        "dotted: measured peak 120 GFLOP/s (Example CPU)",
        "dotted: measured peak 130 GFLOP/s (Other CPU)",
    ]


@pytest.mark.parametrize(
    ("status", "word"),
    [(Status.OUT_OF_MEMORY, "OOM"), (Status.PASSED, "not timed"), (Status.UNSUPPORTED, "unsupp.")],
)
def test_a_missing_point_breaks_the_line_and_says_why(status: Status, word: str) -> None:
    rows = [make_result("flash", seq, time_s=1.0, tflops=0.1) for seq in (256, 1024)]
    rows.append(make_result("flash", 512, status=status))
    (axes,) = draw(frame_of(*rows)).axes
    assert points(axes, "flash") == [(256, 100), (512, pytest.approx(math.nan, nan_ok=True)), (1024, 100)]
    assert words(axes, "missing") == [word]
    assert axes.get_ylim()[0] < 0
    assert min(axes.get_yticks()) == 0


@pytest.mark.parametrize(
    ("values", "headings"),
    [
        ({"dtype": ("f32", "f16")}, ["f32", "f16"]),
        ({"kv_heads": (2, 1)}, ["kv heads 1", "kv heads 2"]),
        ({"softcap": (None, 30.0)}, ["softcap none", "softcap 30"]),
        ({"scale": (0.25, 0.5)}, ["scale 0.25", "scale 0.5"]),
        ({"head_dim_v": (64, 32)}, ["head dim v 32", "head dim v 64"]),
        ({"bias": (False, True)}, ["bias no", "bias yes"]),
    ],
)
@pytest.mark.parametrize("variants", [("flash", "torch"), ("flash", "flash")])
def test_series_of_different_problems_at_one_place_are_not_in_one_panel(
    values: dict[str, tuple[Any, Any]], headings: list[str], variants: tuple[str, str]
) -> None:
    ((column, pair),) = values.items()
    rows = [
        make_result(variant, case=f"{variant}{value}", time_s=1.0, **{column: value})
        for variant, value in zip(variants, pair, strict=True)
    ]
    drawing = draw(frame_of(*rows))
    assert [axes.get_title() for axes in drawing.axes] == headings
    assert [len(axes.containers) for axes in drawing.axes] == [1, 1]


def test_a_subset_of_variants_keeps_its_colours(sweep: pd.DataFrame, drawn: Drawing) -> None:
    def colour(drawing: Drawing, label: str) -> Any:
        (line,) = [entry for entry in drawing.legends[0].get_lines() if entry.get_label() == label]
        return line.get_color()

    subset = draw(sweep, variants=["torch", "naive tile_kv=128"])
    assert legend(subset) == ["naive tile_kv=128", "torch"]
    assert colour(subset, "naive tile_kv=128") == colour(drawn, "naive tile_kv=128")


def test_bars_carry_their_values_and_the_words_of_what_is_missing() -> None:
    rows = [
        make_result("flash", 256, time_s=1.0, tflops=0.2),
        make_result("torch", 256, time_s=1.0, tflops=0.1),
        make_result("flash", 512, status=Status.TIMED_OUT),
        make_result("torch", 512, time_s=1.0, tflops=0.15, time_low_s=0.9, time_high_s=1.2),
    ]
    (axes,) = draw(frame_of(*rows), style="bars").axes
    assert words(axes) == ["200", "timeout", "100", "150"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["256", "512"]
    assert axes.get_ylabel() == "throughput (GFLOP/s)"
    assert heights(axes) == pytest.approx([200, 100, 150])


def test_bars_of_times_stand_on_zero() -> None:
    rows = [make_result("flash", seq, time_s=seq / 1e6) for seq in (256, 512)]
    (axes,) = draw(frame_of(*rows), style="bars", y="time").axes
    assert axes.get_ylim()[0] == 0
    assert words(axes) == ["256", "512"]


def test_a_peak_is_of_the_unit_that_the_rows_use() -> None:
    rows = [
        make_result(dtype=dtype, time_s=1.0, tflops=0.09, peak_tflops=0.1, peak_unit="fma-f32")
        for dtype in ("f32", "bf16")
    ]
    rows.append(
        make_result(
            dtype="f16", time_s=1.0, tflops=0.8, peak_tflops=0.9, peak_unit="f16", target="cuda:sm_80"
        )
    )
    shown = {
        axes.get_title().split("\n")[0]: axes for axes in draw(frame_of(*rows)).axes if axes.get_visible()
    }
    said = {heading: (said_of_peaks(axes), peak_lines(axes)) for heading, axes in shown.items()}
    of_f32 = (["dotted: measured fma-f32 peak 100 GFLOP/s"], [100])
    assert said == {
        "cpu, f32": of_f32,
        "cpu, bf16": of_f32,
        "cuda:sm_80, f16": (["dotted: measured f16 peak 900 GFLOP/s"], [900]),
    }


def test_a_peak_in_sight_is_so_beside_the_rows_of_its_own_axis() -> None:
    rates = {(1, 4096): 0.002, (1024, 1024): 0.09}
    rows = [
        make_result(seq=queries, seq_kv=keys, time_s=1.0, tflops=rate, peak_tflops=0.1)
        for (queries, keys), rate in rates.items()
    ]
    decode, prefill = draw(frame_of(*rows)).axes
    assert (peak_lines(decode), peak_lines(prefill)) == ([], [100])


def test_over_threads_the_peak_is_that_of_each_number() -> None:
    rows = [
        make_result(
            threads=threads, case=str(threads), time_s=1.0, tflops=0.08 * threads, peak_tflops=0.1 * threads
        )
        for threads in (1, 2)
    ]
    (axes,) = draw(frame_of(*rows), x="threads").axes
    assert lines(axes, "peak") == [[(1, pytest.approx(100)), (2, pytest.approx(200))]]
