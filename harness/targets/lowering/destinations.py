"""Where results of a workgroup are written: at once to the part of the output that they are kept in."""

from mlir import ir
from mlir.dialects import tensor, vector

from harness.ir.walk import operations_within


def write_where_kept(module: ir.Module) -> None:
    """Let whole tiles be written to the output instead of over some other tensor, in place.

    A tile that is written over an input of the kernel would have to be copied there first.
    """
    insertions = [
        op for op in operations_within(module.operation) if op.name == "tensor.parallel_insert_slice"
    ]
    for insertion in insertions:
        write = insertion.source.owner
        if (
            isinstance(write, ir.Block)
            or write.name != "vector.transfer_write"
            or not _writes_all(write.opview)
        ):
            continue
        with ir.InsertionPoint(write.opview), write.location:
            place = destination(insertion)
            value, _, *indices = list(write.operands)
            mapping = ir.AffineMapAttr(write.attributes["permutation_map"]).value
            in_bounds = ir.ArrayAttr(write.attributes["in_bounds"])
            kept = vector.TransferWriteOp(place.type, value, place, indices, mapping, in_bounds=in_bounds)
        write.opview.results[0].replace_all_uses_with(kept.result)
        write.opview.operation.erase()


def insert_instead_of_copying(module: ir.Module) -> None:
    """Let tensors be inserted that are read whole only to be written into others, in place.

    They are filled tile by tile already, in the memory that they are to be copied to.
    """
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


def _writes_all(write: ir.OpView) -> bool:
    """Return whether an operation is the write of a vector that is as large as its tensor."""
    if write.name != "vector.transfer_write":
        return False
    return list(write.operands[0].type.shape) == list(write.operands[1].type.shape)
