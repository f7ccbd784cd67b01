import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import sweep

from harness.oracle import expected, plain_errors
from harness.oracle.expected import Expected, expect, reference, same_precision
from harness.oracle.plain_errors import PlainErrors
from harness.oracle.reference import exact_attention, heads, masked_scores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.distributions import DISTRIBUTIONS
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs, make_inputs
from harness.problem.projections import ProjectionInputs
from harness.system.errors import InputError


def dense_head(q, k, v, problem, sink, mask=None, bias=None):
    """One head with the whole score matrix in float64, as the conventions are written."""
    seq_q, seq_kv = len(q), len(k)
    scores = problem.scale * (q @ k.T)
    if problem.softcap is not None:
        scores = problem.softcap * np.tanh(scores / problem.softcap)
    if bias is not None:
        scores = scores + bias
    i, j, shift = np.arange(seq_q)[:, None], np.arange(seq_kv)[None, :], seq_kv - seq_q
    visible = np.ones((seq_q, seq_kv), bool)
    if problem.causal:
        visible &= j <= i + (shift if problem.causal_alignment == "bottom-right" else 0)
    if problem.window is not None:
        left, right = problem.window
        visible &= True if left is None else j >= i + shift - left
        visible &= True if right is None else j <= i + shift + right
    if mask is not None:
        visible &= mask
    output = np.zeros((seq_q, v.shape[1]))
    for row in range(seq_q):
        seen = visible[row] & ~np.isneginf(scores[row])
        if seen.any():
            peak = max(scores[row, seen].max(), sink)
            weights = np.exp(scores[row, seen] - peak)
            output[row] = weights @ v[seen] / (weights.sum() + np.exp(sink - peak))
    return output


def dense(inputs: Inputs, problem: AttentionProblem) -> np.ndarray:
    q, k, v = (array.astype(np.float64) for array in (inputs.q, inputs.k, inputs.v))
    output = np.zeros(problem.output_shape)
    q_start = kv_start = 0
    for b, (seq_q, seq_kv) in enumerate(problem.sequence_lengths()):
        for h in range(problem.heads):
            g = h * problem.kv_heads // problem.heads
            sink = -np.inf if inputs.sinks is None else float(inputs.sinks[h])
            if problem.is_packed:
                rows, keys = slice(q_start, q_start + seq_q), slice(kv_start, kv_start + seq_kv)
                output[rows, h] = dense_head(q[rows, h], k[keys, g], v[keys, g], problem, sink)
                continue
            mask = None if inputs.mask is None else inputs.mask[b, 0, :, :seq_kv]
            bias = None if inputs.bias is None else inputs.bias[0, h, :, :seq_kv].astype(np.float64)
            k_seen, v_seen = k[b, g, :seq_kv], v[b, g, :seq_kv]
            output[b, h] = dense_head(q[b, h], k_seen, v_seen, problem, sink, mask, bias)
        q_start, kv_start = q_start + seq_q, kv_start + seq_kv
    return output


def flash(inputs: Inputs, problem: AttentionProblem, tile: int = 64) -> np.ndarray:
    """An honest kernel: online softmax over KV tiles, float32 accumulators, P rounded to the dtype.

    Sinks join the sum at the end.
    """
    dtype = numpy_dtype(problem.dtype)
    output = np.zeros(problem.output_shape, dtype)
    for head in heads(inputs, problem):
        for rows in head.blocks():
            q, k, v = (array.astype(np.float32) for array in (head.q[rows], head.k, head.v))
            peak = np.full(len(q), -np.inf, np.float32)
            total = np.zeros(len(q), np.float32)
            accumulator = np.zeros((len(q), v.shape[1]), np.float32)
            for start in range(0, len(k), tile):
                keys = slice(start, min(start + tile, len(k)))
                scores, _ = masked_scores(head, rows, problem, q, k, keys)
                new_peak = np.maximum(peak, scores.max(axis=1))
                shift = np.where(np.isneginf(new_peak), np.float32(0), new_peak)
                weights = np.exp(scores - shift[:, None])
                correction = np.exp(peak - shift)
                total = correction * total + weights.sum(axis=1)
                accumulator = (
                    correction[:, None] * accumulator + weights.astype(dtype).astype(np.float32) @ v[keys]
                )
                peak = new_peak
            if head.sink is not None:
                with np.errstate(over="ignore"):
                    total += np.exp(np.float32(head.sink) - np.where(np.isneginf(peak), head.sink, peak))
            output[head.index][rows] = accumulator / np.where(total > 0, total, 1)[:, None]
    return output


def sequential(inputs: Inputs, problem: AttentionProblem) -> np.ndarray:
    """An honest f32 kernel that adds one term after another, everywhere."""
    output = np.zeros(problem.output_shape, np.float32)
    for head in heads(inputs, problem):
        for rows in head.blocks():
            scores = np.zeros((rows.stop - rows.start, len(head.k)), np.float32)
            for c in range(problem.head_dim):
                scores += head.q[rows, c : c + 1] * head.k[:, c]
            scores *= np.float32(problem.scale)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            total = np.zeros(len(scores), np.float32)
            accumulator = np.zeros((len(scores), head.v.shape[1]), np.float32)
            for key in range(len(head.k)):
                total += weights[:, key]
                accumulator += weights[:, key : key + 1] * head.v[key]
            output[head.index][rows] = accumulator / total[:, None]
    return output


def capped_by_exponentials(inputs: Inputs, problem: AttentionProblem) -> np.ndarray:
    """An honest f32 kernel whose tanh is the one of GPU kernels, 1 − 2/(1 + exp(2x))."""
    output = np.zeros(problem.output_shape, np.float32)
    cap = np.float32(problem.softcap or 0.0)
    for head in heads(inputs, problem):
        for rows in head.blocks():
            scores = np.float32(problem.scale) * (head.q[rows] @ head.k.T)
            scores = cap * (1 - 2 / (1 + np.exp(2 * (scores / cap))))
            if problem.causal:
                scores[np.arange(rows.start, rows.stop)[:, None] < np.arange(len(head.k))] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            output[head.index][rows] = (weights / weights.sum(axis=1, keepdims=True)) @ head.v
    return output


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("softcap", sweep([20.0, 50.0, 200.0], but=[50.0]))
def test_scores_may_be_capped_as_kernels_do_it(softcap: float, causal: bool, distribution: str) -> None:
    problem = AttentionProblem(heads=2, seq_q=64, head_dim=64, softcap=softcap, causal=causal)
    for seed in range(3):
        inputs = make_inputs(problem, distribution, seed)
        verdict = expect(inputs, problem).check(capped_by_exponentials(inputs, problem))
        assert verdict.ok, verdict
        assert verdict.error_ratio < 0.9


@pytest.mark.parametrize("sizes", [{"seq_q": 1}, {"seq_q": 24, "mask": True}])
def test_projections_may_be_summed_one_product_after_another(sizes: dict[str, Any]) -> None:
    problem = AttentionProblem(
        **{"heads": 4, "head_dim": 64, "model_width": 2048, "log_sum_exp": True, **sizes}
    )
    for seed in range(4):
        inputs = make_inputs(problem, seed=seed)
        projections = inputs.projections
        assert projections is not None
        tokens = projections.tokens[0]
        sums = [np.zeros((len(tokens), weights.shape[1]), np.float32) for weights in weights_of(projections)]
        for column in range(problem.model_width or 0):
            for total, weights in zip(sums, weights_of(projections), strict=True):
                total += tokens[:, column : column + 1] * weights[column]
        q, k, v = (
            np.ascontiguousarray(total.reshape(len(tokens), -1, 64).swapaxes(0, 1)[None]) for total in sums
        )
        given = dataclasses.replace(inputs, q=q, k=k, v=v)
        verdict = expect(inputs, problem).check(same_precision(given, problem))
        assert verdict.ok, verdict


def weights_of(projections: ProjectionInputs) -> tuple[np.ndarray, ...]:
    return projections.query_weights, projections.key_weights, projections.value_weights


@st.composite
def problems(draw: st.DrawFn) -> AttentionProblem:
    kv_heads = draw(st.integers(1, 2))
    side = st.one_of(st.none(), st.integers(0, 10))
    fields = {
        "heads": kv_heads * draw(st.integers(1, 2)),
        "kv_heads": kv_heads,
        "head_dim": draw(st.integers(1, 9)),
        "head_dim_v": draw(st.integers(1, 9)),
        "causal": draw(st.booleans()),
        "causal_alignment": draw(st.sampled_from(["bottom-right", "top-left"])),
        "window": draw(st.one_of(st.none(), st.tuples(side, side))),
        "softcap": draw(st.one_of(st.none(), st.floats(0.5, 30))),
        "scale": draw(st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 1e-60, 0.01, 2.0]))),
        "sinks": draw(st.booleans()),
    }
    if draw(st.booleans()):
        lengths = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3))
        fields["cu_seqlens_q"] = (0, *np.cumsum([q for q, _ in lengths]).tolist())
        fields["cu_seqlens_kv"] = (0, *np.cumsum([kv for _, kv in lengths]).tolist())
        return AttentionProblem(**fields)
    seq_kv = draw(st.integers(1, 20))
    fields |= {"batch": 2, "seq_q": draw(st.integers(1, 150)), "seq_kv": seq_kv}
    fields |= {"mask": draw(st.booleans()), "bias": draw(st.booleans())}
    fields["kv_lengths"] = draw(st.one_of(st.none(), st.tuples(*[st.integers(0, seq_kv)] * 2)))
    return AttentionProblem(**fields)


@settings(max_examples=150)
@given(problem=problems(), distribution=st.sampled_from(list(DISTRIBUTIONS)), seed=st.integers(0, 100))
def test_blockwise_equals_dense(problem, distribution, seed):
    inputs = make_inputs(problem, distribution, seed)
    np.testing.assert_allclose(reference(inputs, problem), dense(inputs, problem), rtol=1e-9, atol=1e-10)


@settings(max_examples=100)
@given(
    problem=problems(),
    distribution=st.sampled_from(list(DISTRIBUTIONS)),
    dtype=st.sampled_from(["f32", "f16", "bf16"]),
    seed=st.integers(0, 100),
)
def test_honest_kernel_passes_small_problems(problem, distribution, dtype, seed):
    problem = problem.model_copy(update={"dtype": dtype})
    inputs = make_inputs(problem, distribution, seed)
    expected = expect(inputs, problem)
    assert expected.check(flash(inputs, problem, tile=8)).ok
    assert expected.check(same_precision(inputs, problem)).ok


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("causal", sweep([False, True], but=[True]))
def test_honest_kernel_passes(dtype, distribution, causal):
    problem = AttentionProblem(heads=1, seq_q=700, head_dim=64, dtype=dtype, causal=causal)
    inputs = make_inputs(problem, distribution)
    verdict = expect(inputs, problem).check(flash(inputs, problem))
    assert (verdict.ok, verdict.first_bad) == (True, None)
    assert verdict.error_ratio <= 1


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize("distribution", ["normal", "large-logits"])
def test_honest_kernel_passes_decoding_a_single_query(dtype, distribution):
    problem = AttentionProblem(heads=1, seq_q=1, seq_kv=2000, head_dim=64, dtype=dtype)
    passed = []
    for seed in range(20):
        inputs = make_inputs(problem, distribution, seed)
        passed.append(expect(inputs, problem).check(flash(inputs, problem)).ok)
    assert passed == [True] * 20


@pytest.mark.parametrize("distribution", ["normal", "uniform", "large-logits"])
@pytest.mark.parametrize("head_dim", sweep([2048, 4096], but=[2048]))
def test_sequential_summation_passes_at_wide_heads(head_dim, distribution):
    problem = AttentionProblem(heads=2, seq_q=64, head_dim=head_dim)
    inputs = make_inputs(problem, distribution)
    assert expect(inputs, problem).check(sequential(inputs, problem)).ok


@pytest.mark.parametrize("kernel", [flash, same_precision, sequential])
@pytest.mark.parametrize("scale", sweep([1e3, 1e6, 1e9, 1e20], but=[1e20]))
def test_honest_kernels_pass_at_large_scales(scale, kernel):
    problem = AttentionProblem(heads=2, seq_q=128, head_dim=64, scale=scale)
    inputs = make_inputs(problem)
    assert expect(inputs, problem).check(kernel(inputs, problem)).ok


@pytest.mark.parametrize("kernel", [flash, same_precision, sequential])
@pytest.mark.parametrize("head_dim_v", [1, 16])
def test_honest_kernels_pass_at_large_scales_where_keys_tie(head_dim_v, kernel):
    problem = AttentionProblem(heads=2, seq_q=96, head_dim=8, head_dim_v=head_dim_v, scale=1e20)
    inputs = make_inputs(problem)
    inputs.k[:, :, 1::2] = inputs.k[:, :, ::2]
    assert expect(inputs, problem).check(kernel(inputs, problem)).ok


@pytest.mark.parametrize("scale", [1e30, -1e36])
def test_scores_that_f32_is_too_small_for_are_refused(scale):
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=64, scale=scale)
    with pytest.raises(InputError, match=r"scale: scores of size .*, expected less than 1e\+30") as caught:
        expect(make_inputs(problem), problem)
    assert len(caught.value.lines) == 1


def test_row_that_sees_no_key_is_zero():
    problem = AttentionProblem(heads=1, seq_q=10, seq_kv=4, head_dim=8, causal=True)
    inputs = make_inputs(problem)
    exact = exact_attention(inputs, problem)
    assert np.array_equal((exact.output[0, 0] == 0).all(axis=1), np.arange(10) < 6)
    assert np.array_equal(np.isneginf(exact.log_sum_exp[0, 0]), np.arange(10) < 6)
    assert not same_precision(inputs, problem)[0, 0, :6].any()


def test_log_sum_exp_is_that_of_the_scores():
    problem = AttentionProblem(heads=1, seq_q=5, seq_kv=7, head_dim=4)
    inputs = make_inputs(problem)
    scores = problem.scale * inputs.q[0, 0].astype(np.float64) @ inputs.k[0, 0].astype(np.float64).T
    expected = np.log(np.exp(scores).sum(axis=1))
    np.testing.assert_allclose(exact_attention(inputs, problem).log_sum_exp[0, 0], expected, rtol=1e-13)


def test_tolerance_shrinks_with_the_rows():
    problem = AttentionProblem(heads=1, seq_q=1024, head_dim=64, causal=True)
    tolerance = expect(make_inputs(problem), problem).tolerance[0, 0]
    ratio = np.median(tolerance[:16]) / np.median(tolerance[-64:])
    assert ratio == pytest.approx(math.sqrt(1024 / 8), rel=0.5)


def test_sampled_tolerance_is_never_looser(monkeypatch):
    problem = AttentionProblem(heads=2, seq_q=2048, seq_kv=64, head_dim=16, dtype="bf16")
    inputs = make_inputs(problem)
    complete = expect(inputs, problem).tolerance
    monkeypatch.setattr(plain_errors, "MAX_SCORES", 0)
    assert (expect(inputs, problem).tolerance <= complete).all()


@pytest.fixture
def small() -> Expected:
    problem = AttentionProblem(batch=2, heads=2, seq_q=6, head_dim=4)
    return expect(make_inputs(problem), problem)


def right(expected: Expected) -> np.ndarray:
    return expected.reference.astype(np.float32)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_output_is_an_infinite_error(small, value):
    output = right(small)
    output[1, 0, 3, 2] = value
    verdict = small.check(output)
    assert (verdict.ok, verdict.max_abs_error, verdict.first_bad) == (
        False,
        np.inf,
        "batch 1, head 0, query 3",
    )


def test_error_just_above_the_tolerance_is_refused_and_below_is_not(small):
    tolerance = small.tolerance[0, 1, 2]
    exact = Expected("f32", right(small).astype(np.float64), small.tolerance, small.log_sum_exp)
    output = right(small)
    output[0, 1, 2, 0] += 1.2 * tolerance
    verdict = exact.check(output)
    assert (verdict.ok, verdict.first_bad, verdict.tolerance) == (
        False,
        "batch 0, head 1, query 2",
        tolerance,
    )
    assert verdict.error_ratio == pytest.approx(1.2, rel=0.1)
    output = right(small)
    output[0, 1, 2, 0] += 0.8 * tolerance
    assert exact.check(output).ok


def test_wrong_shape_is_a_verdict(small):
    verdict = small.check(right(small)[:1])
    assert (verdict.ok, verdict.first_bad) == (False, "output shape (1, 2, 6, 4), expected (2, 2, 6, 4)")


def test_packed_output_names_the_token():
    problem = AttentionProblem(heads=2, head_dim=4, cu_seqlens_q=(0, 3, 8), cu_seqlens_kv=(0, 3, 8))
    expected = expect(make_inputs(problem), problem)
    output = right(expected)
    output[5, 1] = 9
    assert expected.check(output).first_bad == "token 5, head 1"


def test_inputs_without_a_finite_result_are_refused():
    problem = AttentionProblem(heads=1, seq_q=3, head_dim=4)
    inputs = make_inputs(problem)
    inputs.v[0, 0, 1, 1] = np.nan
    with pytest.raises(InputError, match="exact output is not finite"):
        expect(inputs, problem)


@pytest.mark.parametrize("tokens", [0, 8])
def test_expected_survives_a_file(tmp_path, tokens):
    problem = AttentionProblem(
        heads=2, head_dim=4, cu_seqlens_q=(0, tokens), cu_seqlens_kv=(0, 8), dtype="bf16"
    )
    expected = expect(make_inputs(problem), problem)
    expected.save(tmp_path / "expected.npy")
    loaded = Expected.load(tmp_path / "expected.npy")
    assert loaded.dtype == "bf16"
    for name in ("reference", "tolerance", "log_sum_exp"):
        assert np.array_equal(getattr(loaded, name), getattr(expected, name))
    assert loaded.check(expected.reference.astype(numpy_dtype("bf16"))).ok


EPS_F32 = 2.0**-23


@pytest.mark.parametrize(
    ("plain_error", "dtype", "seq_kv", "largest_term"),
    [
        pytest.param(0.03, "f32", 4, 2 * 0.03, id="plain-implementation"),
        pytest.param(0.0, "f16", 4, 4 * 2.0**-10, id="last-places"),
        pytest.param(0.0, "f32", 4096, 2 * 64 * EPS_F32, id="summation"),
    ],
)
def test_each_term_of_the_tolerance_weighs_what_is_documented(
    plain_error: float, dtype: str, seq_kv: int, largest_term: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = AttentionProblem(heads=1, seq_q=2, seq_kv=seq_kv, head_dim=4, dtype=dtype)
    inputs = make_inputs(problem)
    monkeypatch.setattr(expected, "plain_errors", lambda *of_problem: PlainErrors(in_range=plain_error))
    scale = exact_attention(inputs, problem).scale
    assert expected.expect(inputs, problem).tolerance == pytest.approx(scale * largest_term, rel=0.25)
