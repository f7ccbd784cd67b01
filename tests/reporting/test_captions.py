from typing import Any

import pytest
from synthetic_results import example_manifest, make_result

from harness.problem.attention_problem import FLOP_CONVENTION
from harness.reporting.captions import describe_code, figure_caption
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


def test_what_differs_is_listed_and_many_values_become_a_range() -> None:
    rows = [
        make_result(batch=batch, device=f"CPU {batch % 2}", case=f"{batch}") for batch in (1, 2, 4, 8, 16)
    ]
    caption = figure_caption(prepare(results_frame(rows)), [MANIFEST])
    assert caption.startswith("CPU 1, CPU 0; threads 1; f32; head dim 64; heads 16; seq 256; batch 1 … 16.")


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
