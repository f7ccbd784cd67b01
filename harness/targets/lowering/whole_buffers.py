"""Tiles that a loop reads past the end of a part of a buffer are read past the end of the buffer.

Where the part that a loop takes ends, the buffer does, too, and the transfer can index the buffer: what moves
it out of the loop then has indices to change, and no part of the buffer to make again.
"""

from mlir import ir
from mlir.dialects import arith

from harness.codegen.ir.builder import index
from harness.codegen.ir.slices import mixed_values
from harness.codegen.ir.transfers import FIRST_INDEX
from harness.codegen.ir.walk import operations_within

PART = "memref.subview"


def index_whole_buffers(function: ir.OpView) -> None:
    """Let transfers of parts that loops take index the whole buffers, in place."""
    for operation in list(operations_within(function)):
        if operation.name in FIRST_INDEX:
            _index_whole_buffer(operation)


def _index_whole_buffer(transfer: ir.OpView) -> None:
    first = FIRST_INDEX[transfer.name]
    buffer = transfer.operands[first - 1]
    if isinstance(buffer.owner, ir.Block) or buffer.owner.name != PART:
        return
    part = buffer.owner.opview
    if part.operation.parent.name != "scf.for":
        return
    offsets, sizes = (
        mixed_values(part, "offsets"),
        list(ir.DenseI64ArrayAttr(part.attributes["static_sizes"])),
    )
    kept = _kept_axes(sizes, list(buffer.type.shape))
    whole = part.operands[0]
    mapping = ir.AffineMapAttr(transfer.attributes["permutation_map"]).value
    if kept is None or not _ends_with_whole(transfer, mapping, kept, offsets, sizes, whole):
        return
    indices = list(transfer.operands)[first : first + len(kept)]
    with ir.InsertionPoint(transfer), transfer.location:
        places = [index(offset) if isinstance(offset, int) else offset for offset in offsets]
        for axis, within in zip(kept, indices, strict=True):
            places[axis] = arith.addi(places[axis], within)
        axes = [ir.AffineDimExpr.get(kept[ir.AffineDimExpr(each).position]) for each in mapping.results]
        _replace(transfer, first, whole, places, ir.AffineMap.get(len(places), 0, axes))


def _kept_axes(sizes: list[int], shape: list[int]) -> list[int] | None:
    """Return which axes of a part its type has: the others have size 1; None where it has fewer of others."""
    kept, rest = [], list(shape)
    for axis, size in enumerate(sizes):
        if rest and rest[0] == size and (size != 1 or sizes[axis:].count(1) <= rest.count(1)):
            kept.append(axis)
            rest.pop(0)
        elif size != 1:
            return None
    return None if rest else kept


def _ends_with_whole(
    transfer: ir.OpView,
    mapping: ir.AffineMap,
    kept: list[int],
    offsets: list[object],
    sizes: list[int],
    whole: ir.Value,
) -> bool:
    """Whether the buffer ends wherever the tile may leave the part."""
    in_bounds = ir.ArrayAttr(transfer.attributes["in_bounds"])
    for result, is_inside in zip(mapping.results, in_bounds, strict=True):
        if not isinstance(result, ir.AffineDimExpr):
            return False
        axis = kept[ir.AffineDimExpr(result).position]
        offset = offsets[axis]
        ends = isinstance(offset, int) and offset + sizes[axis] == whole.type.shape[axis]
        if not ir.BoolAttr(is_inside).value and not ends:
            return False
    return True


def _replace(
    transfer: ir.OpView, first: int, buffer: ir.Value, indices: list[ir.Value], mapping: ir.AffineMap
) -> None:
    """Put a transfer of the same tile at these indices of a buffer in the place of another."""
    operands = list(transfer.operands)
    before, after = operands[: first - 1], operands[first + operands[first - 1].type.rank :]
    segments = [*[1] * first, len(indices), *([1, 0] if transfer.name.endswith("read") else [0])]
    attributes = {name: transfer.attributes[name] for name in transfer.attributes} | {
        "permutation_map": ir.AffineMapAttr.get(mapping),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
    }
    moved = ir.Operation.create(
        transfer.name,
        results=[result.type for result in transfer.results],
        operands=[*before, buffer, *indices, *after],
        attributes=attributes,
    )
    for old, new in zip(transfer.results, moved.results, strict=True):
        old.replace_all_uses_with(new)
    transfer.operation.erase()
