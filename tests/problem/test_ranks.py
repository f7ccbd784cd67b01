"""Heads shared out among ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.oracle.expected import reference
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.problem.ranks import inputs_of_rank, joined_outputs, problem_of_rank
from harness.system.errors import UnsupportedError


def problem_of(heads: int, kv_heads: int, **fields: object) -> AttentionProblem:
    return AttentionProblem(
        heads=heads, kv_heads=kv_heads, seq_q=7, head_dim=4, head_dim_v=6, model_width=10, **fields
    )


@given(
    heads=st.sampled_from([(4, 4), (4, 2), (8, 2), (6, 1)]),
    ranks=st.sampled_from([1, 2, 3, 4, 6, 8]),
    output_projection=st.booleans(),
    mask=st.booleans(),
    bias_axes=st.sampled_from(["hqk", "bk", "h"]),
)
def test_what_ranks_give_together_is_the_whole(heads, ranks, output_projection, mask, bias_axes):
    problem = problem_of(
        *heads, output_projection=output_projection, mask=mask, bias=True, bias_axes=bias_axes, sinks=True
    )
    if heads[0] % ranks or (heads[1] % ranks and ranks % heads[1]):
        with pytest.raises(UnsupportedError, match="cannot be shared out evenly"):
            problem_of_rank(problem, ranks)
        return
    inputs, own = make_inputs(problem), problem_of_rank(problem, ranks)
    shares = [inputs_of_rank(inputs, problem, ranks, rank) for rank in range(ranks)]
    outputs = [{"output": reference(share, own)} for share in shares]
    together = joined_outputs(outputs, problem)["output"]
    np.testing.assert_allclose(together, reference(inputs, problem), rtol=1e-5, atol=1e-6)
    assert sum(own.flops() for _ in shares) >= problem.flops()


def test_more_ranks_than_heads_of_keys_have_one_each():
    problem = problem_of(8, 2)
    own = problem_of_rank(problem, 4)
    assert (own.heads, own.kv_heads) == (2, 1)
    inputs = make_inputs(problem)
    keys = [inputs_of_rank(inputs, problem, 4, rank).k for rank in range(4)]
    assert np.array_equal(keys[0], keys[1])
    assert np.array_equal(keys[2], inputs.k[:, 1:2])
