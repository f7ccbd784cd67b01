"""Projected outputs: right ones pass, wrong ones do not."""

from dataclasses import replace

import numpy as np
import pytest
from sweeps import sweep

from harness.oracle.expected import expect, same_precision
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs

DTYPES = ["f32", "f16", "bf16"]


def problem_of(dtype: str, **fields: object) -> AttentionProblem:
    sizes = {"batch": 2, "heads": 4, "seq_q": 33, "head_dim": 16, "head_dim_v": 24, "model_width": 40}
    return AttentionProblem(dtype=dtype, output_projection=True, **{**sizes, **fields})


def with_output_weights(inputs: Inputs, weights: np.ndarray) -> Inputs:
    return replace(inputs, projections=replace(inputs.projections, output_weights=weights))


@pytest.mark.parametrize("dtype", sweep(DTYPES, but=["bf16"]))
@pytest.mark.parametrize("distribution", ["normal", "large-logits", "uniform", "constant"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_plain_implementation_is_right(dtype, distribution, causal):
    problem = problem_of(dtype, causal=causal)
    inputs = make_inputs(problem, distribution)
    output = same_precision(inputs, problem)
    assert output.shape == (2, 33, 40)
    assert expect(inputs, problem).check(output).error_ratio < 0.8


def left_out(weights: np.ndarray) -> np.ndarray:
    """Leave out the last head."""
    weights[-24:] = 0
    return weights


def swapped(weights: np.ndarray) -> np.ndarray:
    """Join the first two heads in the wrong order."""
    return np.concatenate([weights[24:48], weights[:24], weights[48:]])


def by_columns(weights: np.ndarray) -> np.ndarray:
    """Join columns of heads alternately, as if the heads lay innermost."""
    return weights.reshape(24, 4, 40).swapaxes(0, 1).reshape(96, 40)


@pytest.mark.parametrize("dtype", sweep(DTYPES, but=["bf16"]))
@pytest.mark.parametrize("mistake", [left_out, swapped, by_columns])
def test_heads_that_are_joined_wrongly_are_wrong(dtype, mistake):
    problem = problem_of(dtype)
    inputs = make_inputs(problem)
    weights = mistake(inputs.projections.output_weights.copy())
    assert not expect(inputs, problem).check(same_precision(with_output_weights(inputs, weights), problem)).ok


@pytest.mark.parametrize("dtype", sweep(DTYPES, but=["bf16"]))
def test_zeros_stale_rows_and_missing_columns_are_wrong(dtype):
    problem = problem_of(dtype)
    inputs = make_inputs(problem)
    expected, right = expect(inputs, problem), same_precision(inputs, problem)
    stale, cut = right.copy(), right.copy()
    stale[1, 20:] *= -1
    cut[..., 32:] = 0
    assert not expected.check(np.zeros_like(right)).ok
    assert not expected.check(cut).ok
    verdict = expected.check(stale)
    assert verdict.first_bad == "batch 1, query 20"
    assert "queries 20–32" in verdict.details


def test_rows_that_see_nothing_are_exactly_0():
    problem = problem_of("f32", window=(0, 0), kv_lengths=(33, 5))
    inputs = make_inputs(problem)
    expected, output = expect(inputs, problem), same_precision(inputs, problem)
    assert expected.check(output).ok
    sees_nothing = np.flatnonzero(expected.tolerance[1] == 0)
    assert len(sees_nothing)
    output[1, sees_nothing[0]] = 1e-30
    assert not expected.check(output).ok
