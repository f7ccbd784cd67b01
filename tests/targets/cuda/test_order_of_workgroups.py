"""Workgroups with the longest loops start first, across heads; without such loops nothing changes."""

from pathlib import Path

import pytest

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs

LONGEST_FIRST, ROW_MAJOR = "longest-first", "row-major"


def build(variant: str, problem: AttentionProblem, folder: Path, order: str | None) -> Artifact:
    params = {} if order is None else {"grid_order": order}
    case = Case(problem=problem, variant=variant, target="cuda:sm_80", params=params)
    folder.mkdir(exist_ok=True)
    return plugins.variant(variant).build(case, "key", folder)


def text(artifact: Artifact, folder: Path, stage: str) -> str:
    return (folder / artifact.stage_files[stage]).read_text()


def problem(**fields: object) -> AttentionProblem:
    return AttentionProblem(**{"heads": 3, "seq_q": 200, "head_dim": 32, "dtype": "f16", **fields})


def test_tiles_of_queries_that_see_more_keys_come_first_in_all_heads(tmp_path: Path) -> None:
    artifact = build("flash", problem(causal=True), tmp_path, None)
    assert "in (3, 4)" in text(artifact, tmp_path, "bufferized")
    ordered = text(artifact, tmp_path, "grid-ordered")
    assert "in (4, 3)" in ordered
    assert "(-d0 + 3)" in ordered


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
def test_without_loops_that_depend_on_the_point_the_code_is_the_same(variant: str, tmp_path: Path) -> None:
    codes = []
    for order in (LONGEST_FIRST, ROW_MAJOR):
        artifact = build(variant, problem(), tmp_path / order, order)
        codes.append(text(artifact, tmp_path / order, "ptx"))
    assert codes[0] == codes[1]


def test_the_parameter_switches_it_off(tmp_path: Path) -> None:
    artifact = build("flash", problem(causal=True), tmp_path, ROW_MAJOR)
    assert "in (4, 3)" not in text(artifact, tmp_path, "grid-ordered")


@pytest.mark.parametrize(
    "fields",
    [{}, {"seq_kv": 100}, {"seq_kv": 330, "causal_alignment": "top-left"}, {"batch": 2, "kv_heads": 1}],
    ids=["square", "few-keys", "top-left", "grouped"],
)
def test_every_order_is_right_and_the_checks_find_nothing(fields: dict, tmp_path: Path) -> None:
    shape = problem(causal=True, **fields)
    artifact = build("flash", shape, tmp_path, LONGEST_FIRST)
    inputs = make_inputs(shape, seed=3)
    call = artifact.load(tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, shape).check(call.output()).ok


def test_what_is_left_open_is_the_targets_choice() -> None:
    case = Case(problem=problem(), variant="naive", target="cuda:sm_80")
    assert plugins.variant("naive").chosen(case)["grid_order"] == LONGEST_FIRST
    given = case.model_copy(update={"params": {"grid_order": ROW_MAJOR}})
    assert "grid_order" not in plugins.variant("naive").chosen(given)
