"""Where a workgroup's buffers lie in its shared memory: those that are not needed at the same time share it.

A buffer is needed from the first to the last operation that uses it, both taken in the innermost block that
all uses of the two buffers stand in.  What fills a buffer waits for all who may still read the same memory.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

ALIGNMENT = 128
"""Bytes; that of the whole memory, too."""

Path = tuple[int, ...]
"""The numbers of the operations that an operation stands in, outermost first, and its own."""


@dataclass(frozen=True)
class SharedBuffer:
    """A buffer and the operations that use it."""

    allocation: ir.OpView
    bytes: int
    """Its size, up to where another one may begin."""
    uses: tuple[Path, ...]


@dataclass(frozen=True)
class Placement:
    """The places of all buffers."""

    buffers: tuple[SharedBuffer, ...]
    offsets: tuple[int, ...]
    """Bytes, for each buffer."""

    @property
    def bytes(self) -> int:
        """Bytes that all take together."""
        ends = [at + buffer.bytes for buffer, at in zip(self.buffers, self.offsets, strict=True)]
        return max(ends, default=0)


def place(function: ir.OpView) -> Placement:
    """Place the buffers of a function, the largest first, each where it is first free."""
    buffers = tuple(_buffers(function))
    offsets: dict[int, int] = {}
    for number in sorted(range(len(buffers)), key=lambda number: -buffers[number].bytes):
        offsets[number] = _first_free(number, buffers, offsets)
    return Placement(buffers, tuple(offsets[number] for number in range(len(buffers))))


def overlap_in_time(first: Sequence[Path], second: Sequence[Path]) -> bool:
    """Return whether two buffers with these uses are needed at the same time."""
    if not first or not second:
        return False
    depth = _common(list(first) + list(second))
    starts_and_ends = [
        (min(path[depth] for path in uses), max(path[depth] for path in uses)) for uses in (first, second)
    ]
    (start, end), (other_start, other_end) = starts_and_ends
    return start <= other_end and other_start <= end


def _first_free(number: int, buffers: Sequence[SharedBuffer], offsets: Mapping[int, int]) -> int:
    """Return the lowest offset at which a buffer is in the way of none that it is needed together with."""
    buffer = buffers[number]
    taken = sorted(
        (at, at + buffers[other].bytes)
        for other, at in offsets.items()
        if overlap_in_time(buffer.uses, buffers[other].uses)
    )
    offset = 0
    for start, end in taken:
        if offset + buffer.bytes <= start:
            break
        offset = max(offset, end)
    return offset


def _buffers(function: ir.OpView) -> list[SharedBuffer]:
    uses: dict[ir.Value, list[Path]] = {}
    allocations: list[ir.OpView] = []

    def visit(operation: ir.OpView, path: Path) -> None:
        if operation.operation.name == "memref.alloc":
            allocations.append(operation)
            uses[operation.results[0]] = []
        for operand in operation.operands:
            if operand in uses:
                uses[operand].append(path)
        nested = [
            inner for region in operation.regions for block in region.blocks for inner in block.operations
        ]
        for number, inner in enumerate(nested):
            visit(inner, (*path, number))

    visit(function, ())
    return [
        SharedBuffer(allocation, _bytes(allocation.results[0].type), tuple(uses[allocation.results[0]]))
        for allocation in allocations
    ]


def _bytes(kind: ir.MemRefType) -> int:
    size = math.prod(kind.shape) * kind.element_type.width // 8
    return -(-size // ALIGNMENT) * ALIGNMENT


def _common(paths: Sequence[Path]) -> int:
    """Return how many numbers all paths begin with alike."""
    depth = 0
    while all(len(path) > depth + 1 for path in paths) and len({path[depth] for path in paths}) == 1:
        depth += 1
    return depth
