"""optuna is asked and told."""

import sys

import pytest

from harness.bench.tuning.sampler import Sampler
from harness.bench.tuning.space import Point, SearchSpace, Setting
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import InputError

SETTINGS = (Setting("tile", False, (8, 16, 32, 64, 128)), Setting("order", False, (None, "a", "b")))
CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
SPACE = SearchSpace(CASE, SETTINGS)


def test_without_optuna_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"attention-harness\[tune\]"):
        Sampler(SPACE, 0)


@pytest.mark.extra("tune")
def test_it_learns_which_values_cost_little() -> None:
    sampler = Sampler(SPACE, 0)
    for point in SPACE.points():
        sampler.add(point, None if point["order"] == "b" else float(point["tile"] != 32))
    asked = [sampler.ask()[1] for _ in range(40)]
    liked = sum(point["tile"] == 32 and point["order"] != "b" for point in asked)
    assert liked > 40 * 2 / 15 * 1.5  # by chance 2 of 15 points


@pytest.mark.extra("tune")
def test_equal_seeds_ask_for_equal_points() -> None:
    def asked(seed: int) -> list[Point]:
        sampler = Sampler(SPACE, seed)
        points = []
        for _ in range(12):
            number, point = sampler.ask()
            sampler.tell(number, None if point["order"] == "b" else 1.0)
            points.append(point)
        return points

    assert asked(3) == asked(3) != asked(4)
