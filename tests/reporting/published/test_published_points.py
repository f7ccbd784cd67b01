"""Published points, and which of them are of measured problems."""

from typing import Any

import pandas as pd
import pytest
from synthetic_results import make_result

from harness.reporting.frames import prepare
from harness.reporting.published.points import (
    matching,
    published_points,
    sources,
)
from harness.results.frame import results_frame
from harness.system.errors import InputError

OF_THE_PAPER: dict[str, Any] = {"batch": 16, "heads": 32, "kv_heads": 32, "dtype": "f16", "head_dim": 64}


def test_the_table_holds_every_point_once_with_its_source() -> None:
    points = published_points()
    assert len(points) == 663
    assert not points.duplicated().any()
    assert (points[["source", "device", "implementation"]] != "").all(axis=None)
    assert (points["heads"] % points["kv_heads"] == 0).all()
    assert set(points["dtype"]) == {"f16", "bf16"}
    assert points["tflops"].dropna().between(1, 5000).all()


def test_memory_that_ran_out_is_no_number() -> None:
    points = published_points()
    without = points[points["tflops"].isna()]
    assert set(without["device"]) == {"NVIDIA H100 SXM5", "NVIDIA A100 40 GB"}
    assert set(without["status"]) == {"out-of-memory"}


def test_points_are_chosen_by_parts_of_names() -> None:
    points = published_points(["h200", "GB300"], ["cudnn"])
    assert set(points["device"]) == {"NVIDIA H200", "NVIDIA GB300"}
    assert set(points["implementation"]) == {"cuDNN"}
    assert "NVIDIA H200, cuDNN" in set(points["label"])


def matches(**fields: Any) -> pd.DataFrame:
    values = {**OF_THE_PAPER, **fields}
    seq, head_dim = values.pop("seq", 1024), values.pop("head_dim")
    row = make_result("flash", seq, head_dim, time_s=1.0, **values)
    return matching(prepare(results_frame([row])), published_points())


def test_names_that_no_point_has_are_a_mistake() -> None:
    with pytest.raises(InputError, match=r"published_devices: found Z100, .*NVIDIA H100"):
        published_points(devices=["Z100"])


def test_a_row_has_the_points_of_its_problem() -> None:
    points = matches()
    assert set(points["implementation"]) >= {"FlashAttention-2", "FlashAttention-3", "cuDNN"}
    assert set(points["seq_q"]) == {1024}
    assert not points["causal"].any()
    assert matches(mask="causal-top-left", causal=True)["causal"].all()


@pytest.mark.parametrize(
    "other",
    [
        {"dtype": "bf16"},
        {"batch": 15},
        {"kv_heads": 16},
        {"head_dim": 72},
        {"seq": 1025},
        {"mask": "window(64,0)"},
        {"head_dim_v": 128},
        {"seq_kv": 2048},
        {"softcap": 30.0},
        {"bias": True},
        {"sinks": True},
        {"flop_convention": "all pairs"},
    ],
)
def test_what_differs_in_anything_has_none(other: dict[str, Any]) -> None:
    assert matches(**other).empty


def test_points_with_sinks_need_a_problem_with_sinks() -> None:
    shape = {"batch": 1, "heads": 64, "kv_heads": 8, "dtype": "bf16", "seq": 4096, "head_dim": 64}
    assert "NVIDIA H800" not in set(matches(**shape)["device"])
    assert set(matches(**shape, sinks=True)["device"]) == {"NVIDIA H800"}


def test_points_of_an_a100_are_there() -> None:
    of_paper = matches(heads=8, kv_heads=8, seq=2048)
    assert dict(zip(of_paper["implementation"], of_paper["tflops"], strict=True)) == {
        "FlashAttention": 57.3,
        "PyTorch, unfused": 31.8,
        "Megatron": 32.1,
    }
    assert set(of_paper["device"]) == {"NVIDIA A100 40 GB"}
    second = matches(head_dim=128, kv_heads=8, causal=True, mask="causal")
    assert set(second["label"]) == {"NVIDIA A100, FlashAttention-2"}


def test_a_narrower_v_is_another_problem() -> None:
    shape = {"dtype": "bf16", "batch": 2, "heads": 128, "kv_heads": 128, "seq": 8192, "head_dim": 192}
    assert matches(**shape).empty
    assert set(matches(**shape, head_dim_v=128)["implementation"]) == {"cuDNN"}


def test_long_lists_of_sources_are_shortened() -> None:
    text = sources(published_points())
    assert len(text) < 700
    assert "more sources" in text
    assert "benchmark/" not in text


def test_the_sources_of_points_are_named_once() -> None:
    text = sources(matches())
    assert text.count("FlashAttention-3 paper") == 1
    assert "NVIDIA H100 SXM5: FlashAttention-3 · FlashAttention-2" in text


def test_a_version_is_named_where_there_are_several_else_by_the_caption() -> None:
    points = published_points(["Max 1550", "H100 SXM5"])
    labels = set(points["label"])
    assert {
        f"Intel Data Center GPU Max 1550, Triton XPU (as of {of})" for of in ("2024-09", "2026-01")
    } < labels
    assert "NVIDIA H100 SXM5, FlashAttention-3" in labels
    assert "as of 2024-07" in sources(points)
