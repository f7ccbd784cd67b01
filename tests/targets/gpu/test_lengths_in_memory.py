"""Kernels whose loops end where lengths in memory say compute no more than they have to."""

from pathlib import Path

from emulated_runs import build

from harness.problem.attention_problem import AttentionProblem


def test_sequences_that_a_tile_does_not_touch_are_not_computed(tmp_path: Path) -> None:
    executed = {}
    for count in (1, 2):
        starts = tuple(128 // count * number for number in range(count + 1))
        problem = AttentionProblem(
            heads=1, head_dim=32, dtype="f16", cu_seqlens_q=starts, cu_seqlens_kv=starts
        )
        executed[count] = build(problem, tmp_path / str(count), "varlen").metrics.flops_executed
    assert executed[2] * 2 == executed[1]
