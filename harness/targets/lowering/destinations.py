"""Where results of a workgroup are written: at once to the part of the output that they are kept in."""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import tensor, vector

from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.slices import mixed_values
from harness.codegen.ir.walk import operations_within


def write_where_kept(module: ir.Module) -> None:
    """Let whole tiles be written to the output instead of over some other tensor, in place.

    A tile that is written over an input of the kernel would have to be copied there first.  Where a tile is
    cut to its first rows or columns, because the others are padding, those are out of the output's bounds.
    """
    insertions = [
        op for op in operations_within(module.operation) if op.name == "tensor.parallel_insert_slice"
    ]
    for insertion in insertions:
        tile = insertion.source.owner
        write = _write_of_all(tile)
        if write is None:
            continue
        with ir.InsertionPoint(tile.opview), tile.location:
            place = destination(insertion)
            kept = _written(write, write.operands[0], place, place.type.shape)
        tile.opview.results[0].replace_all_uses_with(kept.result)
        tile.opview.operation.erase()


def insert_instead_of_copying(module: ir.Module) -> None:
    """Let tensors be inserted that are read whole only to be written into others, in place."""
    for write in list(operations_within(module.operation)):
        if write.name != "vector.transfer_write":
            continue
        read = write.operands[0].owner
        if isinstance(read, ir.Block) or not _reads_all(read.opview):
            continue
        source, (_, target, *indices) = read.operands[0], list(write.operands)
        kept = [1] * (len(indices) - source.type.rank) + list(source.type.shape)
        with ir.InsertionPoint(write), write.location:
            inserted = tensor.InsertSliceOp(
                source, target, indices, [], [], [ir.ShapedType.get_dynamic_size()] * len(indices), kept,
                [1] * len(indices),
            )  # fmt: skip
        write.results[0].replace_all_uses_with(inserted.result)
        write.operation.erase()


def write_first_where_kept(module: ir.Module) -> None:
    """Let values whose first rows and columns a kernel keeps, read back from a tensor, be written in place.

    As `write_where_kept` does within a grid; a grid of one point has no loop, and inserts nothing.
    """
    for write in list(operations_within(module.operation)):
        if write.name != "vector.transfer_write":
            continue
        value = _value_cut_to_first(write.operands[0].owner)
        if value is None:
            continue
        with ir.InsertionPoint(write), write.location:
            kept = _written(write, value, write.operands[1], write.operands[0].type.shape)
        write.results[0].replace_all_uses_with(kept.result)
        write.operation.erase()


def _written(write: ir.OpView, value: ir.Value, place: ir.Value, kept: Sequence[int]) -> ir.OpView:
    """Emit a write like another of a value to a place that keeps so many of its rows and columns."""
    mapping = ir.AffineMapAttr(write.attributes["permutation_map"]).value
    sizes = zip(value.type.shape, kept, strict=True)
    in_bounds = ir.ArrayAttr.get([ir.BoolAttr.get(size == kept_size) for size, kept_size in sizes])
    indices = list(write.operands)[2:]
    return vector.TransferWriteOp(place.type, value, place, indices, mapping, in_bounds=in_bounds)


def destination(insertion: ir.OpView) -> ir.Value:
    """Return the part of the output that a `tensor.parallel_insert_slice` replaces."""
    slice_ = tensor.ExtractSliceOp(
        insertion.source.type,
        insertion.dest,
        list(insertion.offsets),
        list(insertion.sizes),
        list(insertion.strides),
        insertion.static_offsets,
        insertion.static_sizes,
        insertion.static_strides,
    )
    result: ir.Value = slice_.result
    return result


def _reads_all(read: ir.OpView) -> bool:
    """Return whether an operation reads a whole tensor that a loop has filled, for one use."""
    if read.name != "vector.transfer_read" or len(list(read.results[0].uses)) != 1:
        return False
    source = read.operands[0]
    is_filled = not isinstance(source.owner, ir.Block) and source.owner.name == "scf.for"
    return is_filled and list(source.type.shape) == list(read.results[0].type.shape)


def _write_of_all(tile: ir.Operation | ir.Block) -> ir.OpView | None:
    """Return the operation that writes all of a tile, or a larger tile that it is cut from."""
    if isinstance(tile, ir.Block):
        return None
    writer = tile.opview.operands[0].owner if _is_cut_to_first(tile.opview) else tile
    if isinstance(writer, ir.Block) or writer.name != "vector.transfer_write":
        return None
    write = writer.opview
    return write if list(write.operands[0].type.shape) == list(write.operands[1].type.shape) else None


def _value_cut_to_first(read: ir.Operation | ir.Block) -> ir.Value | None:
    """Return the value whose first rows and columns an operation reads back from the tensor that holds it."""
    if isinstance(read, ir.Block) or read.name != "vector.transfer_read":
        return None
    write = _write_of_all(read.operands[0].owner)
    if write is None or any(constant_index(index) != 0 for index in list(read.operands)[1:-1]):
        return None
    value: ir.Value = write.operands[0]
    whole, first = list(value.type.shape), list(read.results[0].type.shape)
    return value if len(whole) == len(first) <= 2 and first != whole and _is_within(first, whole) else None


def _is_cut_to_first(operation: ir.OpView) -> bool:
    """Return whether an operation takes the first rows and columns of a matrix, or first of a vector."""
    if operation.name != "tensor.extract_slice":
        return False
    whole, part = (list(value.type.shape) for value in (operation.operands[0], operation.results[0]))
    starts_first = all(offset == 0 for offset in mixed_values(operation, "offsets"))
    return starts_first and len(whole) == len(part) <= 2 and _is_within(part, whole)


def _is_within(sizes: list[int], others: list[int]) -> bool:
    return all(size <= other for size, other in zip(sizes, others, strict=True))
