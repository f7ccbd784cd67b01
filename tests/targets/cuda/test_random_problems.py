"""Problems of any size: what the target does not refuse is right, and the emulator's checks find nothing."""

import tempfile
from pathlib import Path

import pytest
from emulated_runs import assert_right, build
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from sweeps import sweep

from harness import plugins
from harness.errors import UnsupportedError
from harness.problem.attention_problem import AttentionProblem

WIDTHS = st.sampled_from([16, 32, 48, 64, 96])


@st.composite
def problems(draw: st.DrawFn) -> AttentionProblem:
    kv_heads = draw(st.integers(1, 2))
    return AttentionProblem(
        batch=draw(st.integers(1, 2)),
        heads=kv_heads * draw(st.integers(1, 2)),
        kv_heads=kv_heads,
        seq_q=draw(st.integers(1, 140)),
        seq_kv=draw(st.integers(1, 200)),
        head_dim=draw(WIDTHS),
        head_dim_v=draw(WIDTHS),
        dtype=draw(st.sampled_from(["f16", "bf16", "f32"])),
        causal=draw(st.booleans()),
        causal_alignment=draw(st.sampled_from(["bottom-right", "top-left"])),
    )


def assert_right_if_supported(variant: str, problem: AttentionProblem) -> None:
    assume(plugins.variant(variant).supports(problem, "cuda:sm_80") is None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            artifact = build(problem, folder, variant)
        except UnsupportedError:  # what only the code tells, such as too much shared memory
            reject()
        assert_right(artifact, folder)


VARIANTS = pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
ANY = {"derandomize": True, "deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
@settings(max_examples=3, **ANY)
@given(problem=problems())
def test_a_few_problems(variant: str, problem: AttentionProblem) -> None:
    assert_right_if_supported(variant, problem)


@pytest.mark.slow
@VARIANTS
@settings(max_examples=60, **ANY)
@given(problem=problems())
def test_many_problems(variant: str, problem: AttentionProblem) -> None:
    assert_right_if_supported(variant, problem)
