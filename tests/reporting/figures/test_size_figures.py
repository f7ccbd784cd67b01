"""Figures over a size besides throughput and speed-ups, and that of executed operations against time."""

import math
from typing import Any

import pytest
from drawings import caption, draw, heights, legend, lines, points, words
from synthetic_results import make_result

from harness.reporting.figures.base import Figure, NothingToDraw
from harness.reporting.figures.error_growth import ErrorGrowth
from harness.reporting.figures.memory import Memory
from harness.reporting.figures.operations import Operations
from harness.reporting.figures.recompute import Recompute
from harness.results.result import Result
from harness.system.status import Status

MIB = 2**20
HELD = [
    make_result("flash", seq, bytes=seq * MIB, workspace_bytes=0, peak_bytes=900 * MIB) for seq in (64, 128)
] + [make_result("unfused", 64, bytes=64 * MIB, workspace_bytes=16 * MIB, peak_bytes=950 * MIB)]
MEASURED: dict[str, Any] = {
    "error_ratio": 0.5,
    "bytes": MIB,
    "workspace_bytes": 0,
    "peak_bytes": 900 * MIB,
    "recompute_factor": 1.0,
    "flops_executed": 10,
    "time_s": 1e-5,
}


def test_a_call_holds_its_operands_and_workspace() -> None:
    (axes,) = draw(Memory(), *HELD).axes
    assert points(axes, "flash") == [(64, 64), (128, 128)]
    assert points(axes, "unfused") == [(64, 80)]
    assert lines(axes, "least") == [[(64, 64), (128, 128)]]
    assert axes.get_yscale() == "log"


def test_memory_can_be_that_of_the_process() -> None:
    (axes,) = draw(Memory(), *HELD, y="peak").axes
    assert points(axes, "unfused") == [(64, 950)]
    assert lines(axes, "least") == []


def test_errors_grow_towards_the_line_of_the_tolerance() -> None:
    rows = [make_result(seq=seq, error_ratio=seq / 640, max_abs_error=seq / 1e6) for seq in (64, 128)]
    (axes,) = draw(ErrorGrowth(), *rows).axes
    assert points(axes, "flash") == [(64, 0.1), (128, 0.2)]
    assert len(lines(axes, "limit")) == 1
    assert axes.get_ylim()[1] > 1
    (absolute,) = draw(ErrorGrowth(), *rows, y="absolute").axes
    assert points(absolute, "flash") == [(64, 64e-6), (128, 128e-6)]
    assert lines(absolute, "limit") == []


def test_errors_without_a_place_are_told() -> None:
    errors = ((64, 0.0), (128, math.inf), (256, 0.2))
    rows = [make_result(seq=seq, error_ratio=error) for seq, error in errors]
    drawing = draw(ErrorGrowth(), *rows)
    assert math.isnan(dict(points(drawing.axes[0], "flash"))[128])
    assert "Without error, or not finite, so not on the scale: 2 of 3 rows." in caption(drawing)


@pytest.mark.parametrize("figure", [Memory(), ErrorGrowth()])
def test_a_series_without_values_is_named_below(figure: Figure) -> None:
    drawing = draw(figure, make_result(**MEASURED), make_result("naive", status=Status.UNSUPPORTED))
    assert legend(drawing) == ["flash"]
    assert words(drawing.axes[0], "missing") == []
    assert "Without a value, so not shown: naive (unsupported)." in caption(drawing)


def timed(variant: str, factor: float | None, time_s: float, seq: int = 64) -> Result:
    flops = 1_000_000
    executed = None if factor is None else round(flops * factor)
    return make_result(
        variant, seq, flops=flops, recompute_factor=factor, flops_executed=executed, time_s=time_s
    )


@pytest.mark.filterwarnings("error")
def test_time_stands_over_executed_operations() -> None:
    rows = [timed("flash", 1.0, 1e-5), timed("naive", 4.0, 8e-5), timed("torch", None, 1e-5)]
    drawing = draw(Recompute(), *rows, names={"torch": "PyTorch"})
    (axes,) = drawing.axes
    assert points(axes, "flash")[0] == pytest.approx((1.0, 10.0))
    assert points(axes, "naive")[0] == pytest.approx((4.0, 80.0))
    ((first, last),) = lines(axes, "rate")
    assert first[1] / first[0] == pytest.approx(10)
    assert last[1] / last[0] == pytest.approx(10)
    assert axes.get_title() == "dotted: 100 GFLOP/s executed"
    assert "Without a value, so not shown: PyTorch (passed)." in caption(drawing)


def test_bars_are_recompute_factors_without_times() -> None:
    rows = [make_result("flash", recompute_factor=1.0), make_result("flash", 512, status=Status.WRONG)]
    rows.append(make_result("naive", recompute_factor=3.0, status=Status.EMULATED))
    rows.append(make_result("naive", 512))
    drawing = draw(Operations(), *rows, make_result("torch", time_s=1.0))
    (axes,) = drawing.axes
    assert sorted(heights(axes)) == [1.0, 3.0]
    assert words(axes) == ["1.00", "wrong", "3.00", "not counted"]
    assert axes.get_ylabel() == "executed / needed\n(lower is better)"
    assert "Without a value, so not shown: torch (passed)." in caption(drawing)
    assert "matrix products only; needed: visible pairs" in caption(drawing)


def test_a_figure_can_be_over_skew() -> None:
    starts = {1: "0,8,16", 4: "0,16,20,20", 32: "0,32,33"}
    rows = [
        make_result(
            "flash", case=of, mask="lengths", cu_seqlens_q=of, cu_seqlens_kv=of, recompute_factor=skew
        )
        for skew, of in starts.items()
    ]
    (axes,) = draw(Operations(), *rows, x="skew").axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "4", "32"]
    assert axes.get_xlabel() == "longest sequence over shortest"
    with pytest.raises(NothingToDraw, match="no row has skew"):
        draw(Operations(), make_result("flash", recompute_factor=1.0), x="skew")


@pytest.mark.parametrize("figure", [Memory(), Recompute()])
def test_a_column_of_a_paper_stacks_the_panels(figure: Figure) -> None:
    rows = [make_result(head_dim=head_dim, **MEASURED) for head_dim in (64, 128)]
    page, column = draw(figure, *rows), draw(figure, *rows, width="column", font="serif")
    grids = [drawing.axes[0].get_gridspec() for drawing in (page, column)]
    assert [(grid.nrows, grid.ncols) for grid in grids if grid] == [(1, 2), (2, 1)]
    assert column.get_figwidth() == 3.4
    assert column.axes[0].get_xticklabels()[0].get_fontfamily() == ["STIXGeneral", "DejaVu Sans"]
