"""Which settings a search may choose, and from which values."""

from typing import Any

from harness.experiment.searched import own_source, searched_values, tile_sizes
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

PROBLEM = AttentionProblem(heads=2, seq_q=64, head_dim=16)


def case(target: str = "cpu", options: dict[str, Any] | None = None, **params: Any) -> Case:
    return Case(problem=PROBLEM, variant="flash", target=target, params=params, target_options=options or {})


def test_tile_sizes_are_powers_of_two_and_halfway_between() -> None:
    assert tile_sizes(8, 64) == (8, 12, 16, 24, 32, 48, 64)


def test_values_are_those_of_the_mark_or_of_the_literal() -> None:
    values = searched_values("variant", "flash")
    assert values["tile_q"] == tile_sizes(8, 256)
    assert values["warps"] == (1, 2, 4, 8, 16)
    assert "division" not in values  # another algorithm, which an experiment asks about
    assert searched_values("target", "cuda")["staging_slots"] == (1, 2)
    assert searched_values("target", "cpu") == {}


def test_what_rounds_otherwise_or_runs_elsewhere_is_not_searched() -> None:
    assert (
        not {"output_sums", "row_exchange", "executor", "route"} & searched_values("target", "xegpu").keys()
    )


def test_settings_that_no_search_chooses_leave_a_case_at_its_default() -> None:
    assert own_source(case(division="every-step", options={"threads": 2})) == "default"
    assert own_source(case(tile_q=32)) == "given"
    assert own_source(case("cuda:sm_80", {"staging_slots": 1})) == "given"
