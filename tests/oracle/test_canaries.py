import dataclasses

import numpy as np
import pytest
from sweeps import sweep

from harness.oracle.canaries import CANARIES
from harness.oracle.expected import expect, reference
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import make_inputs


def accepted_canaries(problem: AttentionProblem) -> list[str]:
    """Return the canaries that apply and are not refused, after making sure that the right output passes."""
    accepted = []
    for distribution in {canary.distribution for canary in CANARIES.values()}:
        inputs = make_inputs(problem, distribution)
        expected = expect(inputs, problem)
        assert expected.check(expected.reference.astype(numpy_dtype(problem.dtype))).ok
        accepted += [
            name
            for name, canary in CANARIES.items()
            if canary.distribution == distribution
            and canary.applies(problem)
            and expected.check(canary.make(inputs, problem, expected)).ok
        ]
    return accepted


@pytest.mark.parametrize("causal", sweep([False, True], but=[True]))
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize("seq", sweep([64, 333, 1024], but=[333]))
def test_every_canary_is_refused(seq, dtype, causal):
    problem = AttentionProblem(heads=2, seq_q=seq, head_dim=64, dtype=dtype, causal=causal)
    unchanged = [name for name, canary in CANARIES.items() if not canary.applies(problem)]
    few_keys = ["coarse-sums"]
    hidden = [] if causal and dtype != "f16" else ["masks-of-numbers"]
    coarse = ["coarse-probabilities"] if dtype == "f32" else []
    assert unchanged == ["sinks-left-out", *hidden, *coarse, *few_keys]
    assert accepted_canaries(problem) == []


@pytest.mark.parametrize(
    "problem",
    [
        AttentionProblem(
            batch=2, heads=2, seq_q=100, seq_kv=200, head_dim=32, mask=True, bias=True, softcap=20
        ),
        AttentionProblem(
            batch=2, heads=4, kv_heads=2, seq_q=150, head_dim=32, kv_lengths=(70, 150), window=(40, 9)
        ),
        AttentionProblem(heads=2, seq_q=150, head_dim=32, causal=True, bias=True, softcap=20, dtype="f16"),
        AttentionProblem(heads=2, seq_q=1, seq_kv=300, head_dim=32, window=(40, 9), bias=True, sinks=True),
        AttentionProblem(heads=2, head_dim=32, cu_seqlens_q=(0, 90, 90, 120), cu_seqlens_kv=(0, 40, 90, 220)),
        AttentionProblem(heads=2, seq_q=1, seq_kv=300, head_dim=32),
        AttentionProblem(heads=4, kv_heads=2, seq_q=150, head_dim=32, causal=True, sinks=True, dtype="f16"),
    ],
    ids=lambda problem: problem.describe(),
)
def test_every_canary_is_refused_with_masks_and_lengths(problem):
    assert accepted_canaries(problem) == []


def test_every_canary_is_refused_at_16384():
    problem = AttentionProblem(heads=1, seq_q=128, seq_kv=16384, head_dim=64, dtype="f32", causal=True)
    assert accepted_canaries(problem) == []


@pytest.mark.parametrize("dtype", sweep(["f16", "bf16"], but=["f16"]))
def test_every_canary_is_refused_where_sums_are_of_many_tiles(dtype):
    """The problem that the matrices have for it, with half of its keys and few queries."""
    problem = AttentionProblem(heads=1, seq_q=8, seq_kv=4096, head_dim=64, dtype=dtype)
    assert CANARIES["coarse-sums"].applies(problem)
    assert accepted_canaries(problem) == []


LARGE_SCALES = [1e3, 1e5, 1e6, 1e9, 1e12, 1e20]


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize("scale", sweep(LARGE_SCALES, but=[1e20]))
def test_every_canary_is_refused_at_large_scales(scale, dtype):
    problem = AttentionProblem(heads=2, seq_q=256, head_dim=64, dtype=dtype, scale=scale)
    inputs = make_inputs(problem)
    expected = expect(inputs, problem)
    applied = [c for c in CANARIES.values() if c.distribution == "normal" and c.applies(problem)]
    assert len(applied) == 10
    assert [c.summary for c in applied if expected.check(c.make(inputs, problem, expected)).ok] == []


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize("head_dim", sweep([1, 2, 8], but=[2]))
@pytest.mark.parametrize("scale", [1e8, -1e20])
def test_zeros_are_refused_at_large_scales_of_narrow_heads(head_dim, scale, dtype):
    problem = AttentionProblem(heads=1, seq_q=32, head_dim=head_dim, scale=scale, dtype=dtype)
    inputs = make_inputs(problem)
    assert not expect(inputs, problem).check(np.zeros(problem.output_shape, np.float32)).ok


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
@pytest.mark.parametrize("seq", [4096, 16384])
def test_every_canary_is_refused_at_long_sequences(seq, dtype, causal):
    problem = AttentionProblem(heads=2, seq_q=seq, head_dim=64, dtype=dtype, causal=causal)
    assert accepted_canaries(problem) == []


def test_shifted_diagonal_is_attention_to_strictly_earlier_keys():
    problem = AttentionProblem(heads=1, seq_q=200, head_dim=16, causal=True)
    inputs = make_inputs(problem)
    strict = problem.model_copy(update={"seq_q": 199, "seq_kv": 199})
    earlier = dataclasses.replace(inputs, q=inputs.q[:, :, 1:], k=inputs.k[:, :, :-1], v=inputs.v[:, :, :-1])
    found = CANARIES["mask-off-by-one"].make(inputs, problem, expect(inputs, problem))
    assert not found[0, 0, 0].any()
    np.testing.assert_allclose(found[:, :, 1:], reference(earlier, strict), rtol=1e-4, atol=1e-5)


def test_canaries_that_change_nothing_do_not_apply():
    problem = AttentionProblem(heads=1, seq_q=8, seq_kv=1, head_dim=16, scale=1)
    names = {name for name, canary in CANARIES.items() if not canary.applies(problem)}
    assert names == {
        "mean-of-values",
        "scale-left-out",
        "sinks-left-out",
        "heads-swapped",
        "masks-of-numbers",
        "coarse-probabilities",
        "coarse-sums",
    }
