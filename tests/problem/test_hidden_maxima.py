"""Under `large-logits` some queries see keys that score less than keys that are hidden from them."""

from typing import Any

import numpy as np
import pytest

from harness.oracle.reference import heads
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

UNDERFLOWS = 104
"""Beyond this difference of scores, exponentials in f32 are 0."""

PROBLEMS: dict[str, dict[str, Any]] = {
    "packed": {"cu_seqlens_q": (0, 20, 53, 90), "cu_seqlens_kv": (0, 20, 53, 90)},
    "packed, decode": {"cu_seqlens_q": (0, 1, 2, 3), "cu_seqlens_kv": (0, 40, 77, 150)},
    "packed, causal": {"cu_seqlens_q": (0, 20, 40), "cu_seqlens_kv": (0, 20, 40), "causal": True},
    "packed, an empty one": {"cu_seqlens_q": (0, 0, 9, 20), "cu_seqlens_kv": (0, 8, 8, 40)},
    "window before": {"seq_q": 64, "window": (8, 0)},
    "window around": {"seq_q": 64, "window": (16, 16)},
    "causal": {"seq_q": 64, "causal": True},
    "lengths, window": {"seq_q": 64, "batch": 2, "kv_lengths": (40, 64), "window": (4, 4)},
}


def largest_scores(problem: AttentionProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return of each query the largest score that it sees, and that of all keys of the call."""
    inputs = make_inputs(problem, "large-logits")
    seen, anywhere = [], []
    for head in heads(inputs, problem):
        seq_q, seq_kv = len(head.q), len(head.k)
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        keys = inputs.k[:, 0] if problem.is_packed else head.k
        for row in range(seq_q):
            scores = problem.scale * (head.k[first[row] : end[row]] @ head.q[row])
            seen.append(scores.max(initial=-np.inf))
            anywhere.append(np.nanmax(problem.scale * (keys @ head.q[row])))
    return np.array(seen), np.array(anywhere)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("scale", [0.25, -1.0])
def test_a_maximum_over_hidden_keys_leaves_nothing_of_some_queries(name: str, scale: float) -> None:
    problem = AttentionProblem(head_dim=16, heads=2, kv_heads=1, scale=scale, **PROBLEMS[name])
    seen, anywhere = largest_scores(problem)
    leaves_nothing = np.isfinite(seen) & (anywhere - seen > UNDERFLOWS)
    assert leaves_nothing.any()
    assert not leaves_nothing.all()


@pytest.mark.parametrize("fields", [{}, {"scale": 1e-6, "causal": True}, {"sinks": True, "causal": True}])
def test_inputs_stay_where_nothing_is_hidden_or_such_scores_cannot_be(fields: dict[str, Any]) -> None:
    problem = AttentionProblem(heads=2, head_dim=16, seq_q=64, **fields)
    keys, as_drawn = make_inputs(problem, "large-logits").k, make_inputs(problem, "normal").k
    assert np.array_equal(keys[..., 0], as_drawn[..., 0])
