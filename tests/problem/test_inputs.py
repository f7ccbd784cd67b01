import ml_dtypes
import numpy as np
import pytest
from sweeps import sweep

from harness.oracle.expected import reference
from harness.problem.attention_problem import AttentionProblem
from harness.problem.distributions import DISTRIBUTIONS
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import guarded, lengths_of, make_inputs

PROBLEMS = {
    "plain": AttentionProblem(heads=2, seq_q=37, head_dim=8),
    "grouped": AttentionProblem(batch=2, heads=4, kv_heads=2, seq_q=9, seq_kv=20, head_dim=8, head_dim_v=6),
    "masked": AttentionProblem(batch=2, heads=2, seq_q=9, seq_kv=20, head_dim=8, mask=True, bias=True),
    "causal": AttentionProblem(batch=2, heads=2, seq_q=30, head_dim=8, causal=True, kv_lengths=(0, 17)),
    "window": AttentionProblem(heads=2, seq_q=30, head_dim=8, window=(0, 0), mask=True),
    "packed": AttentionProblem(heads=2, head_dim=8, cu_seqlens_q=(0, 5, 5, 9), cu_seqlens_kv=(0, 4, 9, 20)),
}

every_problem = pytest.mark.parametrize("name", PROBLEMS)
every_distribution = pytest.mark.parametrize("distribution", DISTRIBUTIONS)


def scaled_scores(inputs, problem):
    q, k = inputs.q.astype(np.float64), inputs.k.astype(np.float64)
    scores = problem.scale * np.einsum("bhid,bhjd->bhij", q, np.repeat(k, problem.group_size, axis=1))
    return scores if inputs.bias is None else scores + inputs.bias.astype(np.float64)


@every_distribution
@every_problem
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32", "bf16"]))
def test_arrays_have_the_problems_shape_and_dtype(name, distribution, dtype):
    problem = PROBLEMS[name].model_copy(update={"dtype": dtype})
    inputs = make_inputs(problem, distribution)
    arrays = [inputs.q, inputs.k, inputs.v] + ([inputs.bias] if problem.bias else [])
    shapes = [problem.q_shape, problem.k_shape, problem.v_shape] + (
        [problem.bias_shape] if problem.bias else []
    )
    assert [array.shape for array in arrays] == shapes
    assert {array.dtype for array in arrays} == {numpy_dtype(dtype)}
    assert all(array.flags.c_contiguous for array in arrays)
    assert (inputs.mask is not None, inputs.bias is not None) == (problem.mask, problem.bias)


@every_distribution
@every_problem
def test_no_distribution_makes_the_output_non_finite(name, distribution):
    problem = PROBLEMS[name]
    assert np.isfinite(reference(make_inputs(problem, distribution), problem)).all()


@every_distribution
def test_same_seed_gives_same_arrays(distribution):
    problem = PROBLEMS["masked"]
    first, second = make_inputs(problem, distribution, seed=3), make_inputs(problem, distribution, seed=3)
    assert all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("q", "k", "v", "mask", "bias")
    )


def test_mask_has_a_row_without_keys_and_rows_with_some():
    mask = make_inputs(PROBLEMS["masked"]).mask
    assert mask is not None
    assert mask.dtype == bool
    assert mask.shape == (2, 1, 9, 20)
    assert not mask[:, :, -1].any()
    assert mask[:, :, :-1].any()
    assert not mask[:, :, :-1].all()


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32", "bf16"]))
@pytest.mark.parametrize("scale", [None, 0.01, 1.0])
def test_large_logits_overflow_an_exponential_without_maximum(dtype, scale):
    problem = AttentionProblem(heads=2, seq_q=200, head_dim=64, dtype=dtype, scale=scale)
    inputs = make_inputs(problem, "large-logits")
    scores = scaled_scores(inputs, problem)
    assert 90 < np.abs(scores).max() < 200
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(scores.astype(np.float32))).any()


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32", "bf16"]))
@pytest.mark.parametrize("scale", sweep([None, -0.5, 0.05], but=[-0.5]))
@pytest.mark.parametrize("head_dim", sweep([64, 128], but=[64]))
@pytest.mark.parametrize(("sinks", "bias"), [(False, False), (True, False), (True, True)])
def test_negative_logits_leave_nothing_of_an_exponential_without_maximum(dtype, scale, head_dim, sinks, bias):
    problem = AttentionProblem(
        heads=2, seq_q=20, head_dim=head_dim, dtype=dtype, scale=scale, sinks=sinks, bias=bias
    )
    scores = scaled_scores(make_inputs(problem, "negative-logits"), problem)
    start = 0 if sinks and not bias and dtype != "f32" else -1000
    assert scores.max() < start - 120
    assert not np.exp((scores - start).astype(np.float32)).any()


@pytest.mark.parametrize("width", [None, 32])
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32", "bf16"]))
def test_a_bias_of_negative_logits_is_a_mask_of_finite_numbers(dtype, width):
    problem = AttentionProblem(
        heads=2, seq_q=9, head_dim=8, dtype=dtype, bias=True, bias_axes="hqk", model_width=width
    )
    inputs = make_inputs(problem, "negative-logits")
    least = ml_dtypes.finfo(numpy_dtype(dtype)).min
    hides = inputs.bias == least
    assert set(np.unique(inputs.bias.astype(np.float64))) == {float(least), -16384.0}
    share = hides.mean(axis=-1).reshape(-1, 3)
    assert ((share[:, [0, 2]] > 0.3) & (share[:, [0, 2]] < 0.5)).all()
    assert (share[:, 1] == 1).all()
    output = reference(inputs, problem) if width is None else None
    assert not inputs.q.any()
    if output is not None:
        mean = inputs.v.astype(np.float64).mean(axis=2)
        np.testing.assert_allclose(output[:, :, 1], mean, rtol=1e-12)


def without_heavy_keys(scores: np.ndarray) -> np.ndarray:
    """Return the rows of scores, `[rows, seq_kv]`, of which no key weighs more than all others."""
    rows = scores.reshape(-1, scores.shape[-1])
    return rows[rows.max(axis=-1) < 1]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_cancelling_probabilities_all_round_down_in_a_coarser_type_and_not_in_their_own(dtype):
    problem = AttentionProblem(heads=2, seq_q=20, seq_kv=200, head_dim=64, dtype=dtype)
    scores = without_heavy_keys(scaled_scores(make_inputs(problem, "cancelling"), problem))
    light = np.exp(scores[..., 1::2])
    step = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    assert not scores[..., ::2].any()
    assert (light > 0.5 * (1 + step)).all()
    assert (light < 0.5 * (1 + 4 * step)).all()
    error = light - light.astype(numpy_dtype(dtype)).astype(np.float64)
    assert abs(error.mean()) < 0.1 * 0.5 * step


def test_cancelling_values_leave_little():
    problem = AttentionProblem(heads=2, seq_q=20, seq_kv=400, head_dim=64, dtype="f16")
    inputs = make_inputs(problem, "cancelling")
    outputs = reference(inputs, problem)[scaled_scores(inputs, problem).max(axis=-1) < 1]
    assert np.sqrt((outputs**2).mean()) < 0.05 * np.sqrt((inputs.v.astype(np.float64) ** 2).mean())


@pytest.mark.parametrize("fields", [{"mask": True, "bias": True, "sinks": True}, {"model_width": 24}])
def test_guarded_inputs_are_those_that_are_drawn(fields):
    problem = AttentionProblem(heads=2, seq_q=9, head_dim=8, **fields)
    drawn, copies = make_inputs(problem), guarded(make_inputs(problem))
    assert drawn.arrays().keys() == copies.arrays().keys()
    for name, array in copies.arrays().items():
        assert np.array_equal(array, drawn.arrays()[name])
        assert array.base is not None


PROJECTED = {"heads": 4, "kv_heads": 2, "seq_q": 200, "head_dim": 16, "model_width": 24}


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32", "bf16"]))
@pytest.mark.parametrize("scale", [None, -0.5])
def test_projected_tokens_have_negative_logits_too(dtype, scale):
    problem = AttentionProblem(**PROJECTED, dtype=dtype, scale=scale)
    inputs = make_inputs(problem, "negative-logits")
    assert scaled_scores(inputs, problem).max() < -1000
    assert inputs.v.astype(np.float32).std() > 0.3


@pytest.mark.parametrize("axes", [None, "k"])
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32", "bf16"]))
@pytest.mark.parametrize("scale", [None, -0.5])
def test_minus_infinity_columns_are_so_for_every_query(axes, dtype, scale):
    bias = {} if axes is None else {"bias": True, "bias_axes": axes}
    problem = AttentionProblem(heads=2, seq_q=40, seq_kv=50, head_dim=8, dtype=dtype, scale=scale, **bias)
    scores = scaled_scores(make_inputs(problem, "minus-infinity-columns"), problem)
    columns = np.isneginf(scores)
    assert not np.isnan(scores).any()
    assert np.array_equal(columns, np.broadcast_to(columns[:1, :1, :1], columns.shape))
    hidden = set(np.flatnonzero(columns[0, 0, 0]))
    assert hidden >= {1, 8, 15, 22, 29, 36, 43}
    runs = {*range(12), *range(38, 50)} if axes == "k" else set()
    assert hidden - {1, 8, 15, 22, 29, 36, 43} <= runs <= hidden


AXES = ["qk", "bhqk", "bqk", "hqk", "k", "q", "bk", "hk", "bhk"]


@pytest.mark.parametrize("mask_axes", sweep(AXES, but=["bhqk", "k"]))
@pytest.mark.parametrize("bias_axes", sweep(AXES, but=["qk", "hk", "bk"]))
def test_every_query_that_sees_keys_has_a_finite_score_whatever_differs_along_which_axes(
    mask_axes, bias_axes
):
    problem = AttentionProblem(
        batch=2,
        heads=2,
        seq_q=20,
        seq_kv=24,
        head_dim=8,
        window=(9, 9),
        mask=True,
        mask_axes=mask_axes,
        bias=True,
        bias_axes=bias_axes,
    )
    output = reference(make_inputs(problem, "minus-infinity-columns"), problem)
    normal = reference(make_inputs(problem), problem)
    assert np.array_equal((output != 0).any(axis=-1), (normal != 0).any(axis=-1))


@every_distribution
def test_what_a_padded_batch_entry_does_not_have_is_nan(distribution):
    inputs = make_inputs(PROBLEMS["causal"], distribution)
    for entry, length in enumerate((0, 17)):
        for array in (inputs.k, inputs.v):
            assert np.isnan(array[entry, :, length:]).all()
            assert not np.isnan(array[entry, :, :length]).any()


def test_lengths_are_given_as_integers_by_the_names_of_arguments():
    found = {name: lengths_of(problem) for name, problem in PROBLEMS.items()}
    assert found["plain"] == {}
    assert {name: values.tolist() for name, values in found["causal"].items()} == {"kv_lengths": [0, 17]}
    assert {name: values.tolist() for name, values in found["packed"].items()} == {
        "cu_seqlens_q": [0, 5, 5, 9],
        "cu_seqlens_kv": [0, 4, 9, 20],
    }
    assert {values.dtype for lengths in found.values() for values in lengths.values()} == {np.dtype(np.int32)}
