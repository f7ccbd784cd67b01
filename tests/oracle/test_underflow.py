"""Rows of which sinks leave next to nothing: what underflow may change of them, and what it may not."""

import numpy as np
import pytest
from sweeps import sweep

from harness.oracle.expected import expect, same_precision
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize(("seq_q", "seq_kv"), [(1, 1), (5, 2), (64, 1), (64, 5)])
def test_right_outputs_pass_where_sinks_leave_next_to_nothing(dtype: str, seq_q: int, seq_kv: int) -> None:
    problem = AttentionProblem(heads=4, seq_q=seq_q, seq_kv=seq_kv, head_dim=64, dtype=dtype, sinks=True)
    for seed in range(4):
        inputs = make_inputs(problem, "large-logits", seed)
        right = expect(inputs, problem)
        plain = same_precision(inputs, problem)
        flushed = np.where(np.abs(right.reference) < 2.0**-126, 0, right.reference).astype(plain.dtype)
        assert right.check(plain).ok
        assert right.check(flushed).ok


@pytest.mark.parametrize(
    ("seq_q", "seq_kv", "head_dim", "seed"),
    [(2, 1, 4, 36), (1, 2, 8, 264), (64, 1, 8, 121), (5, 1, 64, 2), (5, 1, 64, 312)],
)
def test_scores_rounded_to_their_dtype_pass_where_only_rows_that_underflow_tell_of_it(
    seq_q: int, seq_kv: int, head_dim: int, seed: int
) -> None:
    problem = AttentionProblem(
        heads=1,
        seq_q=seq_q,
        seq_kv=seq_kv,
        head_dim=head_dim,
        dtype="bf16",
        sinks=True,
        causal=seq_q == 64,
    )
    inputs = make_inputs(problem, "large-logits", seed)
    right = expect(inputs, problem)
    assert right.check(same_precision(inputs, problem)).ok


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_rows_that_underflow_leave_the_others_narrow(dtype: str) -> None:
    """The inputs of each query are a multiple of the same ones: scores fall from 0 to −40."""
    problem = AttentionProblem(heads=1, seq_q=41, seq_kv=1, head_dim=16, scale=1.0, dtype=dtype, sinks=True)
    inputs = make_inputs(problem)
    inputs.q[:], inputs.k[:], inputs.sinks[:] = 0, 1, 1
    inputs.q[0, 0, :, 0] = -np.arange(41)
    right = expect(inputs, problem)
    relative = right.tolerance[0, 0] / np.sqrt(np.mean(right.reference[0, 0] ** 2, axis=1))
    assert relative[0] < {"f32": 1e-5, "f16": 0.02}[dtype]
    assert relative[-1] < 1e-4 if dtype == "f32" else relative[-1] > 1e6


def test_a_row_of_zeros_by_underflow_is_0_or_next_to_it_but_without_keys_it_is_0() -> None:
    problem = AttentionProblem(heads=1, seq_q=2, seq_kv=1, head_dim=4, causal=True, scale=1.0, sinks=True)
    inputs = make_inputs(problem)
    inputs.q[:], inputs.k[:], inputs.v[:] = -1000, 1, 1
    right = expect(inputs, problem)
    assert not right.reference.any()
    assert right.tolerance[0, 0, 0] == 0
    assert 1e-38 < right.tolerance[0, 0, 1] < 1e-37
