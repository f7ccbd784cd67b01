"""Under `large-logits` some queries see late keys that score far more than all before them."""

from typing import Any

import numpy as np
import pytest

from harness.oracle.reference import heads
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

OVERFLOWS = 89
"""Beyond this difference of scores, exponentials in f32 are infinite."""

PROBLEMS: dict[str, dict[str, Any]] = {
    "full": {"seq_q": 64},
    "odd": {"seq_q": 61},
    "decode": {"seq_q": 1, "seq_kv": 100},
    "causal": {"seq_q": 64, "causal": True},
    "causal, more keys": {"seq_q": 32, "seq_kv": 96, "causal": True},
    "window": {"seq_q": 64, "window": (40, 0)},
    "sinks": {"seq_q": 64, "sinks": True},
    "bias": {"seq_q": 64, "bias": True},
    "mask": {"seq_q": 64, "mask": True},
    "lengths": {"seq_q": 64, "batch": 2, "kv_lengths": (50, 64)},
    "packed": {"cu_seqlens_q": (0, 40, 40, 90), "cu_seqlens_kv": (0, 40, 60, 120)},
    "packed, decode": {"cu_seqlens_q": (0, 1, 2, 3, 4), "cu_seqlens_kv": (0, 40, 80, 150, 200)},
}


def exceeds_the_first_tile(problem: AttentionProblem, tile: int) -> np.ndarray:
    """Return of each query how far its largest score lies above the largest of its first tile of keys."""
    inputs = make_inputs(problem, "large-logits")
    differences = []
    for head in heads(inputs, problem):
        seq_q = len(head.q)
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, len(head.k))
        for row in range(seq_q):
            scores = problem.scale * (head.k[first[row] : end[row]].astype(np.float64) @ head.q[row])
            if head.mask is not None:
                scores = np.where(head.mask[row, first[row] : end[row]], scores, -np.inf)
            if len(scores) > tile and np.isfinite(scores[:tile]).any():
                differences.append(scores.max() - scores[:tile].max())
    return np.array(differences)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("scale", [None, -1.0])
@pytest.mark.parametrize("tile", [4, 32])
def test_a_maximum_of_the_first_tile_overflows(name: str, scale: float | None, tile: int) -> None:
    problem = AttentionProblem(head_dim=16, heads=2, kv_heads=1, scale=scale, **PROBLEMS[name])
    overflows = exceeds_the_first_tile(problem, tile) > OVERFLOWS
    assert overflows.any()
    assert name == "decode" or not overflows.all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_scores_of_such_queries_overflow_without_a_maximum(name: str) -> None:
    problem = AttentionProblem(head_dim=16, heads=2, kv_heads=1, **PROBLEMS[name])
    inputs = make_inputs(problem, "large-logits")
    scores = [problem.scale * (head.q @ head.k.T) for head in heads(inputs, problem)]
    assert max(of_head.max(initial=0) for of_head in scores) > OVERFLOWS


@pytest.mark.parametrize("fields", [{"scale": 1e-6}, {"head_dim": 1}])
def test_keys_stay_where_such_scores_cannot_be(fields: dict[str, Any]) -> None:
    problem = AttentionProblem(**{"heads": 2, "head_dim": 16, "seq_q": 64, **fields})
    assert np.array_equal(make_inputs(problem, "large-logits").k, make_inputs(problem, "normal").k)
