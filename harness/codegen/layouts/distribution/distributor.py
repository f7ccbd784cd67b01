"""Distribution of a function: walks its operations and lets the rule of each emit what a lane does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir

from harness.codegen.layouts.analysis import LayoutAnalysis
from harness.codegen.layouts.distribution.lane_coordinates import LaneCoordinates
from harness.codegen.layouts.distribution.lane_value import LaneValue
from harness.codegen.layouts.layout import Layout
from harness.system.errors import BuildError

Rule = Callable[["Distributor", ir.OpView], None]


@dataclass(frozen=True)
class VendorRule:
    """A rule that one vendor's lanes have beyond the general ones."""

    operation: str
    """Name of the operation that it distributes."""
    applies: Callable[["Distributor", ir.OpView], bool]
    """Whether it distributes this one; else the next rule is tried, the general one last."""
    distribute: Rule


RuleOf = Callable[["Distributor", ir.OpView], Rule]
"""Returns the rule of an operation."""


class Distributor:
    """What the rules share: the analysis, what has been distributed so far, and the lane's coordinates."""

    def __init__(self, analysis: LayoutAnalysis, coordinates: LaneCoordinates, rule_of: RuleOf) -> None:
        """Take what the analysis has found, the coordinates of a lane, and the rules."""
        self.analysis = analysis
        self.coordinates = coordinates
        self.bank_conflicts = 0
        """Extra passes of the accesses to shared memory so far."""
        self.narrow_loads = 0
        """Loads of less than a word from global memory, for products in loops, so far."""
        self._rule_of = rule_of
        self._values: dict[ir.Value, ir.Value | LaneValue] = {}

    def run(self, operations: Sequence[ir.OpView]) -> None:
        """Distribute operations, in order, to the current insertion point."""
        for operation in operations:
            with operation.location:
                self._rule_of(self, operation)(self, operation)

    def layout(self, value: ir.Value) -> Layout:
        """Return the layout of a vector of the source."""
        return self.analysis.layout(value)

    def scalar(self, value: ir.Value) -> ir.Value:
        """Return what a scalar or a buffer of the source has become."""
        distributed = self._values[value]
        if isinstance(distributed, LaneValue):
            raise BuildError(f"a value of {value.type} is used where all lanes need the same")
        return distributed

    def scalars(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return what scalars of the source have become."""
        return [self.scalar(value) for value in values]

    def held(self, value: ir.Value) -> LaneValue:
        """Return what a lane holds of a vector of the source."""
        distributed = self._values[value]
        if not isinstance(distributed, LaneValue):
            raise BuildError(f"a value of {value.type} is used where lanes hold parts of a vector")
        return distributed

    def define(self, value: ir.Value, as_: ir.Value | LaneValue) -> None:
        """Note what a value of the source has become."""
        self._values[value] = as_

    def define_fragments(self, value: ir.Value, fragments: Sequence[ir.Value]) -> None:
        """Note the fragments that a vector of the source has become."""
        self._values[value] = LaneValue(self.layout(value), tuple(fragments))


def copy_scalar_operation(distributor: Distributor, operation: ir.OpView) -> None:
    """Copy an operation that every lane executes for itself, on scalars."""
    if len(operation.regions):
        raise BuildError(f"{operation.name} cannot be distributed to lanes")
    copy = operation.operation.clone()
    for number, operand in enumerate(operation.operands):
        copy.operands[number] = distributor.scalar(operand)
    for result, copied in zip(operation.results, copy.results, strict=True):
        distributor.define(result, copied)
