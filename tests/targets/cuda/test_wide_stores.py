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

RAGGED = AttentionProblem(heads=2, seq_q=77, seq_kv=139, head_dim=64, dtype="f16", causal=True)
PROBLEMS = {
    "ragged": RAGGED,
    "few-queries": AttentionProblem(heads=2, seq_q=5, seq_kv=129, head_dim=64, dtype="bf16"),
    "one-tile": AttentionProblem(heads=1, seq_q=64, head_dim=32, dtype="f16"),
    "wider-v": AttentionProblem(heads=1, seq_q=130, seq_kv=70, head_dim=64, head_dim_v=128, dtype="f16"),
    "48-columns": AttentionProblem(heads=1, seq_q=100, head_dim=48, dtype="bf16"),
    "single-precision": AttentionProblem(heads=1, seq_q=70, head_dim=64, dtype="f32", causal=True),
    "rows-without-keys": AttentionProblem(
        heads=1, seq_q=130, seq_kv=65, head_dim=64, dtype="f16", causal=True
    ),
}
GLOBAL_STORE = re.compile(r"^\s*(?:@%p\d+ )?(st\.global[.\w]*)", re.MULTILINE)


def stores(artifact: Artifact, folder: Path) -> list[str]:
    """Return the instructions that store to global memory."""
    return GLOBAL_STORE.findall(text(artifact, folder, "ptx"))


@pytest.mark.parametrize("name", sweep(PROBLEMS, but=["few-queries", "rows-without-keys"]))
def test_results_are_right_stored_in_pieces_of_16_bytes_and_in_fewer(name: str, tmp_path: Path) -> None:
    wide, direct = (
        build(PROBLEMS[name], tmp_path / choice, output_stores=choice) for choice in ("wide", "direct")
    )
    assert_right(wide, tmp_path / "wide")
    assert set(stores(wide, tmp_path / "wide")) == {"st.global.v4.b32"}
    assert len(stores(wide, tmp_path / "wide")) < len(stores(direct, tmp_path / "direct"))
    assert wide.metrics.shared_bytes == direct.metrics.shared_bytes
    assert wide.metrics.bank_conflicts == direct.metrics.bank_conflicts


@pytest.mark.parametrize("name", sweep(["ragged", "few-queries", "single-precision"], but=["ragged"]))
def test_results_are_right_stored_as_lanes_hold_them(name: str, tmp_path: Path) -> None:
    artifact = build(PROBLEMS[name], tmp_path, output_stores="direct")
    assert_right(artifact, tmp_path)
    assert "wide-stores" not in artifact.stage_files
    assert "st.global.v4.b32" not in stores(artifact, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("variant", ["naive", "unfused"])
def test_other_variants_store_wide_too(variant: str, tmp_path: Path) -> None:
    artifact = build(RAGGED, tmp_path, variant)
    assert_right(artifact, tmp_path)
    assert "st.global.v4.b32" in stores(artifact, tmp_path)


def test_what_needs_more_memory_than_the_operands_is_stored_directly(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=64, seq_kv=16, head_dim=64, head_dim_v=256, dtype="f16")
    wide, direct = (build(problem, tmp_path / choice, output_stores=choice) for choice in ("wide", "direct"))
    assert stores(wide, tmp_path / "wide") == stores(direct, tmp_path / "direct")
    assert wide.metrics.shared_bytes == direct.metrics.shared_bytes


def test_the_choice_is_told(tmp_path: Path) -> None:
    case = Case(problem=RAGGED, variant="flash", target="cuda:sm_80")
    assert plugins.variant("flash").chosen(case)["output_stores"] == "wide"
    given = case.model_copy(update={"target_options": {"output_stores": "direct"}})
    assert "output_stores" not in plugins.variant("flash").chosen(given)
