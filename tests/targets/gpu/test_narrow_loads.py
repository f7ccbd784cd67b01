"""Loops of kernels on every chip load what their products need a word at a time, or more."""

import itertools

import pytest
from emulated_runs import built
from sweeps import sweep

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import ParameterValue

CHIPS = [f"{name}:{chip}" for name in ("cuda", "rocm", "xegpu") for chip in plugins.target(name).chips()]
OF_EACH_VENDOR = ("cuda:sm_80", "rocm:gfx942", "xegpu:bmg")
PLAIN = AttentionProblem(heads=2, seq_q=256, head_dim=64, dtype="f16", causal=True)
TOKENS = AttentionProblem(
    heads=2, head_dim=64, dtype="f16", cu_seqlens_q=(0, 100, 256), cu_seqlens_kv=(0, 130, 256)
)
PROJECTED = AttentionProblem(heads=2, seq_q=256, head_dim=64, dtype="f16", model_width=128)
VARIANTS: dict[str, tuple[AttentionProblem, dict[str, ParameterValue]]] = {
    "flash": (PLAIN, {}),
    "naive": (PLAIN, {}),
    "unfused": (PLAIN, {}),
    "varlen": (TOKENS, {}),
    "varlen, pages": (TOKENS, {"page_size": 64}),
    "split-head": (PROJECTED, {}),
    "split-head, projected before": (PROJECTED, {"projections": "before"}),
}


@pytest.mark.parametrize(
    ("chip", "name"),
    sweep(itertools.product(CHIPS, VARIANTS), but=[(chip, "varlen") for chip in OF_EACH_VENDOR]),
)
def test_no_load_of_a_loop_is_narrow(chip: str, name: str) -> None:
    problem, params = VARIANTS[name]
    artifact, _ = built(problem, chip, name.split(",")[0], **params)
    assert artifact.metrics.narrow_loads == 0
