import warnings

import numpy as np
import pytest

from harness.oracle.expected import require_scores_in_range
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.errors import InputError

DTYPES = ["f32", "f16", "bf16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_beyond_their_length_may_be_nan_without_a_warning(dtype: str) -> None:
    problem = AttentionProblem(
        batch=2, heads=2, seq_q=1, seq_kv=40, head_dim=8, kv_lengths=(40, 17), dtype=dtype
    )
    inputs = make_inputs(problem)
    assert np.isnan(inputs.k.astype(np.float32)).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_scores_in_range(inputs, problem)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beyond", [0.0, np.nan, -np.inf])
def test_scores_too_large_for_f32_are_refused_whatever_lies_beside_them(dtype: str, beyond: float) -> None:
    problem = AttentionProblem(heads=1, seq_q=3, seq_kv=9, head_dim=8, scale=1e30, dtype=dtype)
    inputs = make_inputs(problem)
    inputs.k[..., 8, :] = beyond
    require_scores_in_range(inputs, problem.model_copy(update={"scale": 1e28}))
    with pytest.raises(InputError, match="scale: scores of size"):
        require_scores_in_range(inputs, problem)
