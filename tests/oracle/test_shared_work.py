"""Rows are shared out among cores: what comes of it does not depend on how many there are."""

import dataclasses

import numpy as np
import pytest

from harness.oracle import plain_errors, reference
from harness.oracle.expected import expect
from harness.oracle.reference import exact_attention
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

PROBLEMS = [
    AttentionProblem(heads=1, seq_q=700, seq_kv=300, head_dim=16, dtype="f16", causal=True),
    AttentionProblem(
        batch=2, heads=6, kv_heads=2, seq_q=130, seq_kv=70, head_dim=8, dtype="bf16", sinks=True
    ),
    AttentionProblem(
        batch=3,
        heads=2,
        seq_q=300,
        seq_kv=300,
        head_dim=8,
        dtype="f32",
        cu_seqlens_q=(0, 300, 300, 310),
        cu_seqlens_kv=(0, 5, 200, 500),
    ),
]


@pytest.fixture
def on_cores(monkeypatch):
    def use(count: int) -> None:
        for module in (reference, plain_errors):
            monkeypatch.setattr(module, "allotted_cores", lambda: count)

    return use


@pytest.mark.parametrize("problem", PROBLEMS, ids=["many-rows", "grouped", "packed"])
@pytest.mark.parametrize("cores", [3, 64])
def test_every_number_of_cores_gives_the_same_bits(problem, cores, on_cores):
    inputs = make_inputs(problem, "normal", 5)
    on_cores(1)
    alone, tolerance_alone = exact_attention(inputs, problem), expect(inputs, problem).tolerance
    on_cores(cores)
    shared, tolerance = exact_attention(inputs, problem), expect(inputs, problem).tolerance
    for field in dataclasses.fields(alone):
        assert np.array_equal(getattr(shared, field.name), getattr(alone, field.name)), field.name
    assert np.array_equal(tolerance, tolerance_alone)
