"""Workgroups with the longest loops start first, across heads; without such loops nothing changes."""

from pathlib import Path

import pytest
from emulated_runs import build, text
from sweeps import sweep

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

LONGEST_FIRST, ROW_MAJOR = "longest-first", "row-major"
FULL = AttentionProblem(heads=3, seq_q=200, head_dim=32, dtype="f16")
CAUSAL = FULL.model_copy(update={"causal": True})


@pytest.mark.parametrize("order", sweep([None, ROW_MAJOR], but=[None]))
def test_tiles_that_see_more_keys_come_first_in_all_heads(order: str | None, tmp_path: Path) -> None:
    artifact = build(CAUSAL, tmp_path, params={} if order is None else {"grid_order": order})
    assert "in (3, 4)" in text(artifact, tmp_path, "bufferized")
    ordered = text(artifact, tmp_path, "grid-ordered")
    assert ("in (4, 3)" in ordered) is ("(-d0 + 3)" in ordered) is (order is None)


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
def test_without_loops_that_depend_on_the_point_nothing_changes(variant: str, tmp_path: Path) -> None:
    codes = []
    for order in (LONGEST_FIRST, ROW_MAJOR):
        artifact = build(FULL, tmp_path / order, variant, params={"grid_order": order})
        codes.append(text(artifact, tmp_path / order, "assembly"))
    assert codes[0] == codes[1]


def test_what_is_left_open_is_the_targets_choice() -> None:
    case = Case(problem=FULL, variant="naive", target="cuda:sm_80")
    assert plugins.variant("naive").chosen(case)["grid_order"] == LONGEST_FIRST
    row_major = case.model_copy(update={"params": {"grid_order": ROW_MAJOR}})
    assert "grid_order" not in plugins.variant("naive").chosen(row_major)
