"""Kernels whose loops end where lengths in memory say: packed sequences and padded batches, on every GPU."""

from pathlib import Path

import pytest
from emulated_runs import assert_right_on_emulator
from sweeps import sweep

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

CHIPS = ("cuda:sm_80", "cuda:sm_90a", "rocm:gfx942", "rocm:gfx1100", "rocm:gfx1201", "xegpu:bmg")
TOKENS = {"cu_seqlens_q": (0, 100, 100, 107, 150), "cu_seqlens_kv": (0, 90, 95, 130, 190)}
PACKED = {
    "full": AttentionProblem(heads=2, kv_heads=1, head_dim=64, dtype="f16", **TOKENS),
    "causal": AttentionProblem(heads=2, head_dim=64, dtype="bf16", causal=True, **TOKENS),
    "window and cap": AttentionProblem(
        heads=2, head_dim=40, dtype="f16", window=(20, 5), softcap=5.0, **TOKENS
    ),
    "few tokens of one head": AttentionProblem(
        heads=1, head_dim=24, dtype="f16", cu_seqlens_q=(0, 0, 1, 5), cu_seqlens_kv=(0, 3, 3, 20)
    ),
}
PADDED = {
    "full": AttentionProblem(
        batch=3, heads=1, seq_q=70, seq_kv=150, head_dim=64, dtype="f16", kv_lengths=(150, 0, 64)
    ),
    "causal": AttentionProblem(
        batch=2, heads=2, kv_heads=1, seq_q=70, head_dim=32, dtype="bf16", causal=True, kv_lengths=(70, 9)
    ),
    "window, mask, bias": AttentionProblem(
        batch=2,
        heads=1,
        seq_q=33,
        seq_kv=90,
        head_dim=40,
        dtype="f16",
        window=(20, 30),
        mask=True,
        bias=True,
        kv_lengths=(90, 50),
    ),
    "one query": AttentionProblem(
        batch=2, heads=4, kv_heads=1, seq_q=1, seq_kv=500, head_dim=64, dtype="f16", kv_lengths=(3, 400)
    ),
}
SOME_PACKED = [("cuda:sm_80", "causal"), ("rocm:gfx942", "few tokens of one head"), ("xegpu:bmg", "full")]
SOME_PADDED = [
    ("flash", "cuda:sm_80", "causal"),
    ("flash", "rocm:gfx1100", "one query"),
    ("naive", "rocm:gfx942", "window, mask, bias"),
]


def assert_right(variant: str, target: str, problem: AttentionProblem, folder: Path) -> None:
    assert plugins.variant(variant).supports(problem, target) is None
    case = Case(problem=problem, variant=variant, target=target)
    assert_right_on_emulator(plugins.variant(variant).build(case, "key", folder), folder)


@pytest.mark.parametrize(
    ("target", "problem"),
    sweep([(target, problem) for target in CHIPS for problem in PACKED], but=SOME_PACKED),
)
def test_packed_sequences_are_right(target: str, problem: str, tmp_path: Path) -> None:
    assert_right("varlen", target, PACKED[problem], tmp_path)


@pytest.mark.parametrize(
    ("variant", "target", "problem"),
    sweep(
        [
            (variant, target, problem)
            for variant in ("flash", "naive", "unfused")
            for target in CHIPS
            for problem in PADDED
        ],
        but=SOME_PADDED,
    ),
)
def test_padded_batches_are_right(variant: str, target: str, problem: str, tmp_path: Path) -> None:
    assert_right(variant, target, PADDED[problem], tmp_path)


def test_sequences_that_a_tile_does_not_touch_are_not_computed(tmp_path: Path) -> None:
    executed = {}
    for count in (1, 4):
        starts = tuple(256 // count * number for number in range(count + 1))
        problem = AttentionProblem(
            heads=1, head_dim=64, dtype="f16", cu_seqlens_q=starts, cu_seqlens_kv=starts
        )
        folder = tmp_path / str(count)
        folder.mkdir()
        case = Case(problem=problem, variant="varlen", target="cuda:sm_80")
        executed[count] = plugins.variant("varlen").build(case, "key", folder).metrics.flops_executed
    assert executed[4] * 4 == executed[1]
