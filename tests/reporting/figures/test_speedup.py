from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.errors import InputError
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.speedup import Speedup
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    figure = Speedup()
    return figure.draw(frame, parse_settings(figure, settings), "the caption")


def frame_of(*results: Result) -> pd.DataFrame:
    return prepare(results_frame(results), ("flash", "torch", "unfused"))


def timed(variant: str, time_s: float, speedup: float | None, **fields: Any) -> Result:
    return make_result(variant, time_s=time_s, speedup=speedup, baseline="unfused", **fields)


def heights(axes: Axes) -> list[float]:
    return [float(patch.get_height()) for patch in axes.patches]  # type: ignore[attr-defined]


def words(axes: Axes, gid: str) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == gid]


def caption(drawing: Drawing) -> str:
    (text,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    return text.replace("\n", " ")


@pytest.fixture(scope="module")
def drawn(sweep: pd.DataFrame) -> Drawing:
    """The realistic sweep, drawn and laid out once."""
    drawing = draw(sweep)
    drawing.draw_without_rendering()
    return drawing


OF_NAIVE: dict[str, Any] = {"baseline": "naive", "baseline_case": "base"}
FRAME = (timed("unfused", 2.0, 1.0), timed("flash", 1.0, 2.031), timed("torch", 2.5, 0.8))


def test_one_bar_a_variant_with_its_value_and_none_for_the_baseline() -> None:
    (axes,) = draw(frame_of(*FRAME)).axes
    assert heights(axes) == [2.031, 0.8]
    assert words(axes, "value") == ["2.03", "0.800"]
    assert axes.get_ylabel() == "speed-up\n(unfused = 1)"


def test_a_line_marks_the_baseline() -> None:
    (axes,) = draw(frame_of(*FRAME)).axes
    (line,) = [line for line in axes.lines if line.get_gid() == "baseline"]
    assert list(line.get_ydata()) == [1, 1]


def test_error_bars_are_the_paired_interval() -> None:
    rows = [timed("unfused", 2.0, 1.0), timed("flash", 1.0, 2.0, speedup_low=1.9, speedup_high=2.2)]
    drawing = draw(frame_of(*rows))
    (bars,) = [entry for entry in drawing.axes[0].containers if hasattr(entry, "has_yerr")]
    (segment,) = bars.lines[2][0].get_segments()
    assert sorted(segment[:, 1]) == pytest.approx([1.9, 2.2])
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


def test_bars_and_labels_agree_over_a_whole_sweep(sweep: pd.DataFrame, drawn: Drawing) -> None:
    shown = sweep[(sweep["variant"] != "unfused") & sweep["speedup"].notna()]
    values = [height for axes in drawn.axes for height in heights(axes)]
    labels = [float(word) for axes in drawn.axes for word in words(axes, "value")]
    assert sorted(values) == pytest.approx(sorted(shown["speedup"]))
    assert labels == pytest.approx(values, rel=5e-3)


def test_another_baseline_gives_ratios_of_medians_and_says_so() -> None:
    drawing = draw(frame_of(*FRAME), baseline="torch")
    assert words(drawing.axes[0], "value") == ["2.50", "1.25"]
    assert "Ratios of median times: the run's baseline was not torch" in caption(drawing)


def test_a_series_of_one_run_can_be_the_baseline_of_another_run() -> None:
    rows = [make_result("flash", time_s=1.0, run="old"), make_result("flash", time_s=0.5, run="new")]
    (axes,) = draw(frame_of(*rows), baseline="flash (old)").axes
    assert words(axes, "value") == ["2.00"]


def test_two_runs_stand_side_by_side_each_over_its_own_baseline() -> None:
    rows = [row.model_copy(update={"run": run}) for run in ("a", "b") for row in FRAME]
    drawing = draw(frame_of(*rows))
    assert heights(drawing.axes[0]) == [2.031, 2.031, 0.8, 0.8]
    assert [text.get_text() for text in drawing.legends[0].get_texts()] == [
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
    assert words(axes, "value") == ["1.25"]
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


def shown_series(drawing: Drawing) -> list[str]:
    return [text.get_text() for text in drawing.legends[0].get_texts()]


def test_a_parameter_set_of_the_baseline_s_variant_that_failed_is_a_word() -> None:
    frame = frame_of(*rows_of_tiles("a", other=Status.WRONG))
    for drawing in (draw(frame), draw(frame, baseline="flash"), draw(frame, baseline="flash tile_q=16")):
        (axes,) = drawing.axes
        assert shown_series(drawing) == ["flash tile_q=64", "naive"]
        assert words(axes, "missing") == ["wrong"]
        assert heights(axes) == [0.5]
        assert axes.get_ylabel() == "speed-up\n(flash tile_q=16 = 1)"
        assert "paired by timing round" in caption(drawing)


def test_a_run_whose_baseline_failed_does_not_compare_the_baseline_with_itself() -> None:
    drawing = draw(frame_of(*rows_of_tiles("a"), *rows_of_tiles("b", baseline=Status.TIMED_OUT)))
    assert shown_series(drawing) == [
        f"{name} ({run})" for name in ("flash tile_q=64", "naive") for run in ("a", "b")
    ]
    assert words(drawing.axes[0], "missing") == ["no baseline", "no baseline"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([make_result(time_s=1.0)], "no baseline was timed"),
        ([make_result(status=Status.EMULATED)], "nothing was timed"),
        ([timed("unfused", 1.0, 1.0), timed("flash", 1.0, None)], "no case was timed together with unfused"),
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


def test_the_series_that_is_the_baseline_may_be_named_in_full() -> None:
    rows = [
        make_result("naive", time_s=1.0, params={"tile_kv": 64}, case="base", speedup=1.0, **OF_NAIVE),
        make_result("naive", time_s=0.8, params={"tile_kv": 128}, case="other", speedup=1.3, **OF_NAIVE),
    ]
    drawing = draw(frame_of(*rows), baseline="naive tile_kv=64")
    assert words(drawing.axes[0], "value") == ["1.30"]
    assert "paired by timing round" in caption(drawing)
    other = draw(frame_of(*rows), baseline="naive tile_kv=128")
    assert words(other.axes[0], "value") == ["0.800"]
    assert "Ratios of median times" in caption(other)


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
    assert shown_series(drawing) == ["torch (a)", "torch (b)", "unfused (a)", "unfused (b)"]
    assert words(axes, "missing") == []
    assert heights(axes) == pytest.approx([0.275, 0.25, 0.55, 0.5])
    assert "paired by timing round" in caption(drawing)
    assert "Without interval: ratios of median times, of runs whose baseline was not flash." in caption(
        drawing
    )


@pytest.mark.parametrize("other", ["flash", "unfused"])
def test_a_series_that_names_its_run_keeps_the_pairs_of_that_run(other: str) -> None:
    frame = frame_of(*run_over("unfused", "a"), *run_over(other, "b"))
    drawing = draw(frame, baseline="unfused (a)")
    (axes,) = drawing.axes
    assert shown_series(drawing) == ["flash (a)", "flash (b)", "torch (a)", "torch (b)", "unfused (b)"]
    assert heights(axes) == pytest.approx([2.2, 2.0, 0.55, 0.5, 1.0])
    note = "Without interval: ratios of median times, of runs whose baseline was not unfused (a)."
    assert note in caption(drawing)
    assert axes.get_ylabel() == "speed-up\n(unfused (a) = 1)"


def test_a_run_without_a_baseline_is_compared_with_its_rows_of_the_baseline_of_another_run() -> None:
    alone = [make_result(variant, time_s=time, run="b") for variant, time in (("flash", 1.0), ("torch", 4.0))]
    (axes,) = draw(frame_of(*run_over("flash", "a"), *alone)).axes
    assert heights(axes) == pytest.approx([0.275, 0.25, 0.55])


def test_where_all_runs_have_the_baseline_nothing_is_said_of_medians() -> None:
    frame = frame_of(*run_over("flash", "a"), *run_over("flash", "b"))
    assert "median" not in caption(draw(frame, baseline="flash"))


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


def drawn_bars(drawing: Drawing) -> dict[float, tuple[float, float] | None]:
    """Return the heights of all bars with the ends of their intervals, as the drawing has them."""
    found: dict[float, tuple[float, float] | None] = {}
    for axes in drawing.axes:
        found |= dict.fromkeys(heights(axes))
        for bars in axes.containers:
            if hasattr(bars, "has_yerr") and bars.has_yerr:
                for segment in bars.lines[2][0].get_segments():
                    low, high = sorted(map(float, segment[:, 1]))
                    middle = min(heights(axes), key=lambda height: abs(height - (low / 0.9)))
                    found[middle] = (low, high)
    return found


def recorded_bars(rows: list[Result]) -> dict[float, tuple[float, float]]:
    """Return the same of the speed-ups that rows have recorded, those of baselines left out."""
    return {
        row.speedup: (row.speedup * 0.9, row.speedup * 1.2)
        for row in rows
        if row.speedup is not None and row.case != row.baseline_case
    }


def assert_are(drawn: dict[float, Any], expected: dict[float, Any]) -> None:
    assert sorted(drawn) == pytest.approx(sorted(expected))
    for (_, ends), (_, wanted) in zip(sorted(drawn.items()), sorted(expected.items()), strict=True):
        assert ends == pytest.approx(wanted)


@pytest.mark.parametrize("settings", [{}, {"baseline": "unfused"}])
def test_a_baseline_with_a_parameter_set_for_each_problem_keeps_all_pairs(settings: dict[str, Any]) -> None:
    rows = tiled_run({64: 16, 128: 32})
    drawing = draw(frame_of(*rows), **settings)
    assert_are(drawn_bars(drawing), recorded_bars(rows))
    assert shown_series(drawing) == ["flash", "torch"]
    assert drawing.axes[0].get_ylabel() == "speed-up\n(baseline = 1)"
    note = "Baseline: unfused tile_q=16 (head dim 64); unfused tile_q=32 (head dim 128)."
    assert note in caption(drawing)
    assert "median" not in caption(drawing)


def test_one_of_the_parameter_sets_of_a_baseline_keeps_the_pairs_of_its_problems() -> None:
    rows = tiled_run({64: 16, 128: 32})
    drawing = draw(frame_of(*rows), baseline="unfused tile_q=16")
    assert_are(drawn_bars(drawing), recorded_bars([row for row in rows if row.head_dim == 64]))
    assert drawing.axes[0].get_ylabel() == "speed-up\n(unfused tile_q=16 = 1)"
    assert [words(axes, "missing") for axes in drawing.axes] == [[], ["no baseline"] * 3]
    assert "was not" not in caption(drawing)


def test_unpaired_ratios_beside_pairs_of_one_run_are_said() -> None:
    rows = tiled_run({64: 16, 128: 32}, other=8)
    rows += tiled_run({256: 8})
    drawing = draw(frame_of(*rows), baseline="unfused tile_q=8")
    pairs = recorded_bars([row for row in rows if row.head_dim == 256])
    medians = {
        4.0 / row.time_s: None
        for row in rows
        if row.head_dim != 256 and row.params.get("tile_q") != 8 and row.time_s is not None
    }
    assert_are({bar: ends for bar, ends in drawn_bars(drawing).items() if ends}, pairs)
    assert sorted(drawn_bars(drawing)) == pytest.approx(sorted([*pairs, *medians]))
    note = "Without interval: ratios of median times, of cases whose baseline was not unfused tile_q=8."
    assert note in caption(drawing)


def test_what_1_is_beside_other_parameter_sets_of_the_baseline_is_said_of_merged_runs() -> None:
    rows = [*tiled_run({64: 16}, "a", other=32), *tiled_run({64: 16}, "b", other=32)]
    drawing = draw(frame_of(*rows), names={"unfused": "kernels"})
    assert shown_series(drawing)[-2:] == ["kernels tile_q=32 (a)", "kernels tile_q=32 (b)"]
    label = drawing.axes[0].get_ylabel()
    assert " ".join(label.split()) == "speed-up (kernels tile_q=16 of the same run = 1)"


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
    assert shown_series(drawing)[-2:] == ["unfused tile_q=16 (b)", "unfused tile_q=32 (a)"]


def test_runs_that_complete_each_other_may_swap_them() -> None:
    rows = [
        *tiled_run({64: 16}, "a", other=32),
        *tiled_run({128: 32}, "b", other=16),
    ]
    drawing = draw(frame_of(*rows))
    assert_are(drawn_bars(drawing), recorded_bars(rows))
    assert shown_series(drawing) == ["flash", "torch", "unfused tile_q=16", "unfused tile_q=32"]
