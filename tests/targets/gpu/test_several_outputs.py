"""Kernels that write the log-sum-exp of rows beside the output, on every GPU."""

from pathlib import Path

import pytest
from emulated_runs import assert_right_on_emulator
from sweeps import sweep

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

CHIPS = ("cuda:sm_80", "cuda:sm_90a", "rocm:gfx942", "rocm:gfx1100", "rocm:gfx1201", "xegpu:bmg")
ASKED = {"log_sum_exp": True, "head_dim": 64, "dtype": "f16"}
PROBLEMS = {
    ("flash", "ragged"): AttentionProblem(batch=2, heads=2, kv_heads=1, seq_q=70, seq_kv=90, **ASKED),
    ("flash", "one query, keys in parts"): AttentionProblem(
        batch=2, heads=4, kv_heads=1, seq_q=1, seq_kv=700, kv_lengths=(700, 0), **ASKED
    ),
    ("naive", "causal, sinks"): AttentionProblem(
        heads=2, seq_q=40, seq_kv=90, causal=True, sinks=True, **ASKED
    ),
    ("unfused", "ragged"): AttentionProblem(heads=2, seq_q=40, seq_kv=90, mask=True, **ASKED),
    ("varlen", "packed"): AttentionProblem(
        heads=2, cu_seqlens_q=(0, 70, 70, 77, 100), cu_seqlens_kv=(0, 90, 95, 130, 130), **ASKED
    ),
}
SOME = [
    ("cuda:sm_80", ("unfused", "ragged")),
    ("rocm:gfx942", ("flash", "one query, keys in parts")),
    ("rocm:gfx1100", ("naive", "causal, sinks")),
    ("rocm:gfx1201", ("varlen", "packed")),
    ("xegpu:bmg", ("flash", "ragged")),
]


@pytest.mark.parametrize(
    ("target", "asked"), sweep([(target, asked) for target in CHIPS for asked in PROBLEMS], but=SOME)
)
def test_both_outputs_are_right(target: str, asked: tuple[str, str], tmp_path: Path) -> None:
    variant, problem = asked[0], PROBLEMS[asked]
    assert plugins.variant(variant).supports(problem, target) is None
    case = Case(problem=problem, variant=variant, target=target)
    artifact = plugins.variant(variant).build(case, "key", tmp_path)
    call = artifact.load(tmp_path)
    assert set(call.plan.buffers) >= {"output", "log_sum_exp"}
    assert_right_on_emulator(artifact, tmp_path)


@pytest.mark.parametrize("target", ["cuda:sm_80", "rocm:gfx942", "xegpu:bmg"])
def test_both_outputs_are_right_where_masks_hide_every_key(target: str, tmp_path: Path) -> None:
    problem = AttentionProblem(
        heads=1,
        seq_q=5,
        seq_kv=64,
        causal=True,
        causal_alignment="top-left",
        window=(20, None),
        **{**ASKED, "head_dim": 128},
    )
    case = Case(problem=problem, variant="flash", target=target, params={"division": "every-step"})
    assert_right_on_emulator(plugins.variant("flash").build(case, "key", tmp_path), tmp_path)
