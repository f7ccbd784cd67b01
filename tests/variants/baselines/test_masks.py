import numpy as np
import pytest

from harness.problem.attention_problem import AttentionProblem
from harness.variants.baselines.masks import mask_shape, visible_keys


@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ({}, None),
        ({"bias": True}, None),
        ({"causal": True}, (1, 1, 3, 4)),
        ({"window": (1, 1)}, (1, 1, 3, 4)),
        ({"kv_lengths": (4, 0)}, (2, 1, 3, 4)),
        ({"mask": True, "causal": True}, (2, 6, 3, 4)),
    ],
)
def test_mask_has_only_the_dimensions_that_it_varies_along(fields, shape):
    problem = AttentionProblem(batch=2, heads=6, seq_q=3, seq_kv=4, head_dim=8, **fields)
    assert mask_shape(problem) == shape


def test_causal_is_aligned_bottom_right_to_each_length():
    problem = AttentionProblem(
        batch=2, heads=1, seq_q=2, seq_kv=4, head_dim=8, causal=True, kv_lengths=(4, 2)
    )
    expected = [[[[1, 1, 1, 0], [1, 1, 1, 1]]], [[[1, 0, 0, 0], [1, 1, 0, 0]]]]
    np.testing.assert_array_equal(visible_keys(problem, None), np.array(expected, dtype=bool))


def test_boolean_mask_hides_keys_besides_the_causal_ones():
    problem = AttentionProblem(heads=1, seq_q=2, head_dim=8, causal=True, mask=True)
    mask = np.array([[True, True], [False, True]])
    expected = [[[[True, False], [False, True]]]]
    np.testing.assert_array_equal(visible_keys(problem, mask), np.array(expected))


def test_queries_without_keys_counts_over_the_batch():
    problem = AttentionProblem(
        batch=2, heads=1, seq_q=5, seq_kv=4, head_dim=8, causal=True, kv_lengths=(4, 0)
    )
    assert problem.queries_without_keys() == 1 + 5
