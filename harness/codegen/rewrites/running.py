"""What a reduction loop carries from tile to tile because the root depends on it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from harness.codegen.rewrites.fusion import TileBuilder
from harness.codegen.rewrites.ranges import Range

Tags = tuple[int | None, ...]
"""For each dimension of a value, the root's loop that cuts it."""

Cut = dict[int, Range]
"""The tiles along the root's loops that are made so far."""


@dataclass(frozen=True)
class Statistic:
    """What is known of rows so far."""

    value: ir.Value
    tags: Tags
    initial: ir.Value


class Running(ABC):
    """Reductions below the root whose reduced dimension a reduction loop of the root cuts.

    Consumer rewriting: the loop carries their results, and what the root has accumulated is rescaled to them.
    """

    @property
    @abstractmethod
    def reductions(self) -> Sequence[tuple[ir.OpView, Tags]]:
        """The reductions, with the root's loops that cut what each reduces."""

    @property
    @abstractmethod
    def statistics(self) -> Sequence[Statistic]:
        """What the loop carries."""

    @property
    @abstractmethod
    def rescales_root(self) -> bool:
        """Whether what the root accumulates is multiplied by factors."""

    @abstractmethod
    def advance(self, builder: TileBuilder, cut: Cut, states: Mapping[ir.Value, ir.Value]) -> None:
        """Build the reductions on a tile, from the states before it, and provide their results."""

    @abstractmethod
    def rescaled(
        self, builder: TileBuilder, cut: Cut, states: Mapping[ir.Value, ir.Value], init: ir.Value
    ) -> ir.Value:
        """Return what the root has accumulated before a tile, as the statistics after it have it."""
