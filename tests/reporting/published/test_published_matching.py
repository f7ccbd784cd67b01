from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from synthetic_results import make_result

from harness.reporting.frames import prepare
from harness.reporting.published.matching import (
    disagreements,
    matching,
    nothing_matches,
    other_conventions,
    sources,
)
from harness.reporting.published.points import PublishedPoint, published_points
from harness.results.frame import results_frame

OF_THE_PAPER: dict[str, Any] = {"batch": 16, "heads": 32, "kv_heads": 32, "dtype": "f16", "head_dim": 64}


def frame_of(**fields: Any) -> pd.DataFrame:
    values = {**OF_THE_PAPER, **fields}
    seq, head_dim = values.pop("seq", 1024), values.pop("head_dim")
    return prepare(results_frame([make_result("flash", seq, head_dim, time_s=1.0, **values)]))


def matches(**fields: Any) -> list[tuple[Any, PublishedPoint]]:
    return matching(frame_of(**fields), published_points(), "seq_q")


def test_a_row_has_the_points_of_its_problem_at_its_place() -> None:
    found = matches()
    assert {point.implementation for _, point in found} >= {"FlashAttention-2", "FlashAttention-3", "cuDNN"}
    assert {place for place, _ in found} == {1024}
    assert {point.problem.is_causal for _, point in found} == {False}


@pytest.mark.parametrize(
    "other",
    [
        {"dtype": "bf16"},
        {"batch": 15},
        {"heads": 64},
        {"kv_heads": 16},
        {"head_dim": 72},
        {"seq": 1025},
        {"mask": "lengths"},
        {"mask": "window(64,0)"},
        {"head_dim_v": 128},
        {"seq_kv": 2048},
        {"softcap": 30.0},
        {"bias": True},
        {"sinks": True},
        {"log_sum_exp": True},
        {"flop_convention": "all pairs"},
    ],
)
def test_what_differs_in_anything_has_none(other: dict[str, Any]) -> None:
    assert matches(**other) == []


@pytest.mark.parametrize("mask", ["causal", "causal-top-left"])
def test_where_a_causal_mask_is_aligned_does_not_matter_for_equal_lengths(mask: str) -> None:
    found = matches(mask=mask, causal=True)
    assert {point.problem.is_causal for _, point in found} == {True}


def test_points_with_sinks_need_a_problem_with_sinks() -> None:
    shape = {"batch": 1, "heads": 64, "kv_heads": 8, "dtype": "bf16", "seq": 4096}
    assert matches(**shape) == []
    assert {point.device for _, point in matches(**shape, sinks=True)} == {"NVIDIA H800"}


def test_variants_of_one_problem_share_its_points() -> None:
    rows = [
        make_result(name, 1024, time_s=1.0, **{k: v for k, v in OF_THE_PAPER.items() if k != "head_dim"})
        for name in ("flash", "unfused")
    ]
    frame = prepare(results_frame(rows))
    assert matching(frame, published_points(), "seq_q") == matches()


def test_a_line_says_what_was_compared_with_how_many_points() -> None:
    line = nothing_matches(frame_of(dtype="f32"), published_points())
    assert line.startswith("none of 262 published points is of a measured problem")
    assert "dtype f32; batch 16; heads 32; kv_heads 32; head_dim 64; seq_q 1024; mask full" in line


def test_a_line_says_whose_operations_are_counted_otherwise() -> None:
    assert other_conventions(frame_of()) is None
    line = other_conventions(frame_of(flop_convention="all pairs"))
    assert line is not None
    assert line.startswith("1 of 1 rows count FLOPs otherwise than published points do (all pairs)")


def test_the_sources_of_points_are_named_once() -> None:
    text = sources(point for _, point in matches())
    assert text.count("FlashAttention-3 paper") == 1
    assert "NVIDIA H100 SXM5: FlashAttention-3 · FlashAttention-2" in text


def test_different_numbers_for_one_kernel_and_problem_are_told() -> None:
    (point,) = [p for _, p in matches() if p.implementation == "cuDNN"]
    assert list(disagreements([point, point])) == []
    (line,) = disagreements([point, replace(point, tflops=597.0, source="another file")])
    assert line == (
        "Published numbers disagree: NVIDIA H100 SXM5, cuDNN (as of 2024-07), b16 h32 s1024 d64 f16 full: "
        "373 and 597 TFLOP/s; all are shown."
    )
