"""Results that pass through shared memory on their way out: on the emulator, and what it saves."""

import re
from pathlib import Path

import pytest
from emulated_runs import assert_right, build, text
from sweeps import sweep

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case


def problem(**fields: object) -> AttentionProblem:
    return AttentionProblem(**{"heads": 1, "head_dim": 64, "dtype": "f16", **fields})


RAGGED = problem(heads=2, seq_q=77, seq_kv=139, causal=True)
PROBLEMS = {
    "ragged": RAGGED,
    "few queries": problem(heads=2, seq_q=5, seq_kv=129, dtype="bf16"),
    "one tile": problem(seq_q=64, head_dim=32),
    "wider V": problem(seq_q=130, seq_kv=70, head_dim_v=128),
    "48 columns": problem(seq_q=100, head_dim=48, dtype="bf16"),
    "single precision": problem(seq_q=70, dtype="f32", causal=True),
    "rows without keys": problem(seq_q=130, seq_kv=65, causal=True),
}
GLOBAL_STORE = re.compile(r"^\s*(?:@%p\d+ )?(st\.global[.\w]*)", re.MULTILINE)


def built(problem: AttentionProblem, folder: Path) -> list[tuple[Artifact, list[str]]]:
    """Return two artifacts, stored wide and directly, with their instructions that store to global memory."""
    both = []
    for choice in ("wide", "direct"):
        artifact = build(problem, folder / choice, output_stores=choice)
        both.append((artifact, GLOBAL_STORE.findall(text(artifact, folder / choice, "assembly"))))
    return both


@pytest.mark.parametrize("name", sweep(PROBLEMS, but=["few queries"]))
def test_results_are_right_in_fewer_stores_of_16_bytes(name: str, tmp_path: Path) -> None:
    (wide, wide_stores), (direct, direct_stores) = built(PROBLEMS[name], tmp_path)
    assert set(wide_stores) == {"st.global.v4.b32"}
    assert "st.global.v4.b32" not in direct_stores
    assert len(wide_stores) < len(direct_stores)
    assert "wide-stores" not in direct.stage_files
    assert wide.metrics.shared_bytes == direct.metrics.shared_bytes
    assert wide.metrics.bank_conflicts == direct.metrics.bank_conflicts
    assert_right(wide, tmp_path / "wide")
    assert_right(direct, tmp_path / "direct")


@pytest.mark.sweep
def test_what_needs_more_memory_than_operands_is_stored_directly(tmp_path: Path) -> None:
    wide, direct = built(problem(seq_q=64, seq_kv=16, head_dim_v=256), tmp_path)
    assert wide[1] == direct[1]
    assert wide[0].metrics.shared_bytes == direct[0].metrics.shared_bytes


def test_the_choice_is_told() -> None:
    case = Case(problem=RAGGED, variant="flash", target="cuda:sm_80")
    assert plugins.variant("flash").chosen(case)["output_stores"] == "wide"
    direct = case.model_copy(update={"target_options": {"output_stores": "direct"}})
    assert "output_stores" not in plugins.variant("flash").chosen(direct)
