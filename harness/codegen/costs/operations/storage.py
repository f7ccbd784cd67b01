"""Where results of operations on tensors are stored."""

from mlir import ir

from harness.codegen.costs.expressions import Expression, Unknown, same
from harness.codegen.costs.memory import Buffer, Level, Memory
from harness.codegen.costs.trees import NOTHING, CostTree, sequence
from harness.codegen.costs.walk import Walk


def either(first: Memory, second: Memory) -> Memory:
    """Return memory that is one or the other; `first` itself if nothing is lost by calling it so.

    Two scratch buffers are one: which temporary it is does not matter.
    """
    is_scratch = first.buffer.level is Level.SCRATCH and second.buffer.level is Level.SCRATCH
    buffer = first.buffer
    if first.buffer is not second.buffer and not is_scratch:
        buffer = first.buffer if _undetermined(first) else Buffer(Level.UNDETERMINED)
    shape = tuple(_either_size(a, b) for a, b in zip(first.shape, second.shape, strict=True))
    followed = buffer.contents is None or first.place is second.place
    unchanged = buffer is first.buffer and all(map(same, shape, first.shape))
    if unchanged and followed:
        return first
    return Memory(buffer, shape, first.element, first.place if followed else None)


def _undetermined(memory: Memory) -> bool:
    return memory.buffer.level is Level.UNDETERMINED


def _either_size(first: Expression, second: Expression) -> Expression:
    if same(first, second) or isinstance(first, Unknown):
        return first
    return Unknown("a tensor that loops or branches pass on changes its size")


def insert(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count the insertion of a tile: a copy, but nothing if the tile was computed in place.

    In place means that the tile is stored in the buffer that it is inserted into.
    """
    source, destination = (walk.memory(value) for value in list(operation.operands)[:2])
    for result in operation.results:
        walk.define(result, destination)
    return NOTHING if source.buffer is destination.buffer else copied(source, destination)


def copied(source: Memory, destination: Memory) -> CostTree:
    """Return the cost of copying all of `source` into a place of its size in `destination`."""
    written = Memory(destination.buffer, source.shape, destination.element)
    return sequence([source.reads(), written.writes()])
