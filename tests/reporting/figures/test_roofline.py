"""The roofline: points over arithmetic intensity, below what was measured, or is stated, of the machine."""

from typing import Any

import pytest
from drawings import draw as draw_figure
from drawings import lines, points
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

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


def test_points_stand_over_their_intensity() -> None:
    (axes,) = draw(row(128, tflops=0.06), row(64), row(64, "naive", tflops=0.01)).axes
    assert points(axes, "flash") == [(8.0, 50.0), (16.0, 60.0)]
    assert points(axes, "naive") == [(8.0, 10.0)]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "throughput (GFLOP/s)"


def test_widths_masks_and_threads_have_their_own_panels() -> None:
    wide, causal = row(case="wide", head_dim=128), row(case="causal", mask="causal")
    drawing = draw(row(64), wide, causal, row(case="two", threads=2, peak_tflops=0.2))
    shown = [axes for axes in drawing.axes if axes.get_visible()]
    assert [lines(axes, "peak")[0][0][1] for axes in shown] == pytest.approx([100, 200, 100, 100])
    assert shown[1].get_title().startswith("head dim 64, full mask, threads 2\n")


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


def test_each_unit_has_a_roof_of_its_own() -> None:
    both = [row(peak_unit="fma-f32"), row(case="wide", dtype="bf16", peak_unit="dot-bf16", peak_tflops=0.2)]
    (axes,) = draw(*both, panels=["mask"]).axes
    assert sorted(line[0][1] for line in lines(axes, "peak")) == pytest.approx([100, 200])
    assert "measured fma-f32 peak 100 GFLOP/s" in roofs_said(axes)
    assert "measured dot-bf16 peak 200 GFLOP/s" in roofs_said(axes)


def test_a_slope_that_ends_left_of_the_scale_is_not_drawn() -> None:
    (axes,) = draw(row()).axes  # the ridges of L1, L2 and memory are at 0.25, 1 and 5
    assert [slope[-1][0] for slope in lines(axes, "slope")] == pytest.approx([1, 5])


def test_a_peak_below_a_row_is_none() -> None:
    (axes,) = draw(row(tflops=0.2)).axes
    assert lines(axes, "peak") == []
    assert [y / x for slope in lines(axes, "slope") for x, y in slope[:1]][-1] == pytest.approx(20)


def test_an_unmeasured_device_has_its_data_sheet_dashed() -> None:
    stated = {"peak_tflops": None, "bandwidth_gb_s": {}, "device": H100, "dtype": "f16", "tflops": 400.0}
    (axes,) = draw(row(**stated)).axes
    assert roofs_said(axes) == "data sheet f16 tensor-core peak 989 TFLOP/s, memory 3350 GB/s"
    assert {line.get_linestyle() for line in axes.lines if line.get_gid()} == {"--"}


def test_a_data_sheet_is_of_one_device_and_its_types() -> None:
    assert data_sheet(H100, "f32") is None
    assert data_sheet("NVIDIA H100 PCIe (sm_90a)", "f16") is None
    sheet = data_sheet("NVIDIA H200", "bf16")
    assert sheet is not None
    assert sheet.bandwidths == {"memory": 4800}


def test_a_device_without_a_known_roof_has_none() -> None:
    (axes,) = draw(row(peak_tflops=None, bandwidth_gb_s={}, device="something else")).axes
    assert lines(axes, "peak") == lines(axes, "slope") == []
