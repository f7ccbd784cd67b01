"""Points of the problems that are nearest to measured ones, where none is of the same."""

from typing import Any

import pandas as pd
import pytest
from synthetic_results import make_result

from harness.reporting.frames import prepare
from harness.reporting.published.nearest import nearest
from harness.reporting.published.points import published_points
from harness.results.frame import results_frame

SIZES: dict[str, Any] = {"dtype": "f16", "batch": 16, "heads": 8, "kv_heads": 8}


def frame_of(*seqs: int, head_dim: int = 64, **fields: Any) -> pd.DataFrame:
    rows = [make_result("flash", seq, head_dim, time_s=1.0, **{**SIZES, **fields}) for seq in seqs]
    return prepare(results_frame(rows))


def of_an_a100(*seqs: int, x: str = "seq", **fields: Any) -> tuple[pd.DataFrame, list[str]]:
    return nearest(frame_of(*seqs, **fields), published_points(["A100"]), x)


def test_the_nearest_length_stands_at_its_own_place_and_says_that_it_is_another_problem() -> None:
    points, words = of_an_a100(2047)
    assert set(points["seq"]) == {2048}
    assert set(points["seq_kv"]) == {2048}
    assert "NVIDIA A100 40 GB, FlashAttention (other problem)" in set(points["label"])
    assert words == ["head dim 64", "seq 2048", "batch 16", "heads 8", "f16"]


def test_a_point_counts_once_for_the_row_that_it_is_nearest_to() -> None:
    points, _ = of_an_a100(1800, 2000, 2200)
    assert set(points["seq"]) == {2048}
    assert not points["label"].duplicated().any()


def test_the_width_counts_most_and_is_named_where_it_is_another() -> None:
    points, words = of_an_a100(1024, head_dim=96, causal=True, mask="causal")
    assert set(points["head_dim"]) == {96}
    assert set(points["label"]) == {"NVIDIA A100, FlashAttention-2 (other problem, head dim 128)"}
    assert "head dim 128" in words
    of_widths, words = of_an_a100(2048, head_dim=64, batch=1, heads=32, kv_heads=32)
    assert "head dim 64" in words
    assert set(of_widths["batch"]) == {1}


def test_along_another_axis_a_point_stands_at_its_own_place() -> None:
    points, _ = of_an_a100(2047, batch=15, x="batch")
    assert set(points["batch"]) == {16}
    assert set(points["seq_q"]) == {2047}


@pytest.mark.parametrize("fields", [{"dtype": "f32"}, {"sinks": True}, {"softcap": 30.0}])
def test_other_arithmetic_has_no_nearest_point(fields: dict[str, Any]) -> None:
    points, _ = of_an_a100(2048, **fields)
    assert points.empty


def test_formats_of_sixteen_bits_are_near_each_other() -> None:
    points, words = of_an_a100(2048, dtype="bf16")
    assert set(points["dtype"]) == {"bf16"}
    assert words[-1] == "f16"
