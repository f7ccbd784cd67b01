"""The stages `products-by-step` and `just-in-time`: in which order a lane's instructions stand.

A product of tiles is many matrix instructions.  In the order of the result's fragments each of them goes
along the whole depth, so that all of an operand is needed at a time.  In the order of steps all fragments
take one step of the depth, then the next one: what is loaded or computed for a step is needed no longer after
it.  That holds only if it stands just before its step, and not, as whole tiles are distributed, each
operation after the one before it.  An assembler orders instructions anew, but starts from what it is given.
"""

from collections.abc import Iterable

from mlir import ir

from harness.ir.for_loop import ForLoop
from harness.ir.walk import operations_within, producer_of
from harness.layouts.distribution.transfers import BY_STEP

PURE = ("arith.", "math.", "vector.")
"""Dialects of operations that may stand anywhere, where they take no buffer."""


def multiply_by_step(function: ir.OpView) -> None:
    """Mark the products of a function, in place."""
    for operation in operations_within(function):
        if operation.name == "vector.contract":
            operation.operation.attributes[BY_STEP] = ir.UnitAttr.get()


def compute_just_in_time(module: ir.Module) -> None:
    """Let operations in loops stand just before the first one that needs them, in place.

    What multiplies matrices, exchanges between lanes, writes or waits stays in its order, and nothing is read
    later than what may have written over it.
    """
    for operation in operations_within(module.operation):
        if operation.name == "scf.for":
            _Block(ForLoop(operation).body).order()


class _Block:
    """The operations of a loop's body, and in which order they are to stand."""

    def __init__(self, block: ir.Block) -> None:
        *self._operations, self._end = [operation.operation for operation in block.operations]
        self._numbers = {operation: number for number, operation in enumerate(self._operations)}
        self._ordered: dict[int, None] = {}

    def order(self) -> None:
        """Move the operations, in place; what nothing needs comes last."""
        unread: list[int] = []
        for number, operation in enumerate(self._operations):
            if _reads(operation):
                unread.append(number)
            elif not _is_pure(operation):
                if _may_write(operation):
                    self._place_all(unread)
                    unread.clear()
                self._place(number)
        self._place_all(range(len(self._operations)))
        for number in self._ordered:
            self._operations[number].move_before(self._end)

    def _place_all(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._place(number)

    def _place(self, number: int) -> None:
        """Let an operation follow, and before it what it needs and has no place yet."""
        if number in self._ordered:
            return
        self._place_all(self._needed(self._operations[number]))
        self._ordered[number] = None

    def _needed(self, operation: ir.Operation) -> list[int]:
        """Return the operations of the block whose results an operation takes, itself or within."""
        within = [operation, *(nested.operation for nested in operations_within(operation))]
        producers = [producer_of(operand) for one in within for operand in one.operands]
        numbers = [self._numbers.get(found.operation) for found in producers if found is not None]
        return [number for number in numbers if number is not None]


def _is_pure(operation: ir.Operation) -> bool:
    takes_buffer = any(isinstance(operand.type, ir.MemRefType) for operand in operation.operands)
    return operation.name.startswith(PURE) and not takes_buffer


def _reads(operation: ir.Operation) -> bool:
    """Return whether an operation takes a buffer and gives numbers."""
    takes_buffer = any(isinstance(operand.type, ir.MemRefType) for operand in operation.operands)
    return takes_buffer and [isinstance(one.type, ir.VectorType) for one in operation.results] == [True]


def _may_write(operation: ir.Operation) -> bool:
    """Return whether memory may be written by an operation, or by others while it waits: it gives nothing."""
    takes_buffer = any(isinstance(operand.type, ir.MemRefType) for operand in operation.operands)
    return takes_buffer or len(operation.regions) > 0 or len(operation.results) == 0
