"""Problems of any size: what the target does not refuse is right, and the emulator's checks find nothing."""

import tempfile
from pathlib import Path

import pytest
from emulated_runs import assert_right, build
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import UnsupportedError

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


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
@pytest.mark.parametrize(
    "number", [pytest.param(3, marks=pytest.mark.sweep), pytest.param(60, marks=pytest.mark.slow)]
)
def test_problems_of_any_size_are_right(variant: str, number: int) -> None:
    @settings(max_examples=number, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(problem=problems())
    def is_right_if_supported(problem: AttentionProblem) -> None:
        assume(plugins.variant(variant).supports(problem, "cuda:sm_80") is None)
        with tempfile.TemporaryDirectory() as folder:
            try:
                artifact = build(problem, Path(folder), variant)
            except UnsupportedError:  # what only the code tells, such as too much shared memory
                reject()
            assert_right(artifact, Path(folder))

    is_right_if_supported()
