"""Which candidates take part in the next contest: asked for, planned, and no two alike."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.bench.tuning.planning import Planning
from harness.bench.tuning.sampler import Sampler
from harness.bench.tuning.space import Point, SearchSpace, Value
from harness.bench.tuning.trials import Fate, Trial
from harness.bench.workers.process import WorkerFailure
from harness.experiment.case_settings import Settings
from harness.problem.case import Case
from harness.system.errors import InputError, UnsupportedError

Key = tuple[tuple[str, Value], ...]
MOST_REPEATED = 8
"""Points that are proposed again in a row before one is drawn of those that were not."""
LARGEST_LISTED = 100_000
"""A space of more points is not gone through to find one that was not tried."""
MOST_REFUSED = 400
"""Candidates that are refused in a row before a search ends."""


@dataclass(frozen=True)
class Candidate:
    """A point whose case is to be built."""

    number: int
    """Of its trial."""
    asked: int | None
    """The number by which the sampler is told; None for one that it has not proposed."""
    point: Point
    case: Case


@dataclass
class Candidates:
    """Proposes candidates of a space, and tells the sampler what became of those that cannot be built."""

    space: SearchSpace
    sampler: Sampler
    planning: Planning
    seed: int
    on_trial: Callable[[Trial], None]
    """Is told of each that ends here: refused, or like another one."""
    numbered: Callable[[], int]
    """Gives the number of the next trial."""
    _known: dict[Key, Trial | None] = field(default_factory=dict)
    """What is known of each point by its values; None while it is being tried."""
    _planned: dict[Key, Key] = field(default_factory=dict)
    """The point that was first planned to the same settings."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._is_exhausted = False

    def note(self, trial: Trial, settings: Settings | None = None) -> None:
        """Keep what became of a point, planned to these settings, so that it is not tried again."""
        key = _key(trial.point)
        self._known[key] = trial
        if settings is not None:
            self._planned.setdefault(_key(settings), key)

    def next_ones(self, most: int, best: Point | None) -> list[Candidate]:
        """Return up to so many candidates; fewer where nothing else is left to try.

        The first one is a neighbour of the best point so far, the others are the sampler's.
        """
        chosen: list[Candidate] = []
        refused = 0
        neighbour = None if best is None else self._new_neighbour(best)
        while len(chosen) < most and refused < MOST_REFUSED and not self._is_exhausted:
            asked, point = (None, neighbour) if neighbour is not None else self._asked()
            neighbour = None
            if point is None:
                break
            candidate = self._planned_candidate(asked, point)
            if candidate is None:
                refused += 1
            else:
                chosen.append(candidate)
        return chosen

    def _new_neighbour(self, point: Point) -> Point | None:
        untried = [near for near in self.space.neighbours(point) if _key(near) not in self._known]
        return self._random.choice(untried) if untried else None

    def _asked(self) -> tuple[int | None, Point | None]:
        """Return a point that was not tried, and the sampler's number of it; None where all were."""
        for _ in range(MOST_REPEATED):
            number, point = self.sampler.ask()
            if _key(point) not in self._known:
                return number, point
            known = self._known[_key(point)]
            self.sampler.tell(number, None if known is None else known.cost)
        untried = self._untried()
        if not untried:
            self._is_exhausted = True
            return None, None
        return None, self._random.choice(untried)

    def _untried(self) -> Sequence[Point]:
        if self.space.size > LARGEST_LISTED:
            return [
                point
                for point in (self._drawn() for _ in range(MOST_REFUSED))
                if _key(point) not in self._known
            ]
        return [point for point in self.space.points() if _key(point) not in self._known]

    def _drawn(self) -> Point:
        return {setting.name: self._random.choice(setting.values) for setting in self.space.settings}

    def _planned_candidate(self, asked: int | None, point: Point) -> Candidate | None:
        """Return the candidate of a point; None where it is refused, or planned as one before was."""
        case, key = None, _key(point)
        self._known[key] = None
        try:
            case = self.space.case(point)
            settings = self.planning.settings_of(case)
        except (InputError, UnsupportedError, WorkerFailure) as error:
            fate = Fate.FAILED if isinstance(error, WorkerFailure) else Fate.REFUSED
            self._end(Trial(self.numbered(), point, case, fate, reason=str(error)), asked)
            return None
        first = self._planned.setdefault(_key(settings), key)
        if first == key:
            return Candidate(self.numbered(), asked, point, case)
        twin = self._known[first]
        if twin is not None and asked is not None:  # of one that is being tried nothing is known yet
            self.sampler.tell(asked, twin.cost)
        return None

    def _end(self, trial: Trial, asked: int | None) -> None:
        self.end(trial, asked)
        self.on_trial(trial)

    def end(self, trial: Trial, asked: int | None) -> None:
        """Keep what became of a candidate, and tell the sampler."""
        self.note(trial)
        if asked is None:
            self.sampler.add(trial.point, trial.cost)
        else:
            self.sampler.tell(asked, trial.cost)


def _key(values: Point) -> Key:
    return tuple(sorted(values.items()))
