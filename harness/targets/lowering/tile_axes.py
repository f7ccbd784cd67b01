"""Buffers whose tiles do not lie along their last axes, such as heads between rows, are seen transposed.

Rows and columns then lie along the last two axes of every buffer, with strides of their own.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import memref

from harness.codegen.ir.transfers import FIRST_INDEX
from harness.codegen.ir.walk import operations_within


def see_tiles_along_last_axes(function: ir.OpView) -> None:
    """Let each transfer of a tile be one along the last axes of its buffer, in place."""
    views: dict[tuple[ir.Value, tuple[int, ...]], ir.Value] = {}
    for operation in list(operations_within(function)):
        if operation.name not in FIRST_INDEX:
            continue
        first = FIRST_INDEX[operation.name]
        buffer = operation.operands[first - 1]
        mapping = ir.AffineMapAttr(operation.attributes["permutation_map"]).value
        order = _tile_axes_last(mapping, buffer.type.rank)
        if order is None:
            continue
        if (buffer, order) not in views:
            views[buffer, order] = _transposed(buffer, order)
        indices = list(operation.operands)[first : first + len(order)]
        operation.operands[first - 1] = views[buffer, order]
        for number, axis in enumerate(order):
            operation.operands[first + number] = indices[axis]
        operation.attributes["permutation_map"] = ir.AffineMapAttr.get(
            ir.AffineMap.get_minor_identity(len(order), len(mapping.results))
        )


def _tile_axes_last(mapping: ir.AffineMap, rank: int) -> tuple[int, ...] | None:
    """Return an order of a buffer's axes in which those of a tile are the last, None if they are already.

    None, too, for a map that is not some of the axes in their order.
    """
    if not all(isinstance(result, ir.AffineDimExpr) for result in mapping.results):
        return None
    axes = [ir.AffineDimExpr(result).position for result in mapping.results]
    if axes != sorted(set(axes)) or axes == list(range(rank - len(axes), rank)):
        return None
    return (*(axis for axis in range(rank) if axis not in axes), *axes)


def _transposed(buffer: ir.Value, order: Sequence[int]) -> ir.Value:
    """Return a view of a buffer with its axes in another order, made where the buffer is defined."""
    strides, offset = buffer.type.get_strides_and_offset()
    kind = ir.MemRefType.get(
        [buffer.type.shape[axis] for axis in order],
        buffer.type.element_type,
        ir.StridedLayoutAttr.get(offset, [strides[axis] for axis in order]),
        buffer.type.memory_space,
    )
    permutation = ir.AffineMap.get_permutation(list(order))
    owner = buffer.owner
    place = (
        ir.InsertionPoint.at_block_begin(owner)
        if isinstance(owner, ir.Block)
        else ir.InsertionPoint.after(owner.operation)
    )
    with place, ir.Location.unknown():
        view: ir.Value = memref.TransposeOp(kind, buffer, ir.AffineMapAttr.get(permutation)).result
    return view
