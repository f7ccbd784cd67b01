from typing import Any

import pytest
from synthetic_results import example_manifest, make_result

from harness.problem.attention_problem import FLOP_CONVENTION
from harness.reporting.captions import describe_code, figure_caption, said_of_runs
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.manifest import part_of

MANIFEST = example_manifest("", "sweep")


def test_a_caption_names_machine_problem_code_date_and_convention() -> None:
    frame = prepare(results_frame([make_result(time_s=1.0, starts=5)]))
    assert figure_caption(frame, [MANIFEST]) == (
        "Example CPU; threads 1; f32; head dim 64; heads 16; seq 256; batch 1. "
        f"harness 0.1.0, commit 0123456, 2026-01-02. FLOPs: {FLOP_CONVENTION}."
    )


def test_code_that_a_run_was_resumed_with_is_named() -> None:
    same = part_of(MANIFEST).model_copy(update={"started": "2026-01-03T00:00:00+00:00"})
    other = same.model_copy(update={"code_digest": "another", "git_commit": "fedcba9876543210"})
    resumed = MANIFEST.model_copy(update={"parts": (same, other, other)})
    assert describe_code(resumed) == (
        "harness 0.1.0, commit 0123456, 2026-01-02, resumed with harness 0.1.0, commit fedcba9, 2026-01-03"
    )


def test_the_code_of_plugins_is_named_and_that_it_changed() -> None:
    began = MANIFEST.model_copy(update={"plugin_code": {"attention_einsum": "1f0c2ab99"}})
    assert describe_code(began) == "harness 0.1.0, commit 0123456, attention_einsum 1f0c2ab, 2026-01-02"
    edited = part_of(began).model_copy(update={"plugin_code": {"attention_einsum": "77aa001bb"}})
    assert describe_code(began.model_copy(update={"parts": (part_of(began), edited)})) == (
        "harness 0.1.0, commit 0123456, attention_einsum 1f0c2ab, 2026-01-02, "
        "resumed with harness 0.1.0, commit 0123456, attention_einsum 77aa001, 2026-01-02"
    )


def test_lengths_that_share_a_row_are_named() -> None:
    frame = prepare(results_frame([make_result(seq=seq, build_s=1.0) for seq in (256, 512)]))
    assert "seq" not in figure_caption(frame, [MANIFEST])
    assert "; seq 256, 512; batch 1." in figure_caption(frame, [MANIFEST], says_lengths=True)


def test_what_differs_is_listed_and_many_values_become_a_range() -> None:
    rows = [
        make_result(batch=batch, device=f"CPU {batch % 2}", case=f"{batch}") for batch in (1, 2, 4, 8, 16)
    ]
    caption = figure_caption(prepare(results_frame(rows)), [MANIFEST])
    assert caption.startswith("CPU 1, CPU 0; threads 1; f32; head dim 64; heads 16; seq 256; batch 1 … 16.")


def test_what_differs_between_runs_is_said_of_each() -> None:
    rows = [
        make_result(experiment="a", threads=1),
        make_result(experiment="b", threads=2, case="2"),
        make_result(experiment="c", threads=None, case="none"),
    ]
    caption = figure_caption(prepare(results_frame(rows)), [MANIFEST])
    assert caption.startswith(
        "Example CPU; f32; head dim 64; heads 16; seq 256; batch 1. "
        "a: threads 1. b: threads 2. c: threads none. harness"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kv_heads": (1, 2)}, "; kv heads 1, 2;"),
        ({"head_dim_v": (32, 32)}, "; head dim v 32;"),
        ({"seq_kv": (512, 1024)}, "; seq q 256; seq kv 512, 1024;"),
        ({"softcap": (None, 30.0)}, "; softcap 30, none;"),
        ({"scale": (0.125, 0.5)}, "; scale 0.125, 0.5;"),
        ({"bias": (True, False)}, "; bias no, yes;"),
        ({"mask": ("full", "window(64,0)")}, "; full, window(64,0) mask;"),
        ({"kv_lengths": ("256,100", "256,7")}, "; kv lengths 256,100, 256,7;"),
        ({"target": ("cpu", "cpu:avx2")}, "Example CPU; cpu, cpu:avx2; threads 1;"),
        ({"softcap": (0.1234567, 0.1234568)}, "; softcap 0.1234567, 0.1234568;"),
    ],
)
def test_a_caption_names_whatever_is_not_as_usual_or_varies(
    values: dict[str, tuple[Any, Any]], words: str
) -> None:
    ((column, both),) = values.items()
    rows = [make_result(case=f"{number}", **{column: value}) for number, value in enumerate(both)]
    assert words in figure_caption(prepare(results_frame(rows)), [MANIFEST])


CUDA = {"target": "cuda:sm_90", "executor": "device", "device": "NVIDIA H100", "threads": None}


def test_merged_runs_say_which_is_of_which_device() -> None:
    rows = [
        make_result(experiment="a", device="CPU 1"),
        make_result(experiment="b", device="CPU 2", threads=2, case="2"),
    ]
    caption = figure_caption(prepare(results_frame(rows)), [MANIFEST])
    assert caption.startswith("f32; head dim 64; heads 16; seq 256; batch 1. ")
    assert "a: CPU 1; threads 1. b: CPU 2; threads 2. harness" in caption


def test_merged_runs_of_one_kind_of_device_say_which_machine_has_it() -> None:
    rows = [make_result(experiment=name, case=name, **CUDA) for name in ("a", "b")]
    machines = [MANIFEST.model_copy(update={"experiment": name, "device": f"CPU {name}"}) for name in "ab"]
    frame = prepare(results_frame(rows))
    caption = figure_caption(frame, machines, names=["run-1", "run-1"])
    assert "a: NVIDIA H100, machine CPU a. b: NVIDIA H100, machine CPU b. harness" in caption
    same = figure_caption(frame, [MANIFEST, MANIFEST], names=["run-1", "run-1"])
    assert same.startswith("NVIDIA H100; f32;")
    assert "machine" not in same


def test_what_tells_runs_apart_is_said_of_them_where_series_carry_their_names() -> None:
    one = make_result(experiment="a", case="a", threads=1, heads=4)
    other = [make_result(experiment="b", case=f"b{heads}", threads=2, heads=heads) for heads in (4, 8)]
    assert said_of_runs(prepare(results_frame([one, *other]))) == ["threads"]
    assert said_of_runs(prepare(results_frame([one, make_result("torch", experiment="b", threads=2)]))) == []
