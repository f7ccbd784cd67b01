"""Under `cancelling` some queries see one key that weighs about as much as all others together."""

from typing import Any

import numpy as np
import pytest
from sweeps import sweep

from harness.oracle.expected import expect
from harness.oracle.reference import heads
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs
from harness.problem.set_scores import FEWEST_OTHERS

PROBLEMS: dict[str, dict[str, Any]] = {
    "full": {"seq_q": 200},
    "decode": {"seq_q": 1, "seq_kv": 300},
    "causal": {"seq_q": 200, "causal": True},
    "bias": {"seq_q": 200, "bias": True},
    "lengths": {"seq_q": 200, "batch": 2, "kv_lengths": (150, 200)},
    "packed": {"cu_seqlens_q": (0, 40, 40, 90), "cu_seqlens_kv": (0, 140, 160, 400)},
    "window": {"seq_q": 200, "window": (150, 0)},
}


def probabilities(inputs: Inputs, problem: AttentionProblem) -> list[np.ndarray]:
    """Return each row's probabilities of the keys that it sees, of all heads."""
    rows = []
    for head in heads(inputs, problem):
        first, end = problem.visible_range(np.arange(len(head.q)), len(head.q), len(head.k))
        for row, query in enumerate(head.q.astype(np.float64)):
            scores = problem.scale * (head.k[first[row] : end[row]].astype(np.float64) @ query)
            weights = np.exp(scores - scores.max(initial=0))
            rows.append(weights / max(weights.sum(), 1e-30))
    return rows


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32"]))
@pytest.mark.parametrize("scale", [None, -0.5])
def test_the_first_key_weighs_most_and_the_others_together_a_share(
    name: str, dtype: str, scale: float | None
) -> None:
    problem = AttentionProblem(
        **{"heads": 4, "kv_heads": 2, "head_dim": 16, "dtype": dtype, "scale": scale, **PROBLEMS[name]}
    )
    rows = probabilities(make_inputs(problem, "cancelling"), problem)
    heavy = [row for row in rows if len(row) > FEWEST_OTHERS and row[0] > 0.6]
    assert 0 < len(heavy) < len(rows) / 2
    others = np.array([1 - row[0] for row in heavy])
    assert (others > 0.03).all()
    assert (others > 0.2).any()
    assert any(np.ptp(row[1:]) > 0 for row in heavy)
    assert min(np.median(row[1:]) / row[0] for row in heavy) < np.exp(-5.5)


@pytest.mark.parametrize("fields", [{"scale": 1e-6}, {"head_dim": 3}, {"seq_kv": FEWEST_OTHERS}])
def test_nothing_weighs_most_where_scores_cannot_be_set_or_keys_are_few(fields: dict[str, Any]) -> None:
    problem = AttentionProblem(**{"heads": 4, "head_dim": 16, "seq_q": 200, "seq_kv": 200, **fields})
    rows = probabilities(make_inputs(problem, "cancelling"), problem)
    assert max(row[0] for row in rows) < 0.6


@pytest.mark.parametrize("seq_kv", [333, 512, 1100])
def test_sums_of_one_key_after_the_other_are_right(seq_kv: int) -> None:
    problem = AttentionProblem(heads=4, head_dim=8, seq_q=16, seq_kv=seq_kv)
    inputs = make_inputs(problem, "cancelling")
    scores = np.float32(problem.scale) * np.einsum("bhqd,bhkd->bhqk", inputs.q, inputs.k)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    products = np.einsum("bhqk,bhkd->bhqkd", weights, inputs.v)
    output = np.add.accumulate(products, axis=3)[..., -1, :]
    total = np.add.accumulate(weights, axis=3)[..., -1]
    verdict = expect(inputs, problem).check(output / total[..., None])
    assert verdict.ok, verdict
