"""Fewer rows than warps and instructions take: rows that are only padding are neither read nor written.

A schedule pads tiles of few queries through a tensor of zeros.  Here the tile is read whole instead, with
rows that lie out of bounds as zeros, and the result is written whole, with such rows left out.
"""

from mlir import ir
from mlir.dialects import arith, vector

from harness.ir.walk import operations_within
from harness.targets.lowering.destinations import destination

WIDENED = ("arith.extf", "arith.truncf")
"""Operations between a tile as it is stored and as it is computed with."""


def read_and_write_padded_rows(module: ir.Module) -> None:
    """Replace padding through tensors by transfers that may go out of bounds, in place."""
    reads = [op for op in operations_within(module.operation) if op.name == "vector.transfer_read"]
    for read in reads:
        written = _written(read)
        if written is None:
            continue
        held, result = written.operands[0].type.shape, read.results[0].type.shape
        if _rows_grow(held, result) and _is_zero(_written(written)):
            wide = _wide_value(written.operands[0], result[0])
            if wide is not None:
                read.results[0].replace_all_uses_with(wide)
        elif _rows_grow(result, held):
            _write_wide(read, written.operands[0])
    for cut in [op for op in operations_within(module.operation) if op.name == "tensor.extract_slice"]:
        _write_uncut(cut)


def _write_uncut(cut: ir.OpView) -> None:
    """Write a value whose first rows alone are kept to where they are kept, without the rest."""
    uses = list(cut.results[0].uses)
    written = _written(cut)
    if written is None or len(uses) != 1 or uses[0].owner.name != "tensor.parallel_insert_slice":
        return
    insertion = uses[0].owner.opview
    if not _rows_grow(cut.results[0].type.shape, written.operands[0].type.shape):
        return
    with ir.InsertionPoint(cut), cut.location:
        place = destination(insertion)
        indices = list(written.operands)[2:]
        mapping = ir.AffineMapAttr(written.attributes["permutation_map"]).value
        kept = vector.TransferWriteOp(
            place.type, written.operands[0], place, indices, mapping, in_bounds=_open_rows()
        )
    cut.results[0].replace_all_uses_with(kept.result)
    cut.operation.erase()


def _written(reader: ir.OpView) -> ir.OpView | None:
    """Return the write of a whole vector into the tensor that an operation reads, or writes over."""
    source = reader.operands[1 if reader.name == "vector.transfer_write" else 0]
    writer = source.owner
    if not isinstance(source.type, ir.RankedTensorType) or isinstance(writer, ir.Block):
        return None
    return writer.opview if writer.name == "vector.transfer_write" else None


def _rows_grow(fewer: list[int], more: list[int]) -> bool:
    return len(fewer) == len(more) == 2 and fewer[0] < more[0] and fewer[1] == more[1]


def _is_zero(write: ir.OpView | None) -> bool:
    """Return whether a write fills its tensor with zeros."""
    if write is None or isinstance(write.operands[0].owner, ir.Block):
        return False
    constant = write.operands[0].owner
    if constant.name != "arith.constant":
        return False
    value = constant.attributes["value"]
    if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
        return False
    return bool(ir.FloatAttr(value.get_splat_value()).value == 0.0)


def _wide_value(value: ir.Value, rows: int) -> ir.Value | None:
    """Return a value that is read from memory with more rows, those that do not exist as zeros."""
    producer = value.owner
    if isinstance(producer, ir.Block):
        return None
    operation = producer.opview
    wide_type = ir.VectorType.get([rows, value.type.shape[1]], value.type.element_type)
    with ir.InsertionPoint(operation), operation.location:
        if operation.name in WIDENED:
            operand = _wide_value(operation.operands[0], rows)
            if operand is None:
                return None
            return ir.Operation.create(operation.name, [wide_type], [operand]).results[0]
        if operation.name != "vector.transfer_read" or not _reads_all_rows(operation):
            return None
        zero = arith.constant(wide_type.element_type, ir.FloatAttr.get(wide_type.element_type, 0.0))
        source, *indices = list(operation.operands)[:-1]
        mapping = ir.AffineMapAttr(operation.attributes["permutation_map"]).value
        wide = vector.TransferReadOp(wide_type, source, indices, mapping, zero, _open_rows())
        result: ir.Value = wide.result
        return result


def _reads_all_rows(read: ir.OpView) -> bool:
    """Return whether a read takes all rows of its tensor: what lies behind them is out of bounds."""
    rows = read.results[0].type.shape[0]
    sizes = read.operands[0].type.shape
    return len(sizes) >= 2 and sizes[-2] == rows


def _write_wide(read: ir.OpView, wide: ir.Value) -> None:
    """Let all rows of a value become what its first ones do, and be written where there are rows."""
    for use in list(read.results[0].uses):
        user = use.owner.opview
        with ir.InsertionPoint(user), user.location:
            if user.name in WIDENED:
                kind = ir.VectorType.get(wide.type.shape, user.results[0].type.element_type)
                _replace_write(user.results[0], ir.Operation.create(user.name, [kind], [wide]).results[0])
            elif user.name == "vector.transfer_write":
                _replace_write(read.results[0], wide)


def _replace_write(narrow: ir.Value, wide: ir.Value) -> None:
    """Write a wide value wherever a narrow one is written."""
    for use in list(narrow.uses):
        write = use.owner.opview
        if write.name != "vector.transfer_write":
            continue
        with ir.InsertionPoint(write), write.location:
            _, target, *indices = list(write.operands)
            mapping = ir.AffineMapAttr(write.attributes["permutation_map"]).value
            kind = write.results[0].type
            again = vector.TransferWriteOp(kind, wide, target, indices, mapping, in_bounds=_open_rows())
        write.results[0].replace_all_uses_with(again.result)
        write.operation.erase()


def _open_rows() -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(False), ir.BoolAttr.get(True)])
