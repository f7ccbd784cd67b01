"""Points of a grid in another order compute the same, on the CPU, where that is asked for."""

import pytest
from sweeps import sweep
from variants.native_runs import build, judge

from harness.problem.attention_problem import AttentionProblem

CAUSAL = AttentionProblem(batch=2, heads=3, seq_q=77, head_dim=16, causal=True)


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
def test_the_longest_first_is_right(variant: str) -> None:
    assert judge(variant, CAUSAL, params={"grid_order": "longest-first", "tile_q": 16}).first_bad is None


def test_only_what_is_asked_for_changes_the_order() -> None:
    threaded = []
    for params in ({"tile_q": 16}, {"tile_q": 16, "grid_order": "longest-first"}):
        artifact, folder = build("flash", CAUSAL, params=params)
        threaded.append((folder / artifact.stage_files["threaded"]).read_text())
    assert "(-d0 + 4)" not in threaded[0]
    assert "(-d0 + 4)" in threaded[1]
