"""Which candidates are built: none that is refused, and no two alike."""

from collections.abc import Callable, Mapping
from itertools import count, cycle
from typing import Any

from harness.bench.tuning.candidates import Candidates
from harness.bench.tuning.space import Point, SearchSpace, Setting
from harness.bench.tuning.trials import Fate, Trial
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.results.statistics import Interval
from harness.system.errors import UnsupportedError

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
SPACE = SearchSpace(CASE, (Setting("tile_q", False, (8, 16, 32, 64)),))


class Asks:
    """A sampler that asks for sizes in turn, and remembers what it is told."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = cycle(sizes)
        self.numbers = count()
        self.told: dict[int, float | None] = {}
        self.added: list[Point] = []

    def ask(self) -> tuple[int, Point]:
        return next(self.numbers), {"tile_q": next(self.sizes)}

    def tell(self, number: int, cost: float | None) -> None:
        self.told[number] = cost

    def add(self, point: Point, cost: float | None) -> None:
        self.added.append(point)


class Plans:
    """Refuses some sizes, and cuts others."""

    def __init__(self, refused: tuple[int, ...] = (), largest: int = 64) -> None:
        self.refused, self.largest = refused, largest

    def settings_of(self, case: Case) -> Mapping[str, Any]:
        size = case.params["tile_q"]
        if size in self.refused:
            raise UnsupportedError(f"tile_q {size}: expected another one")
        assert isinstance(size, int)
        return {"tile_q": min(size, self.largest)}


def candidates(
    sampler: Asks, planning: Plans, told: Callable[[Trial], None] = lambda trial: None
) -> Candidates:
    numbers = count(1)
    return Candidates(SPACE, sampler, planning, 0, told, lambda: next(numbers))  # type: ignore[arg-type]


def sizes(chosen: list[Any]) -> list[Any]:
    return [candidate.point["tile_q"] for candidate in chosen]


def test_what_is_refused_is_told_and_not_built() -> None:
    sampler, trials = Asks(8, 16), list[Trial]()
    chosen = candidates(sampler, Plans(refused=(8,)), trials.append).next_ones(1, None)
    assert sizes(chosen) == [16]
    assert [(trial.fate, trial.reason) for trial in trials] == [
        (Fate.REFUSED, "tile_q 8: expected another one")
    ]
    assert sampler.told == {0: None}


def test_points_that_are_planned_alike_are_built_once() -> None:
    assert sizes(candidates(Asks(16, 32, 64, 8), Plans(largest=16)).next_ones(4, None)) == [16, 8]


def test_a_point_that_was_tried_is_not_tried_again_and_the_end_is_seen() -> None:
    found = candidates(Asks(8), Plans())
    first = found.next_ones(1, None)[0]
    found.end(
        Trial(first.number, first.point, first.case, Fate.MEASURED, Interval(2.0, 1.9, 2.1)), first.asked
    )
    rest = found.next_ones(4, None)
    assert sorted(sizes(rest)) == [16, 32, 64]  # of which the sampler has asked for none
    assert found.next_ones(4, None) == []


def test_the_first_candidate_is_a_neighbour_of_the_best() -> None:
    chosen = candidates(Asks(8), Plans()).next_ones(2, {"tile_q": 64})
    assert sizes(chosen) == [32, 8]
    assert [candidate.asked for candidate in chosen] == [None, 0]
