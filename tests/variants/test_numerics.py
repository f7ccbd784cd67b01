"""What the generated variants compute on the CPU target, judged by the oracle."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import sweep
from variants.native_runs import GENERATED, judge, run

from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.distributions import DISTRIBUTIONS
from harness.problem.inputs import Inputs, make_inputs
from harness.targets.cpu import chip as chips

EACH_VARIANT = pytest.mark.parametrize("variant", GENERATED)
EACH_IN_SWEEPS = pytest.mark.parametrize("variant", sweep(GENERATED, but=["flash"]))


def problem(**fields: Any) -> AttentionProblem:
    """A problem of two heads unless said otherwise."""
    return AttentionProblem(**{"heads": 2, "head_dim": 16, **fields})


SHAPES = {
    "one query and key": problem(seq_q=1, head_dim=64),
    "fewer than a vector": problem(seq_q=5, head_dim=33, causal=True),
    "prime length": problem(seq_q=17, head_dim=40, heads=4, kv_heads=2, batch=2, causal=True),
    "tiles divide": problem(seq_q=64, head_dim=64, causal=True),
    "ragged top-left": problem(
        seq_q=77, head_dim=80, head_dim_v=24, causal=True, causal_alignment="top-left", scale=0.5
    ),
    "many ragged tiles": problem(heads=1, seq_q=333, head_dim=128, causal=True),
    "decoding": problem(seq_q=5, seq_kv=77, head_dim=48, causal=True),
    "queries that see no key": problem(seq_q=77, seq_kv=5, causal=True),
    "late queries see all": problem(seq_q=77, seq_kv=33, causal=True, causal_alignment="top-left"),
    "one grid point": problem(heads=1, seq_q=12, seq_kv=26, head_dim=24),
    "cross attention": problem(seq_q=33, seq_kv=200, head_dim=40, head_dim_v=48, heads=6, kv_heads=1),
    "fewer than a vector, f16": problem(seq_q=5, head_dim=33, causal=True, dtype="f16"),
    "cross attention, f16": problem(seq_q=77, seq_kv=141, head_dim=40, head_dim_v=48, dtype="f16"),
    "fewer than a vector, bf16": problem(seq_q=12, head_dim=24, head_dim_v=8, dtype="bf16"),
    "tiles divide, f16": problem(seq_q=64, head_dim=128, dtype="f16"),
    "grouped, bf16": problem(heads=4, kv_heads=2, seq_q=77, head_dim=64, causal=True, dtype="bf16"),
}

IN_EVERY_RUN = {
    "flash": (
        "one query and key",
        "prime length",
        "ragged top-left",
        "decoding",
        "queries that see no key",
        "cross attention, f16",
        "grouped, bf16",
    ),
    "naive": ("prime length", "cross attention, f16"),
    "unfused": ("decoding", "grouped, bf16"),
}

RAGGED = problem(seq_q=77, head_dim=32, causal=True)


@pytest.mark.parametrize(
    ("variant", "shape"),
    sweep(
        itertools.product(GENERATED, SHAPES),
        but=[(variant, shape) for variant, shapes in IN_EVERY_RUN.items() for shape in shapes],
    ),
)
def test_equals_the_oracle(variant, shape):
    assert judge(variant, SHAPES[shape]).first_bad is None


@EACH_IN_SWEEPS
@pytest.mark.parametrize("scale", sweep([-0.3, 0.0, 1e-60, 1e6], but=[-0.3]))
def test_equals_the_oracle_at_any_scale(variant, scale):
    assert judge(variant, problem(seq_q=33, scale=scale, causal=True)).first_bad is None


@EACH_VARIANT
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f16"]))
def test_equals_the_oracle_for_every_input_distribution(variant, distribution, dtype):
    drawn = RAGGED.model_copy(update={"dtype": dtype})
    assert judge(variant, drawn, distribution).first_bad is None


@EACH_VARIANT
def test_queries_whose_scores_are_all_minus_infinity_give_exactly_zero(variant):
    drawn = make_inputs(RAGGED)
    drawn.q[..., 0] = 1.0
    drawn.k[..., 0] = -np.inf
    assert not run(variant, RAGGED, drawn).any()


@EACH_VARIANT
def test_thread_counts_give_bitwise_equal_outputs(variant):
    inputs = make_inputs(RAGGED)
    outputs = [run(variant, RAGGED, inputs, threads=threads).tobytes() for threads in (1, 2, 3)]
    assert outputs == [outputs[0]] * 3


@EACH_VARIANT
def test_leaves_the_inputs_as_they_were(variant):
    inputs = make_inputs(RAGGED)
    before = Inputs(inputs.q.copy(), inputs.k.copy(), inputs.v.copy())
    run(variant, RAGGED, inputs)
    np.testing.assert_equal(inputs.arrays(), before.arrays())


@pytest.mark.parametrize(
    ("variant", "dtype"), sweep([("flash", "f16"), ("unfused", "f32")], but=[("flash", "f16")])
)
@pytest.mark.parametrize("vector_length", sweep([4, 8, 16], but=[4]))
def test_equals_the_oracle_at_every_vector_length(variant, vector_length, dtype, monkeypatch):
    monkeypatch.setattr(chips, "_host_length", lambda: vector_length)
    drawn = problem(seq_q=45, head_dim=20, dtype=dtype, causal=True)
    assert judge(variant, drawn).first_bad is None


problems = st.builds(
    AttentionProblem,
    batch=st.integers(1, 2),
    heads=st.sampled_from([2, 4]),
    kv_heads=st.sampled_from([1, 2]),
    seq_q=st.integers(1, 70),
    seq_kv=st.integers(1, 70),
    head_dim=st.integers(1, 40),
    head_dim_v=st.integers(1, 40),
    dtype=st.sampled_from(["f32", "f16", "bf16"]),
    causal=st.booleans(),
    causal_alignment=st.sampled_from(["bottom-right", "top-left"]),
    scale=st.sampled_from([0.2, 1.0, -0.5, 0.0]),
)


@settings(max_examples=5)
@given(
    drawn=problems,
    variant=st.sampled_from(GENERATED),
    tile_q=st.sampled_from([1, 7, 16, 24, 48]),
    tile_kv=st.sampled_from([1, 7, 24, 48, 64]),
)
def test_equals_the_oracle_for_any_problem_and_tile_sizes(drawn, variant, tile_q, tile_kv):
    verdict = judge(variant, drawn, params={"tile_q": tile_q, "tile_kv": tile_kv})
    assert verdict.first_bad is None


def tied_inputs(drawn: AttentionProblem) -> Inputs:
    """Inputs in which keys 10, 40 and 80 score the same, and are the best ones of query 5."""
    inputs = make_inputs(drawn)
    inputs.k[..., 40, :] = inputs.k[..., 80, :] = inputs.k[..., 10, :]
    inputs.q[..., 5, :] = inputs.k[..., :1, 10, :] * 4
    return inputs


@EACH_IN_SWEEPS
@pytest.mark.parametrize("causal", sweep([False, True], but=[True]))
@pytest.mark.parametrize("scale", sweep([16.5, 1e3, 1e6, 1e9, 1e20, -1e9, -1e20], but=[-1e20]))
def test_equals_the_oracle_at_large_scales(variant, scale, causal):
    drawn = problem(seq_q=96, scale=scale, causal=causal)
    inputs = tied_inputs(drawn)
    assert expect(inputs, drawn).check(run(variant, drawn, inputs)).first_bad is None
