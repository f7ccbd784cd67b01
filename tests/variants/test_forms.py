"""Windows, caps, masks and biases, alone and together, computed on the CPU and judged by the oracle."""

from dataclasses import replace

import numpy as np
import pytest
from sweeps import sweep
from variants.native_runs import build, load

import harness
from harness import plugins
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.errors import InputError

EVERYTHING = {"mask": True, "bias": True, "softcap": 10.0, "window": (40, None), "causal": True}
EVERY_MASK = {"mask": True, "bias": True}
ONE_QUERY = {"seq_q": 1, "heads": 4, "kv_heads": 1}
LENGTHS = {"kv_lengths": (37, 150), "batch": 2}
FORMS = {
    "window": {"window": (20, 10)},
    "window, causal": {"window": (30, None), "causal": True},
    "window, top-left": {"window": (30, 4), "causal": True, "causal_alignment": "top-left"},
    "window without an end": {"window": (20, 2**31 - 1)},
    "softcap": {"softcap": 5.0},
    "mask": {"mask": True, "batch": 2},
    "bias": {"bias": True, "batch": 2},
    "mask of each head": {"mask": True, "mask_axes": "bhqk", "batch": 2},
    "mask of keys": {"mask": True, "mask_axes": "bk", "batch": 2, "heads": 4, "kv_heads": 2},
    "mask of queries": {"mask": True, "mask_axes": "q"},
    "bias of each batch entry": {"bias": True, "bias_axes": "bhqk", "batch": 2, "dtype": "bf16"},
    "bias of keys": {"bias": True, "bias_axes": "k", "mask": True, "mask_axes": "hk"},
    "mask and bias, one query": {**ONE_QUERY, "batch": 2, **EVERY_MASK, "mask_axes": "bk", "bias_axes": "k"},
    "sinks": {"sinks": True, "heads": 4, "kv_heads": 2},
    "sinks, causal": {"sinks": True, "causal": True, "batch": 2, "dtype": "f16", "seq_q": 160},
    "sinks, negative scale": {"sinks": True, "scale": -0.4, "window": (20, 3)},
    "sinks, large scale": {"sinks": True, "scale": 30.0, "mask": True},
    "sinks, lengths": {**LENGTHS, "sinks": True, "causal": True, "softcap": 5.0},
    "sinks, one query": {"sinks": True, **ONE_QUERY, "seq_kv": 600},
    "log-sum-exp": {"log_sum_exp": True, "batch": 2, "dtype": "f16"},
    "log-sum-exp, causal": {"log_sum_exp": True, "causal": True, "seq_kv": 60, "scale": -0.3},
    "log-sum-exp, sinks, lengths": {**LENGTHS, "log_sum_exp": True, "sinks": True, "softcap": 5.0},
    "log-sum-exp, one query": {"log_sum_exp": True, **ONE_QUERY, "seq_kv": 600},
    "everything": {**EVERYTHING, "batch": 2, "heads": 4, "kv_heads": 2, "dtype": "bf16"},
    "one query": {"seq_q": 1, "mask": True, "window": (9, None)},
    "one query of each head": {"seq_q": 1, "heads": 3, "mask": True, "bias": True, "softcap": 5.0},
    "one query, lengths": {**LENGTHS, "seq_q": 1, "dtype": "f16", "sinks": True, "log_sum_exp": True},
    "few queries": {"seq_q": 3, "heads": 1, "bias": True},
    "key lengths": {"kv_lengths": (150, 1, 64), "batch": 3},
    "key lengths, causal": {"kv_lengths": (150, 0, 80), "batch": 3, "causal": True, "kv_heads": 1},
    "key lengths, top-left": {**LENGTHS, "causal": True, "causal_alignment": "top-left"},
    "key lengths, window": {**LENGTHS, "window": (30, 10), "dtype": "bf16", "head_dim": 40},
    "key lengths, window without a beginning": {**LENGTHS, "window": (2**31 - 1, 10)},
    "key lengths, everything": {**EVERYTHING, **LENGTHS, "dtype": "f16"},
    "key lengths, one query": {**LENGTHS, **ONE_QUERY},
    "fewer keys": {"seq_q": 100, "seq_kv": 30, "window": (20, None), "causal": True},
}
TOKENS = {"cu_seqlens_q": (0, 100, 100, 107, 250), "cu_seqlens_kv": (0, 90, 95, 170, 310)}
PACKED = {
    "window": {"window": (20, 10)},
    "window, causal": {"window": (30, None), "causal": True},
    "window, top-left": {"window": (30, 4), "causal": True, "causal_alignment": "top-left"},
    "window without an end": {"window": (20, 2**31 - 1)},
    "softcap": {"softcap": 5.0},
    "sinks": {"sinks": True, "causal": True},
    "log-sum-exp": {"log_sum_exp": True, "causal": True, "sinks": True},
    "log-sum-exp of one head": {"log_sum_exp": True, "heads": 1},
    "one head in one tile": {"heads": 1, "cu_seqlens_q": (0, 1, 8), "cu_seqlens_kv": (0, 5, 9)},
}
EVERY_RUN = [
    ("flash", "window without an end"),
    ("unfused", "everything"),
    ("flash", "one query of each head"),
    ("naive", "sinks, negative scale"),
    ("flash", "log-sum-exp, sinks, lengths"),
    ("upstream-fuse", "everything"),
    ("upstream-fuse", "few queries"),
    ("flash", "key lengths, causal"),
    ("unfused", "key lengths, everything"),
]
ALL = [(variant, form) for variant in ("flash", "unfused", "naive", "upstream-fuse") for form in FORMS]

pytestmark = pytest.mark.usefixtures("built_here")


def assert_right(problem: AttentionProblem, variant: str) -> None:
    assert plugins.variant(variant).supports(problem, "cpu") is None
    for distribution in ("normal", "negative-logits", "minus-infinity-columns"):
        inputs = make_inputs(problem, distribution)
        call = load(variant, problem).bind(inputs)
        call.poison()
        call.run()
        verdict = expect(inputs, problem).check_outputs(call.outputs())
        assert verdict.ok, (distribution, verdict)


@pytest.mark.parametrize(("variant", "form"), sweep(ALL, but=EVERY_RUN))
def test_forms_are_right(variant: str, form: str) -> None:
    plain = {"heads": 2, "seq_q": 100, "seq_kv": 150, "head_dim": 32}
    assert_right(AttentionProblem(**{**plain, **FORMS[form]}), variant)


@pytest.mark.parametrize(
    ("fields", "target", "reason"),
    [
        ({}, "cuda:sm_80", "is compared on cpu"),
        ({"model_width": 64}, "cpu", "projections"),
    ],
)
def test_what_upstream_does_not_fuse_is_unsupported(fields: dict, target: str, reason: str) -> None:
    problem = AttentionProblem(heads=2, seq_q=64, head_dim=32, **fields)
    assert reason in str(plugins.variant("upstream-fuse").supports(problem, target))


@pytest.mark.parametrize("form", sweep(PACKED, but=["window, causal", "log-sum-exp"]))
def test_packed_sequences_have_windows_and_caps(form: str) -> None:
    plain = {"heads": 2, "head_dim": 32}
    assert_right(AttentionProblem(**{**plain, **TOKENS, **PACKED[form]}), "varlen")


@pytest.mark.parametrize(
    "form",
    sweep(
        ["window", "mask", "bias", "sinks", "log-sum-exp", "everything", "key lengths, everything"],
        but=["everything"],
    ),
)
def test_projected_heads_have_them_all(form: str) -> None:
    plain = {"heads": 2, "seq_q": 150, "head_dim": 32, "model_width": 48}
    assert_right(AttentionProblem(**{**plain, **FORMS[form]}), "split-head")


def test_kernels_take_masks_and_biases_as_they_are() -> None:
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal((2, 2, 9, 16), dtype=np.float32) for _ in range(3))
    mask = generator.random((1, 2, 9, 1)) < 0.7
    bias = generator.standard_normal(9, dtype=np.float32)
    whole = np.broadcast_to(bias, (2, 2, 9, 9)), np.broadcast_to(mask, (2, 2, 9, 9))
    output = harness.attention(q, k, v, mask=mask, bias=bias)
    np.testing.assert_array_equal(output, harness.attention(q, k, v, bias=whole[0], mask=whole[1]))


def test_a_sink_of_minus_infinity_changes_nothing_and_a_large_one_leaves_nothing() -> None:
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal((1, 3, 40, 16), dtype=np.float32) for _ in range(3))
    sinks = np.array([-np.inf, 0.0, 1e4], np.float32)
    plain = harness.attention(q, k, v, causal=True)
    output = harness.attention(q, k, v, causal=True, sinks=sinks)
    np.testing.assert_allclose(output[:, 0], plain[:, 0], rtol=1e-5, atol=1e-6)
    assert (np.abs(output[:, 1]) < np.abs(plain[:, 1])).all()
    assert (output[:, 2] == 0).all()


@pytest.mark.parametrize(
    "params", sweep([{"kv_splits": 3}, {"division": "every-step"}], but=[{"kv_splits": 3}]), ids=str
)
def test_the_log_sum_exp_of_keys_in_parts_or_divided_at_every_step_is_right(params: dict) -> None:
    problem = AttentionProblem(heads=2, seq_q=40, seq_kv=900, head_dim=32, log_sum_exp=True)
    inputs = make_inputs(problem)
    call = load("flash", problem, params=params).bind(inputs)
    call.run()
    assert expect(inputs, problem).check_outputs(call.outputs()).ok


def test_an_operand_that_differs_along_other_axes_is_refused_in_one_line() -> None:
    problem = AttentionProblem(batch=2, heads=2, seq_q=4, head_dim=8, mask=True)
    mask = np.ones((2, 2, 4, 4), bool)
    with pytest.raises(InputError, match=r"^mask: found shape \[2, 2, 4, 4\], generated kernels take"):
        replace(make_inputs(problem), mask=mask).buffers(problem)


@pytest.mark.parametrize(
    ("fields", "hiding", "share"),
    [
        pytest.param(
            *({"batch": 2, "seq_q": 64, "seq_kv": 512}, {"kv_lengths": (512, 64)}, (512 + 64) / 1024),
            marks=pytest.mark.sweep,
        ),
        ({"seq_q": 1024}, {"window": (63, 0)}, 0.11),
    ],
    ids=["lengths", "window"],
)
def test_what_is_hidden_is_not_computed(fields: dict, hiding: dict, share: float) -> None:
    of_all, of_rest = (
        build("flash", AttentionProblem(heads=1, head_dim=32, **fields, **changes), params={"tile_kv": 64})[0]
        for changes in ({}, hiding)
    )
    assert of_rest.metrics.flops_executed == pytest.approx(share * of_all.metrics.flops_executed, rel=0.2)
