"""The roofline: points over arithmetic intensity, below what was measured, or is stated, of the machine."""

from typing import Any

import pytest
from drawings import caption, frame_of, lines
from drawings import draw as draw_figure
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.roofline import Roofline
from harness.reporting.figures.roofs import data_sheet
from harness.results.result import Result

BANDWIDTHS = {"memory": 20.0, "L1": 400.0, "L2": 100.0}
H100 = "NVIDIA H100 80GB HBM3 (sm_90a)"


def row(seq: int = 64, variant: str = "flash", **fields: Any) -> Result:
    known: dict[str, Any] = {
        "intensity": seq / 8,
        "tflops": 0.05,
        "peak_tflops": 0.1,
        "bandwidth_gb_s": BANDWIDTHS,
        "device": "a processor",
    }
    return make_result(variant, seq, time_s=1e-3).model_copy(update={**known, **fields})


def draw(*results: Result, **settings: Any) -> Drawing:
    return draw_figure(Roofline(), *results, **settings)


def roofs_said(axes: Axes) -> str:
    """Return what stands below a panel's heading."""
    return " ".join(axes.get_title().split())


def heading(axes: Axes) -> str:
    return axes.get_title().split("\n")[0]


def test_points_stand_over_their_intensity_and_are_joined_by_growing_length() -> None:
    (axes,) = draw(row(128, tflops=0.06), row(64), row(64, "naive", tflops=0.01)).axes
    assert lines(axes, "flash") == [[(8.0, 50.0), (16.0, 60.0)]]
    assert lines(axes, "naive") == [[(8.0, 10.0)]]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "throughput (GFLOP/s)"


def test_widths_and_masks_have_panels_of_their_own() -> None:
    wide, causal = row(case="wide", head_dim=128), row(case="causal", mask="causal")
    drawing = draw(row(64), wide, causal)
    shown = [axes for axes in drawing.axes if axes.get_visible()]
    counts = {heading(axes): len(lines(axes, "flash")) for axes in shown}
    assert counts == dict.fromkeys(
        ("head dim 64, full mask", "head dim 64, causal mask", "head dim 128, full mask"), 1
    )


def test_a_slope_is_intensity_times_bandwidth_up_to_the_peak() -> None:
    (axes,) = draw(row(intensity=0.1, tflops=0.001)).axes
    assert lines(axes, "peak")[0][-1][1] == pytest.approx(100)
    slopes = lines(axes, "slope")
    assert len(slopes) == len(BANDWIDTHS)
    for slope, bandwidth in zip(slopes, (400, 100, 20), strict=True):
        for intensity, rate in slope:
            assert rate == pytest.approx(intensity * bandwidth)
        assert slope[-1] == pytest.approx((100 / bandwidth, 100))
    said = "measured peak 100 GFLOP/s, L1 400 GB/s, L2 100 GB/s, memory 20.0 GB/s"
    assert roofs_said(axes) == said


def test_a_level_whose_slope_ends_left_of_the_scale_is_not_drawn() -> None:
    drawing = draw(row())  # the ridges of L1, L2 and memory are at 0.25, 1 and 5
    (axes,) = drawing.axes
    assert [slope[-1][0] for slope in lines(axes, "slope")] == pytest.approx([1, 5])
    assert roofs_said(axes) == "measured peak 100 GFLOP/s, L2 100 GB/s, memory 20.0 GB/s"


def test_each_number_of_threads_has_a_roof_and_a_panel_of_its_own() -> None:
    drawing = draw(row(threads=1), row(threads=2, peak_tflops=0.2, case="other"))
    assert [heading(axes) for axes in drawing.axes] == ["threads 1", "threads 2"]
    assert [lines(axes, "peak")[0][0][1] for axes in drawing.axes] == pytest.approx([100, 200])


VECTOR = {"target_options": {"unit": "vector"}, "case": "other"}


@pytest.mark.parametrize(
    "measured", [{"peak_tflops": 0.2}, {"bandwidth_gb_s": {"memory": 30.0}}, {"tflops": 0.12}]
)
def test_options_that_something_else_was_measured_with_have_a_panel_of_their_own(
    measured: dict[str, Any],
) -> None:
    drawing = draw(row(target_options={"unit": "tensor"}), row(**VECTOR, **measured))
    assert [heading(axes) for axes in drawing.axes] == ["unit=tensor", "unit=vector"]
    peaks = [[ends[0][1] for ends in lines(axes, "peak")] for axes in drawing.axes]
    is_refuted = "tflops" in measured
    other = [] if is_refuted else [pytest.approx(1e3 * measured.get("peak_tflops", 0.1))]
    assert peaks == [[pytest.approx(100)], other]


@pytest.mark.parametrize("known", [{}, {"peak_tflops": None, "bandwidth_gb_s": {}}])
def test_options_that_make_no_difference_to_roofs_share_a_panel(known: dict[str, Any]) -> None:
    assert len(draw(row(**known), row(**VECTOR, **known)).axes) == 1


def test_a_peak_below_a_row_is_none() -> None:
    (axes,) = draw(row(tflops=0.2)).axes
    assert lines(axes, "peak") == []
    assert [y / x for slope in lines(axes, "slope") for x, y in slope[:1]] == [pytest.approx(20)]


FAST = {"case": "fast", "tflops": 0.2, "intensity": 4.0}


@pytest.mark.parametrize("fast", [{"mask": "causal"}, {"run": "other", "mask": "causal"}])
def test_a_peak_that_a_row_refutes_is_a_roof_in_no_panel(fast: dict[str, Any]) -> None:
    rows = [row(), row(**{**FAST, **fast})]
    assert [lines(axes, "peak") for axes in draw(*rows).axes] == [[]] * 2
    assert [lines(axes, "peak") for axes in draw(*rows, where='mask == "full" and dtype == "f32"').axes] == [
        []
    ]
    numbers = Roofline().numbers(frame_of(*rows), parse_settings(Roofline(), {}))
    assert numbers["peak_tflops"].isna().all()
    (axes,) = draw(rows[0]).axes
    assert lines(axes, "peak") != []


def test_a_device_that_nothing_measured_has_the_roof_of_its_data_sheet_and_the_figure_says_so() -> None:
    stated = {"peak_tflops": None, "bandwidth_gb_s": {}, "device": H100, "dtype": "f16", "tflops": 400.0}
    drawing = draw(row(**stated))
    (axes,) = drawing.axes
    assert roofs_said(axes) == "data sheet peak 989 TFLOP/s, memory 3350 GB/s"
    assert all(line.get_linestyle() == "--" for line in axes.lines if line.get_gid())
    assert "nothing was measured, the data sheet says so (H100 SXM)" in caption(drawing)


def test_a_data_sheet_is_of_one_device_and_of_the_types_that_it_states() -> None:
    assert data_sheet(H100, "f32") is None
    assert data_sheet("NVIDIA H100 PCIe (sm_90a)", "f16") is None
    assert data_sheet("NVIDIA H200 NVL", "f16") is None
    found = data_sheet("NVIDIA H200", "bf16")
    assert found is not None
    assert found.bandwidths == {"memory": 4800}


def test_a_device_without_a_known_roof_is_named() -> None:
    unknown = {"peak_tflops": None, "bandwidth_gb_s": {}, "device": "something else"}
    drawing = draw(row(**unknown))
    assert lines(drawing.axes[0], "peak") == []
    assert "Nothing measured what these can do at most: something else." in caption(drawing)


def test_rows_without_a_time_or_an_intensity_have_no_place() -> None:
    with pytest.raises(
        NothingToDraw, match="no case that variants and where leave was timed and has an intens"
    ):
        draw(row(intensity=None))
    with pytest.raises(NothingToDraw, match="no case was timed"):
        draw(make_result("flash", 64))
