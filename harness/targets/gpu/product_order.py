"""The stages `loads-by-step`, `products-by-step` and `just-in-time`: the order of a lane's instructions.

A product of tiles is many matrix instructions.  If all fragments of the result take one step of the depth
before the next one, what is loaded for a step is needed no longer after it.  That holds only if it stands
just before its step.  An assembler orders instructions anew, but starts from what it is given.
"""

from collections.abc import Iterable, Sequence
from enum import Enum

from mlir import ir

from harness.codegen.ir.walk import operations_within
from harness.codegen.layouts.constraints import in_shared_memory
from harness.codegen.layouts.distribution.transfers import BY_STEP

LOOP, KERNEL = "scf.for", "gpu.func"
WITHOUT_BUFFERS = ("arith.", "math.")
"""Dialects of operations that may stand anywhere and take no buffer."""
PURE = "vector."
"""Of operations that may stand anywhere where they take no buffer."""


def multiply_by_step(function: ir.OpView) -> None:
    """Mark the products of a function, in place."""
    for operation in operations_within(function):
        if operation.name == "vector.contract":
            operation.operation.attributes[BY_STEP] = ir.UnitAttr.get()


def load_by_step(function: ir.OpView) -> None:
    """Mark the reads of operands from shared memory, in place: each load is for one step of a product."""
    for read in operations_within(function):
        is_staged = read.name == "vector.transfer_read" and in_shared_memory(read.operands[0])
        if is_staged and any(use.owner.name == "vector.contract" for use in read.results[0].uses):
            read.operation.attributes[BY_STEP] = ir.UnitAttr.get()


def compute_just_in_time(module: ir.Module) -> None:
    """Let operations in loops, and behind them, stand just before the first one that needs them, in place.

    What multiplies matrices, exchanges between lanes, writes or waits stays in its order, and nothing is read
    later than what may have written over it.
    """
    for operation in operations_within(module.operation):
        name = operation.operation.name
        if name in (LOOP, KERNEL):
            operations = [nested.operation for nested in operation.regions[0].blocks[0].operations]
            _Order(_behind_loops(operations) if name == KERNEL else operations).apply()


def _behind_loops(operations: Sequence[ir.Operation]) -> Sequence[ir.Operation]:
    """Return the operations of a kernel that stand behind its loops: a last tile, and what ends it."""
    loops = [number for number, operation in enumerate(operations) if operation.name == LOOP]
    return operations[loops[-1] + 1 :] if loops else operations


class _Order:
    """The last operations of a block, and in which order they are to stand."""

    def __init__(self, operations: Sequence[ir.Operation]) -> None:
        *self._operations, self._end = operations
        self._numbers = {
            result: number
            for number, operation in enumerate(self._operations)
            for result in operation.results
        }
        """Of the operation that gives a value."""
        self._needed = [self._producers(operation) for operation in self._operations]
        self._ordered: dict[int, None] = {}

    def apply(self) -> None:
        """Move the operations, in place; what nothing needs comes last."""
        unread: list[int] = []
        for number, operation in enumerate(self._operations):
            kind = _kind_of(operation)
            if kind is _Kind.READS:
                unread.append(number)
            elif kind is not _Kind.PURE:
                if kind is _Kind.MAY_WRITE:
                    self._place_all(unread)
                    unread.clear()
                self._place(number)
        self._place_all(range(len(self._operations)))
        for number in self._ordered:
            self._operations[number].move_before(self._end)

    def _place_all(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            if number not in self._ordered:
                self._place(number)

    def _place(self, number: int) -> None:
        """Let an operation follow, and before it what it needs and has no place yet."""
        self._place_all(self._needed[number])
        self._ordered[number] = None

    def _producers(self, operation: ir.Operation) -> list[int]:
        """Return the operations of the block whose results an operation takes, itself or within."""
        operands = list(operation.operands)
        if len(operation.regions):
            operands += [operand for nested in operations_within(operation) for operand in nested.operands]
        numbers = map(self._numbers.get, operands)
        return [number for number in numbers if number is not None]


class _Kind(Enum):
    """What decides where an operation may stand."""

    PURE = "pure"
    """Anywhere."""
    READS = "reads"
    """It takes memory and gives numbers: before what may write over them."""
    MAY_WRITE = "may write"
    """It gives nothing, or a buffer, so memory may be written by it, or by others while it waits."""
    OTHER = "other"
    """In its order."""


def _kind_of(operation: ir.Operation) -> _Kind:
    name = operation.name
    if name.startswith(WITHOUT_BUFFERS):
        return _Kind.PURE
    if any(_is_memory(operand.type) for operand in operation.operands):
        gives_numbers = [isinstance(result.type, ir.VectorType) for result in operation.results] == [True]
        return _Kind.READS if gives_numbers else _Kind.MAY_WRITE
    if name.startswith(PURE):
        return _Kind.PURE
    writes = len(operation.regions) > 0 or len(operation.results) == 0
    return _Kind.MAY_WRITE if writes else _Kind.OTHER


def _is_memory(kind: ir.Type) -> bool:
    """Return whether a type is a buffer's, or one with a shape of a dialect that has no bindings."""
    if type(kind) is not ir.Type:
        return isinstance(kind, ir.MemRefType)
    try:
        ir.ShapedType(kind)
    except ValueError:
        return False
    return True
