"""Coordinates of a lane's elements as values: the part that depends on lane and warp."""

from mlir import ir
from mlir.dialects import arith

from harness.codegen.layouts.formulas import Formula, formula
from harness.codegen.layouts.layout import Layout, Level

UNIFORM = (Level.WARP, Level.LANE)
"""Levels whose numbers are only known when a kernel runs."""


class LaneCoordinates:
    """Computes coordinates; what depends on lane and warp alone is computed once, where this is made."""

    def __init__(self, lane: ir.Value, warp: ir.Value, anchor: ir.InsertionPoint) -> None:
        """Take the numbers of lane and warp; `anchor` is where coordinates of a lane are computed."""
        self.lane = lane
        self.warp = warp
        self._numbers = {Level.LANE: lane, Level.WARP: warp}
        self._anchor = anchor
        self._known: dict[Formula, ir.Value] = {}

    def base(self, layout: Layout, axis: int) -> ir.Value:
        """Return the part of a coordinate that lane and warp make up."""
        return self.uniform(formula(layout, axis).of_level(*UNIFORM))

    def uniform(self, wanted: Formula) -> ir.Value:
        """Return the value of a formula of the numbers of lane and warp, an `index`."""
        if wanted not in self._known:
            with self._anchor:
                self._known[wanted] = self._value(wanted)
        return self._known[wanted]

    def _value(self, wanted: Formula) -> ir.Value:
        total: ir.Value | None = None
        for term in wanted.terms:
            digit = self._numbers[term.dimension.level]
            if term.divisor != 1:
                digit = arith.divui(digit, index(term.divisor))
            digit = arith.remui(digit, index(term.dimension.size))
            scaled = digit if term.stride == 1 else arith.muli(digit, index(term.stride))
            total = scaled if total is None else arith.addi(total, scaled)
        return index(0) if total is None else total


def index(value: int) -> ir.Value:
    """Return a constant of type `index`."""
    return arith.constant(ir.IndexType.get(), value)
