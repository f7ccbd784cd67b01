"""A case of an experiment's plan: from which table, and with whose settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.experiment.searched import ParamsSource, own_source
from harness.experiment.settings import ProblemTable
from harness.experiment.winners import Place, Winner, kept_winners
from harness.problem.case import Case


@dataclass(frozen=True)
class PlannedCase:
    """A case, and where it comes from."""

    case: Case
    table: ProblemTable
    winner: Winner | None = None
    """The search that has chosen its settings, where one has."""

    @property
    def params_source(self) -> ParamsSource:
        """Where the settings come from that a search may choose."""
        return own_source(self.case) if self.winner is None else self.winner.source


class Planner:
    """Gives cases the settings of winners, where an experiment's `params` ask for them."""

    def __init__(self, params: Sequence[str]) -> None:
        self._params = params
        self.without_winner: list[Case] = []
        """Cases that were to have the settings of a winner, where there is none: they have their own."""

    def planned(self, case: Case, table: ProblemTable) -> Iterator[PlannedCase]:
        """Yield a case as it is, with the settings of a winner, or both; without a winner as it is.

        What sets something that a search may choose has no winner.
        """
        is_open = "tuned" in self._params and own_source(case) == "default"
        for params in self._params:
            winner = self._winners.get(Place.of(case)) if is_open and params == "tuned" else None
            if is_open and params == "tuned" and winner is None:
                self.without_winner.append(case)
            yield PlannedCase(case if winner is None else winner.applied(case), table, winner)

    @cached_property
    def _winners(self) -> dict[Place, Winner]:
        return kept_winners()
