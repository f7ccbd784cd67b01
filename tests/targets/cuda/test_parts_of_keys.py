"""`flash` that goes over the keys in parts, on NVIDIA's GPUs."""

from pathlib import Path

import pytest
from emulated_runs import assert_right, build
from sweeps import sweep

from harness.problem.attention_problem import AttentionProblem

CAUSAL = AttentionProblem(heads=1, seq_q=200, head_dim=64, dtype="f16", causal=True)
DECODE = AttentionProblem(heads=2, seq_q=1, seq_kv=300, head_dim=64, dtype="f16")


@pytest.mark.parametrize(
    "distribution",
    sweep(["large-logits", "negative-logits", "minus-infinity-columns"], but=["negative-logits"]),
)
def test_parts_are_right_for_extreme_inputs(distribution: str, tmp_path: Path) -> None:
    artifact = build(CAUSAL, tmp_path, params={"kv_splits": 2})
    assert [kernel["name"] for kernel in artifact.launch["kernels"]] == ["parts", "combine"]
    assert_right(artifact, tmp_path, distribution)


@pytest.mark.parametrize(
    ("batch", "heads", "grids"), sweep([(1, 2, [4, 2]), (4, 64, [256])], but=[(1, 2, [4, 2])])
)
def test_few_workgroups_go_over_long_rows_in_parts(
    batch: int, heads: int, grids: list[int], tmp_path: Path
) -> None:
    problem = AttentionProblem(batch=batch, heads=heads, seq_q=1, seq_kv=600, head_dim=32, dtype="f16")
    kernels = build(problem, tmp_path).launch["kernels"]
    assert [kernel["grid"] for kernel in kernels] == grids


@pytest.mark.sweep
def test_only_rows_that_exist_are_kept_between_the_kernels(tmp_path: Path) -> None:
    artifact = build(DECODE, tmp_path, params={"kv_splits": 3})
    shapes = {buffer["name"]: buffer["shape"] for buffer in artifact.launch["kernels"][0]["buffers"]}
    assert shapes["partial_output"] == [1, 2, 3, 1, 64]
    assert shapes["partial_maximum"] == shapes["partial_total"] == [1, 2, 3, 1]


@pytest.mark.sweep
@pytest.mark.parametrize("causal", [False, True])
def test_parts_execute_what_one_part_does(causal: bool, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=200, head_dim=32, dtype="f16", causal=causal)
    one, three = (
        build(problem, tmp_path / str(splits), params={"kv_splits": splits}).metrics for splits in (1, 3)
    )
    assert one.flops_executed == three.flops_executed
