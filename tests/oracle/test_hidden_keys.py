"""Kernels that go wrong beside a mask are refused, whichever queries and keys that concerns."""

from typing import Any

import numpy as np
import pytest

from harness.oracle.expected import expect, same_precision
from harness.oracle.reference import heads, masked_scores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs


def careless(inputs: Inputs, problem: AttentionProblem, mistake: str) -> np.ndarray:
    """A kernel over tiles of 32 keys that goes wrong where a mask hides all of a tile from a row or block."""
    output = np.zeros(problem.output_shape, np.float32)
    for head in heads(inputs, problem):
        for start in range(0, problem.seq_q, 16):
            rows = slice(start, start + 16)
            peak, total = np.full(16, -np.inf, np.float32), np.zeros(16, np.float32)
            accumulator = np.zeros((16, head.v.shape[1]), np.float32)
            for first in range(0, len(head.k), 32):
                keys = slice(first, first + 32)
                scores, _ = masked_scores(head, rows, problem, head.q[rows], head.k, keys)
                if mistake == "ends its loop" and np.isneginf(scores).all():
                    break
                all_scores = np.float32(problem.scale) * (head.q[rows] @ head.k[keys].T)
                seen = all_scores if mistake == "maximum of hidden keys" else scores
                new_peak = np.maximum(peak, seen.max(axis=1))
                safe = new_peak if mistake == "inf - inf" else np.where(np.isneginf(new_peak), 0, new_peak)
                with np.errstate(invalid="ignore"):
                    weights, correction = np.exp(scores - safe[:, None]), np.exp(peak - safe)
                total = correction * total + weights.sum(axis=1)
                accumulator = correction[:, None] * accumulator + weights @ head.v[keys]
                peak = new_peak
            with np.errstate(invalid="ignore", divide="ignore"):
                output[head.index][rows] = np.nan_to_num(accumulator / total[:, None])
    return output


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("fields", [{"causal": True}, {"window": (9, 0)}])
@pytest.mark.parametrize("quarter", range(4))
def test_no_quarter_of_the_queries_is_without_causality_or_window_beside_a_mask(
    quarter: int, fields: dict[str, Any], distribution: str
) -> None:
    problem = AttentionProblem(heads=2, seq_q=64, head_dim=16, mask=True, **fields)
    inputs = make_inputs(problem, distribution)
    expected, rows = expect(inputs, problem), slice(16 * quarter, 16 * quarter + 16)
    right = same_precision(inputs, problem)
    everywhere = same_precision(inputs, problem.model_copy(update={"causal": False, "window": None}))
    for wrong in (everywhere, np.zeros_like(right)):
        output = right.copy()
        output[:, :, rows] = wrong[:, :, rows]
        assert not expected.check(output).ok
    assert expected.check(right).ok


@pytest.mark.parametrize("axes", ["qk", "bhqk"])
@pytest.mark.parametrize("mistake", ["none", "inf - inf", "ends its loop", "maximum of hidden keys"])
def test_kernels_that_go_wrong_where_a_whole_tile_is_hidden_are_refused(mistake: str, axes: str) -> None:
    problem = AttentionProblem(heads=2, seq_q=64, seq_kv=128, head_dim=32, mask=True, mask_axes=axes)
    verdicts = []
    for distribution in ("normal", "large-logits"):
        inputs = make_inputs(problem, distribution)
        verdicts.append(expect(inputs, problem).check(careless(inputs, problem, mistake)).ok)
    assert all(verdicts) == (mistake == "none")
