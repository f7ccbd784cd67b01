"""`flash` that goes over the keys in parts, on NVIDIA's GPUs: executed by the emulator."""

from pathlib import Path

import pytest
from emulated_runs import assert_right, build
from sweeps import sweep

from harness.problem.attention_problem import AttentionProblem

SHAPES = {
    "decode": AttentionProblem(heads=2, seq_q=1, seq_kv=300, head_dim=64, dtype="f16"),
    "decode-grouped": AttentionProblem(
        batch=2, heads=4, kv_heads=2, seq_q=1, seq_kv=210, head_dim=32, dtype="bf16", causal=True
    ),
    "causal": AttentionProblem(heads=1, seq_q=200, head_dim=64, dtype="f16", causal=True),
    "top-left": AttentionProblem(
        heads=1,
        seq_q=70,
        seq_kv=200,
        head_dim=32,
        head_dim_v=64,
        dtype="bf16",
        causal=True,
        causal_alignment="top-left",
    ),
    "queries-without-keys": AttentionProblem(
        heads=2, seq_q=130, seq_kv=129, head_dim=32, dtype="f16", causal=True
    ),
    "single-precision": AttentionProblem(heads=2, seq_q=5, seq_kv=200, head_dim=32, dtype="f32"),
    "one-point": AttentionProblem(heads=1, seq_q=17, seq_kv=200, head_dim=64, dtype="f16"),
}


@pytest.mark.parametrize("shape", sweep(SHAPES, but=["decode-grouped", "causal"]))
def test_parts_are_right_and_the_checks_find_nothing(shape: str, tmp_path: Path) -> None:
    artifact = build(SHAPES[shape], tmp_path, params={"kv_splits": 3})
    assert [kernel["name"] for kernel in artifact.launch["kernels"]] == ["parts", "combine"]
    assert_right(artifact, tmp_path)


@pytest.mark.sweep
def test_division_at_every_step_is_right_in_parts(tmp_path: Path) -> None:
    assert_right(
        build(SHAPES["causal"], tmp_path, params={"kv_splits": 3, "division": "every-step"}), tmp_path
    )


@pytest.mark.parametrize(
    "distribution",
    sweep(["large-logits", "negative-logits", "minus-infinity-columns"], but=["negative-logits"]),
)
def test_parts_are_right_for_extreme_inputs(distribution: str, tmp_path: Path) -> None:
    assert_right(build(SHAPES["causal"], tmp_path, params={"kv_splits": 2}), tmp_path, distribution)


def test_few_workgroups_go_over_long_rows_in_parts_by_themselves(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=2, seq_q=1, seq_kv=600, head_dim=32, dtype="f16")
    artifact = build(problem, tmp_path)
    assert [kernel["grid"] for kernel in artifact.launch["kernels"]] == [4, 2]
    assert_right(artifact, tmp_path)


def test_a_large_grid_is_one_kernel(tmp_path: Path) -> None:
    problem = AttentionProblem(batch=4, heads=64, seq_q=1, seq_kv=600, head_dim=32, dtype="f16")
    artifact = build(problem, tmp_path)
    assert [kernel["name"] for kernel in artifact.launch["kernels"]] == ["attention"]


@pytest.mark.sweep
def test_only_rows_that_exist_are_kept_between_the_kernels(tmp_path: Path) -> None:
    artifact = build(SHAPES["decode"], tmp_path, params={"kv_splits": 3})
    shapes = {buffer["name"]: buffer["shape"] for buffer in artifact.launch["kernels"][0]["buffers"]}
    assert shapes["partial_output"] == [1, 2, 3, 1, 64]
    assert shapes["partial_maximum"] == shapes["partial_total"] == [1, 2, 3, 1]


@pytest.mark.parametrize("causal", sweep([False, True], but=[True]))
def test_parts_execute_what_one_part_does(causal: bool, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=200, head_dim=32, dtype="f16", causal=causal)
    executed = []
    for splits in (1, 3):
        artifact = build(problem, tmp_path / str(splits), params={"kv_splits": splits})
        executed.append(artifact.metrics.flops_executed)
    assert executed[0] == executed[1]
