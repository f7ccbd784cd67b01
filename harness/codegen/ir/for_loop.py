"""An `scf.for` by the names of its parts: bounds, what it carries, what its body yields."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

from harness.codegen.ir.walk import terminator_of

BOUNDS = 3
"""Operands before the initial values: lower bound, upper bound, step."""


@dataclass(frozen=True)
class ForLoop:
    """The parts of an `scf.for`, as they are at the time of asking."""

    operation: ir.OpView | ir.Operation

    @property
    def bounds(self) -> list[ir.Value]:
        """Lower bound, upper bound and step."""
        return list(self.operation.operands)[:BOUNDS]

    @property
    def upper(self) -> ir.Value:
        """What every iteration stands before."""
        return self.operation.operands[1]

    @property
    def step(self) -> ir.Value:
        """How far one iteration stands from the next."""
        return self.operation.operands[2]

    @property
    def initial_values(self) -> list[ir.Value]:
        """What the first iteration gets of what the loop carries."""
        return list(self.operation.operands)[BOUNDS:]

    @property
    def body(self) -> ir.Block:
        """The block that each iteration executes."""
        return self.operation.regions[0].blocks[0]

    @property
    def position(self) -> ir.Value:
        """Where an iteration stands."""
        return self.body.arguments[0]

    @property
    def carried(self) -> list[ir.Value]:
        """What an iteration gets from the one before."""
        return list(self.body.arguments)[1:]

    @property
    def yielded(self) -> list[ir.Value]:
        """What an iteration hands on to the next."""
        return list(terminator_of(self.body).operands)

    def at_iteration(self, values: Sequence[ir.Value], iteration: ir.Value) -> list[ir.Value]:
        """Return values of the body as another iteration has them, computed anew at the insertion point."""
        anew = {self.position: iteration}

        def computed(value: ir.Value) -> ir.Value:
            owner = value.owner
            if value in anew or isinstance(owner, ir.Block) or owner.operation.block != self.body:
                return anew.get(value, value)
            operands = [computed(operand) for operand in owner.operands]
            copy = owner.operation.clone()
            for number, operand in enumerate(operands):
                copy.operands[number] = operand
            anew[value] = copy.results[0]
            return anew[value]

        return [computed(value) for value in values]


def initial_operand(number: int) -> int:
    """Return which operand of a loop is the initial value of the carried value of this number."""
    return BOUNDS + number
