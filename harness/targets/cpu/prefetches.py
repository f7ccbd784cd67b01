"""Rows that lie apart in memory are prefetched: processors read ahead of none of them.

What a point of the grid takes once, a tile of queries, and what it writes, a tile of results, has its next
tile below it: each access prefetches the same part of that one, while there is all the rest of the point to
compute.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import func, memref

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within, producer_of

LINE_BYTES = 64

SECOND_LEVEL = 2
"""Locality of a prefetch to the second-level cache: few rows that lie apart fit the first."""

READ, WRITE, SLICE = "vector.transfer_read", "vector.transfer_write", "memref.subview"
EACH = 2
"""Axes of the vectors that tiles of queries and results are moved in."""


def prefetch_far_rows(module: ir.Module) -> None:
    """Prefetch the next tile where tiles of rows that lie apart are moved by squares, in place."""
    for operation in list(operations_within(module.operation)):
        if operation.name in (READ, WRITE):
            memory, kind = _sides(operation)
            rows = _rows_of_tile(operation, memory) if kind.rank == EACH and min(kind.shape) > 1 else None
            if rows is not None:
                _prefetch_below(operation, memory, kind, rows)


def prefetch_rows(
    source: ir.Value, start: Sequence[ir.Value], axis: int, rows: int, width: int, *, is_written: bool = False
) -> None:
    """Prefetch so many rows along an axis, at the insertion point; beyond the source that does no harm."""
    element = source.type.element_type.width // 8
    for row in range(rows):
        for column in range(0, width, max(1, LINE_BYTES // element)):
            at = list(start)
            at[axis] = b.affine_value(lambda first, row=row: first + row, start[axis])
            at[-1] = b.affine_value(lambda first, column=column: first + column, start[-1])
            memref.PrefetchOp(source, at, is_written, SECOND_LEVEL, True)


def _sides(operation: ir.OpView) -> tuple[ir.Value, ir.VectorType]:
    """Return the memory and the vector of an access."""
    if operation.name == READ:
        return operation.operands[0], operation.results[0].type
    return operation.operands[1], operation.operands[0].type


def _indices(operation: ir.OpView, memory: ir.Value) -> list[ir.Value]:
    first = list(operation.operands).index(memory) + 1
    return list(operation.operands)[first : first + memory.type.rank]


def _axes(operation: ir.OpView) -> list[int]:
    """Return the axes of memory that those of the vector lie along."""
    mapping = ir.AffineMapAttr(operation.attributes["permutation_map"]).value
    return [ir.AffineDimExpr(result).position for result in mapping.results if str(result) != "0"]


def _rows_of_tile(operation: ir.OpView, memory: ir.Value) -> int | None:
    """Return how many rows the tile of an access has, None where they do not lie apart in an argument."""
    axes, strides = _axes(operation), memory.type.get_strides_and_offset()[0]
    if len(axes) != EACH or axes[1] != memory.type.rank - 1:
        return None
    slice_of = producer_of(memory)
    if slice_of is not None and slice_of.name != SLICE:
        return None
    source = memory if slice_of is None else slice_of.operands[0]
    is_argument = isinstance(source.owner, ir.Block) and isinstance(source.owner.owner, func.FuncOp)
    if not is_argument or strides[axes[0]] <= memory.type.shape[-1]:
        return None
    if slice_of is not None:
        return int(memory.type.shape[axes[0]])
    return _extent(_indices(operation, memory)[axes[0]])


def _extent(index: ir.Value) -> int | None:
    """Return where the loop from 0 ends that an index follows, if there is one."""
    owner = producer_of(index)
    for value in [index] if owner is None else list(owner.operands):
        block = value.owner
        if isinstance(block, ir.Block) and block.owner.name == "scf.for":
            first, end, _ = (constant_index(bound) for bound in ForLoop(block.owner).bounds)
            if first == 0 and end is not None:
                return end
    return None


def _prefetch_below(operation: ir.OpView, memory: ir.Value, kind: ir.VectorType, rows: int) -> None:
    axis = _axes(operation)[0]
    with ir.InsertionPoint(operation), operation.location:
        at = _indices(operation, memory)
        at[axis] = b.affine_value(lambda first: first + rows, at[axis])
        prefetch_rows(memory, at, axis, kind.shape[0], kind.shape[1], is_written=operation.name == WRITE)
