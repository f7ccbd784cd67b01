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


def timed(variant: str, time_s: float, speedup: float | None, **fields: Any) -> Result:
    return make_result(variant, time_s=time_s, speedup=speedup, baseline="unfused", **fields)


OF_NAIVE: dict[str, Any] = {"baseline": "naive", "baseline_case": "base"}
FRAME = (timed("unfused", 2.0, 1.0), timed("flash", 1.0, 2.031), timed("torch", 2.5, 0.8))


def test_one_bar_a_variant_with_its_value_and_none_for_the_baseline() -> None:
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


def test_a_missing_bar_is_a_word() -> None:
    rows = [*FRAME, make_result("naive", status=Status.OUT_OF_MEMORY)]
    (axes,) = draw(frame_of(*rows)).axes
    assert words(axes, "missing") == ["OOM"]
    assert len(heights(axes)) == 2


def test_a_missing_baseline_is_said_at_every_bar() -> None:
    rows = [*FRAME, timed("flash", 1.0, None, seq=512), make_result("unfused", 512, status=Status.TIMED_OUT)]
    (axes,) = draw(frame_of(*rows)).axes
    assert words(axes, "missing") == ["no baseline"]


def test_another_baseline_gives_ratios_of_medians_and_says_so() -> None:
    drawing = draw(frame_of(*FRAME), baseline="torch")
    assert words(drawing.axes[0], "value") == ["2.50", "1.25"]
    assert "Ratios of median times, without interval, of what its run did not time against torch." in caption(
        drawing
    )


def test_a_series_of_one_run_can_be_the_baseline_of_another_run() -> None:
    rows = [make_result("flash", time_s=1.0, run="old"), make_result("flash", time_s=0.5, run="new")]
    (axes,) = draw(frame_of(*rows), baseline="flash (old)").axes
    assert words(axes) == ["2.00"]


def test_two_runs_stand_side_by_side_each_over_its_own_baseline() -> None:
    rows = [row.model_copy(update={"run": run}) for run in ("a", "b") for row in FRAME]
    drawing = draw(frame_of(*rows))
    assert heights(drawing.axes[0]) == [2.031, 2.031, 0.8, 0.8]
    assert legend(drawing) == [
        "flash (a)",
        "flash (b)",
        "torch (a)",
        "torch (b)",
    ]


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"figures\.speedup\.baseline: found 'tor', expected one of flash, torch, unfused"
    ):
        draw(frame_of(*FRAME), baseline="tor")


def test_a_baseline_of_several_parameter_sets_must_be_named_in_full() -> None:
    tiles = [make_result("naive", time_s=1.0, params={"tile_kv": tile}) for tile in (64, 128)]
    with pytest.raises(
        InputError, match="'naive' has several parameter sets, expected one of naive tile_kv=64"
    ):
        draw(frame_of(*tiles, make_result("flash", time_s=1.0)), baseline="naive")


def test_the_other_parameter_sets_of_the_baseline_variant_are_compared_with_it() -> None:
    rows = [
        make_result("naive", time_s=1.0, params={"tile_kv": 64}, case="base", speedup=1.0, **OF_NAIVE),
        make_result("naive", time_s=0.8, params={"tile_kv": 128}, case="other", speedup=1.25, **OF_NAIVE),
    ]
    (axes,) = draw(frame_of(*rows)).axes
    assert words(axes) == ["1.25"]
    assert axes.get_ylabel() == "speed-up\n(naive tile_kv=64 = 1)"


def rows_of_tiles(run: str, **failed: Status) -> list[Result]:
    """Rows of a baseline, of another parameter set of its variant, and of a second variant."""
    rows = []
    for name, variant, params, speedup in (
        ("baseline", "flash", {"tile_q": 16}, 1.0),
        ("other", "flash", {"tile_q": 64}, 1.25),
        ("naive", "naive", {}, 0.5),
    ):
        fields: dict[str, Any] = {"params": params, "run": run, "case": name}
        if name not in failed:
            fields["time_s"] = 1.0 / speedup
        if name not in failed and "baseline" not in failed:
            fields |= {"speedup": speedup, "baseline": "flash", "baseline_case": "baseline"}
        rows.append(make_result(variant, status=failed.get(name, Status.PASSED), **fields))
    return rows


def test_a_parameter_set_of_the_baseline_s_variant_that_failed_is_a_word() -> None:
    frame = frame_of(*rows_of_tiles("a", other=Status.WRONG))
    for drawing in (draw(frame), draw(frame, baseline="flash"), draw(frame, baseline="flash tile_q=16")):
        (axes,) = drawing.axes
        assert legend(drawing) == ["flash tile_q=64", "naive"]
        assert words(axes, "missing") == ["wrong"]
        assert heights(axes) == [0.5]
        assert axes.get_ylabel() == "speed-up\n(flash tile_q=16 = 1)"
        assert "paired by timing round" in caption(drawing)


def test_a_run_whose_baseline_failed_does_not_compare_the_baseline_with_itself() -> None:
    drawing = draw(frame_of(*rows_of_tiles("a"), *rows_of_tiles("b", baseline=Status.TIMED_OUT)))
    assert legend(drawing) == [
        f"{name} ({run})" for name in ("flash tile_q=64", "naive") for run in ("a", "b")
    ]
    assert words(drawing.axes[0], "missing") == ["no baseline", "no baseline"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([make_result(time_s=1.0)], "no baseline was timed"),
        ([make_result(status=Status.EMULATED)], "no case was timed"),
        (
            [timed("unfused", 1.0, 1.0), timed("flash", 1.0, None)],
            "no case was timed together with its baseline",
        ),
        (
            [
                make_result("flash", seq, time_s=1.0, speedup=1.5, baseline=name)
                for seq, name in ((1, "iree"), (2, "torch"))
            ],
            "several baselines: iree, torch",
        ),
    ],
)
def test_nothing_to_compare_gives_the_reason(rows: list[Result], reason: str) -> None:
    with pytest.raises(NothingToDraw, match=reason):
        draw(frame_of(*rows))


def test_runs_whose_baselines_are_other_parameter_sets_have_no_speedups_in_common() -> None:
    rows = [
        timed(variant, 1.0, speedup, params=params, run=run, case=f"{variant} {params}", baseline_case=case)
        for run, tile in (("monday", 4), ("tuesday", 64))
        for case in (f"unfused {{'tile_q': {tile}}}",)
        for variant, speedup, params in (("unfused", 1.0, {"tile_q": tile}), ("flash", 2.0, {}))
    ]
    with pytest.raises(NothingToDraw) as refused:
        draw(frame_of(*rows))
    assert str(refused.value) == (
        "several baselines: unfused tile_q=4, unfused tile_q=64; name one as figures.speedup.baseline: "
        "unfused, unfused tile_q=4 (monday), unfused tile_q=64 (tuesday)"
    )
    for name in str(refused.value).rpartition(": ")[2].split(", "):
        draw(frame_of(*rows), baseline=name)
    drawing = draw(frame_of(*rows), baseline="unfused")
    assert heights(drawing.axes[0]) == [2.0, 2.0]
    assert drawing.axes[0].get_ylabel() == "speed-up\n(baseline = 1)"
    assert "Baseline: unfused tile_q=4 (monday); unfused tile_q=64 (tuesday)." in caption(drawing)
    assert "median" not in caption(drawing)


def run_over(baseline: str, run: str) -> list[Result]:
    """Return rows of a run whose recorded speed-ups are a tenth more than those of its median times."""
    times = {"flash": 1.0, "unfused": 2.0, "torch": 4.0}
    return [
        make_result(
            variant,
            time_s=time,
            speedup=1.0 if variant == baseline else 1.1 * times[baseline] / time,
            baseline=baseline,
            run=run,
        )
        for variant, time in times.items()
    ]


def test_of_runs_with_several_baselines_each_is_compared_with_the_one_that_is_named() -> None:
    frame = frame_of(*run_over("flash", "a"), *run_over("unfused", "b"))
    drawing = draw(frame, baseline="flash")
    (axes,) = drawing.axes
    assert legend(drawing) == ["torch (a)", "torch (b)", "unfused (a)", "unfused (b)"]
    assert words(axes, "missing") == []
    assert heights(axes) == pytest.approx([0.275, 0.25, 0.55, 0.5])
    assert "paired by timing round" in caption(drawing)
    assert "of what its run did not time against flash." in caption(drawing)


def tiled_run(tiles: dict[int, int], run: str = "a", other: int | None = None, **fields: Any) -> list[Result]:
    """Rows of a run whose baseline has a tile of its own for each head dimension, and perhaps another tile.

    Recorded speed-ups are a tenth more than those of median times.
    """
    rows = []
    for head_dim, tile in tiles.items():
        for variant, params, time in (
            ("unfused", {"tile_q": tile}, 2.0 + head_dim / 1000),
            *([("unfused", {"tile_q": other}, 4.0)] if other is not None else []),
            ("flash", {}, 1.0 + head_dim / 500),
            ("torch", {}, 3.0),
        ):
            baseline_s = 2.0 + head_dim / 1000
            speedup = 1.0 if params == {"tile_q": tile} else 1.1 * baseline_s / time
            rows.append(
                make_result(
                    variant,
                    head_dim=head_dim,
                    run=run,
                    params=params,
                    case=f"{variant} {params} {head_dim}",
                    time_s=time,
                    baseline="unfused",
                    baseline_case=f"unfused {{'tile_q': {tile}}} {head_dim}",
                    speedup=speedup,
                    speedup_low=speedup * 0.9,
                    speedup_high=speedup * 1.2,
                    **fields,
                )
            )
    return rows


def test_a_parameter_set_for_each_problem_keeps_all_pairs() -> None:
    rows = tiled_run({64: 16, 128: 32}, other=8)
    drawing = draw(frame_of(*rows))
    pairs = [row for row in rows if row.case != row.baseline_case]
    bars = [height for axes in drawing.axes for height in heights(axes)]
    assert sorted(bars) == pytest.approx(sorted(row.speedup for row in pairs if row.speedup))
    ends = [end for axes in drawing.axes for bar in error_bars(axes) for end in bar]
    expected = [end for row in pairs for end in (row.speedup_low, row.speedup_high)]
    assert sorted(ends) == pytest.approx(sorted(expected))
    assert drawing.axes[0].get_ylabel() == "speed-up\n(baseline = 1)"
    note = "Baseline: unfused tile_q=16 (head dim 64); unfused tile_q=32 (head dim 128)."
    assert note in caption(drawing)
    assert "median" not in caption(drawing)


def test_in_runs_that_swap_baseline_and_candidate_each_keeps_its_pairs() -> None:
    rows = [
        *tiled_run({64: 16}, "a", other=32, mask="full"),
        *tiled_run({64: 32}, "b", other=16, mask="full"),
    ]
    rows = [row.model_copy(update={"experiment": row.run}) for row in rows]
    drawing = draw(frame_of(*rows), baseline="unfused")
    assert sorted(heights(drawing.axes[0])) == pytest.approx(
        sorted(row.speedup for row in rows if row.case != row.baseline_case and row.speedup is not None)
    )
    assert "Baseline: unfused tile_q=16 (a); unfused tile_q=32 (b)." in caption(drawing)
    assert legend(drawing)[-2:] == ["unfused tile_q=16 (b)", "unfused tile_q=32 (a)"]
