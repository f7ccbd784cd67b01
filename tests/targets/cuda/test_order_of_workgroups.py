"""Workgroups with the longest loops start first, across heads; without such loops nothing changes."""

from pathlib import Path

import pytest
from emulated_runs import assert_right, build, text
from sweeps import sweep

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

LONGEST_FIRST, ROW_MAJOR = "longest-first", "row-major"


def problem(**fields: object) -> AttentionProblem:
    return AttentionProblem(**{"heads": 3, "seq_q": 200, "head_dim": 32, "dtype": "f16", **fields})


def test_tiles_of_queries_that_see_more_keys_come_first_in_all_heads(tmp_path: Path) -> None:
    artifact = build(problem(causal=True), tmp_path)
    assert "in (3, 4)" in text(artifact, tmp_path, "bufferized")
    ordered = text(artifact, tmp_path, "grid-ordered")
    assert "in (4, 3)" in ordered
    assert "(-d0 + 3)" in ordered


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
def test_without_loops_that_depend_on_the_point_the_code_is_the_same(variant: str, tmp_path: Path) -> None:
    codes = []
    for order in (LONGEST_FIRST, ROW_MAJOR):
        artifact = build(problem(), tmp_path / order, variant, params={"grid_order": order})
        codes.append(text(artifact, tmp_path / order, "ptx"))
    assert codes[0] == codes[1]


def test_the_parameter_switches_it_off(tmp_path: Path) -> None:
    artifact = build(problem(causal=True), tmp_path, params={"grid_order": ROW_MAJOR})
    assert "in (4, 3)" not in text(artifact, tmp_path, "grid-ordered")


@pytest.mark.parametrize(
    "fields",
    sweep(
        [{}, {"seq_kv": 100}, {"seq_kv": 330, "causal_alignment": "top-left"}, {"batch": 2, "kv_heads": 1}],
        but=[{"seq_kv": 100}],
    ),
    ids=["square", "few-keys", "top-left", "grouped"],
)
def test_every_order_is_right_and_the_checks_find_nothing(fields: dict, tmp_path: Path) -> None:
    artifact = build(problem(causal=True, **fields), tmp_path, params={"grid_order": LONGEST_FIRST})
    assert_right(artifact, tmp_path)


def test_what_is_left_open_is_the_targets_choice() -> None:
    case = Case(problem=problem(), variant="naive", target="cuda:sm_80")
    assert plugins.variant("naive").chosen(case)["grid_order"] == LONGEST_FIRST
    given = case.model_copy(update={"params": {"grid_order": ROW_MAJOR}})
    assert "grid_order" not in plugins.variant("naive").chosen(given)
