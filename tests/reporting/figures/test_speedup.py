"""Speed-ups over baselines of runs, and over others."""

from typing import Any

import pandas as pd
import pytest
from drawings import caption, draw_frame, error_bars, frame_of, heights, legend, lines, words
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.speedup import Speedup
from harness.results.result import Result
from harness.system.errors import InputError
from harness.system.status import Status


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    return draw_frame(Speedup(), frame, **settings)


def timed(variant: str, time_s: float, speedup: float | None, seq: int = 256, **fields: Any) -> Result:
    return make_result(variant, seq, time_s=time_s, speedup=speedup, **{"baseline": "unfused", **fields})


FRAME = (timed("unfused", 2.0, 1.0), timed("flash", 1.0, 2.031), timed("torch", 2.5, 0.8))


def test_one_bar_a_variant_and_none_for_the_baseline() -> None:
    (axes,) = draw(frame_of(*FRAME)).axes
    assert heights(axes) == [2.031, 0.8]
    assert words(axes) == ["2.03", "0.800"]
    assert axes.get_ylabel() == "speed-up\n(unfused = 1)"
    assert [first[1] for first, _ in lines(axes, "baseline")] == [1]


def test_error_bars_are_the_paired_interval() -> None:
    rows = [timed("unfused", 2.0, 1.0), timed("flash", 1.0, 2.0, speedup_low=1.9, speedup_high=2.2)]
    drawing = draw(frame_of(*rows))
    assert error_bars(drawing.axes[0]) == [pytest.approx([1.9, 2.2])]
    assert "95 % interval of the typical ratio, paired by timing round, over starts" in caption(drawing)


def test_a_missing_bar_is_a_word_and_a_series_without_any_is_named() -> None:
    rows = [
        *FRAME,
        make_result("flash", 512, status=Status.OUT_OF_MEMORY),
        timed("torch", 1.0, None, seq=512),
        make_result("naive", status=Status.CRASHED),
    ]
    drawing = draw(frame_of(*rows))
    assert sorted(words(drawing.axes[0])) == ["0.800", "2.03", "OOM", "no baseline"]
    assert "Without a value, so not shown: naive (crashed)." in caption(drawing)


def test_another_baseline_gives_ratios_of_medians_and_says_so() -> None:
    drawing = draw(frame_of(*FRAME), baseline="torch")
    assert words(drawing.axes[0]) == ["2.50", "1.25"]
    assert "Ratios of median times, without interval." in caption(drawing)


def test_a_series_of_one_run_is_a_baseline_of_another() -> None:
    rows = [make_result("flash", time_s=1.0, run="old"), make_result("flash", time_s=0.5, run="new")]
    (axes,) = draw(frame_of(*rows), baseline="flash (old)").axes
    assert words(axes) == ["2.00"]


def test_each_of_several_runs_is_over_its_own_baseline() -> None:
    rows = [row.model_copy(update={"run": run}) for run in ("a", "b") for row in FRAME]
    for baseline in (None, "unfused"):
        drawing = draw(frame_of(*rows), baseline=baseline)
        assert heights(drawing.axes[0]) == [2.031, 2.031, 0.8, 0.8]
        assert legend(drawing) == ["flash (a)", "flash (b)", "torch (a)", "torch (b)"]
    of_torch = [row.model_copy(update={"run": "b", "baseline": "torch"}) for row in FRAME]
    several = draw(frame_of(*FRAME, *of_torch))
    assert several.axes[0].get_ylabel() == "speed-up\n(baseline = 1)"
    assert "Baselines: torch, unfused." in caption(several)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("tor", r"figures\.speedup\.baseline: found 'tor', expected one of flash, naive tile_kv=64, naive"),
        ("naive", "found 'naive', expected one of naive tile_kv=64, naive tile_kv=128"),
    ],
)
def test_a_baseline_must_be_one_series(wanted: str, message: str) -> None:
    tiles = [make_result("naive", time_s=1.0, params={"tile_kv": tile}) for tile in (64, 128)]
    with pytest.raises(InputError, match=message):
        draw(frame_of(*tiles, make_result("flash", time_s=1.0)), baseline=wanted)


def test_other_parameter_sets_of_the_baseline_are_compared() -> None:
    rows = []
    for head_dim, tile in ((64, 16), (128, 32)):
        fields = {"head_dim": head_dim, "baseline_case": f"base {head_dim}"}
        own, other = {"tile_q": tile}, {"tile_q": 8}
        rows.append(timed("unfused", 1.0, 1.0, params=own, case=f"base {head_dim}", **fields))
        rows.append(timed("unfused", 0.8, 1.25, params=other, case=f"other {head_dim}", **fields))
    drawing = draw(frame_of(*rows))
    assert [heights(axes) for axes in drawing.axes] == [[1.25], [1.25]]
    assert "Baselines: unfused tile_q=16, unfused tile_q=32." in caption(drawing)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([make_result(time_s=1.0)], "no baseline was timed"),
        ([make_result(status=Status.EMULATED)], "no case was timed"),
        ([timed("unfused", 1.0, 1.0)], "no case was timed together with its baseline"),
    ],
)
def test_nothing_to_compare_gives_the_reason(rows: list[Result], reason: str) -> None:
    with pytest.raises(NothingToDraw, match=reason):
        draw(frame_of(*rows))
