"""What a search is told, and what it finds."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.bench.tuning.space import Point
from harness.bench.tuning.trials import Fate, Trial
from harness.experiment.case_settings import Settings
from harness.problem.case import Case, ParameterValue
from harness.results.statistics import Interval


@dataclass(frozen=True)
class SearchSettings:
    """How long and how a search goes on."""

    budget_s: float = 120.0
    """Of each search; building and checking count."""
    most_trials: int = 200
    """Candidates that are built at most."""
    seed: int = 0
    by_model: bool = False
    """Whether candidates are compared by the model of their main loop, and not by time."""
    begin_at: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Settings with which a search begins in the place of the default; the others are left open."""


@dataclass(frozen=True)
class Found:
    """What a search has found."""

    default: Case
    default_settings: Settings
    """All settings of the default, as variant and target choose them."""
    start_point: Point
    """The settings with which the search began."""
    start: Case
    """Where the search began: the default, or as the settings say."""
    winner: Case | None
    """None where the default wins, or there is none."""
    point: Point
    """The settings of the winner."""
    gain: Interval | None
    """How many times as fast as the default the winner is, or the best candidate where the default wins."""
    best: Trial
    """The best trial, whether it wins over the default or not; the start where none is better."""
    counts: Counter[Fate]
    why: str
    """Why the search ended."""
    by_model: bool
    is_checked: bool = True
    """Whether the winner's outputs were compared with the oracle's."""
