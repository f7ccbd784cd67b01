"""A tile of an operand on its way through shared memory: where it lies there, how it is copied and read."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, gpu, scf, vector

from harness.layouts.constraints import is_vector
from harness.layouts.workgroup_memory import is_body_of_workgroup, workgroup_buffer
from harness.targets.gpu.vendor import Staging


@dataclass(frozen=True)
class Staged:
    """A read whose tile passes through shared memory."""

    staging: Staging
    read: ir.OpView
    loop: ir.OpView | None
    """The loop that it is read in; None for one that is read once."""

    @property
    def tile(self) -> ir.VectorType:
        """Type of the tile."""
        return self.read.results[0].type

    @property
    def padding(self) -> int:
        """Elements behind each row in shared memory."""
        bits = self.tile.element_type.width
        is_read_by_columns = bits == 32 and any(_runs_down_rows(use) for use in self.read.results[0].uses)
        staging = self.staging
        return (staging.column_padding_bytes if is_read_by_columns else staging.padding_bytes) * 8 // bits

    def allocated(self, slots: int) -> ir.Value:
        """Return memory for so many tiles, whose rows are longer than the tile's."""
        rows, columns = self.tile.shape
        return workgroup_buffer([slots, rows, columns + self.padding], self.tile.element_type, self.read)

    def copy_to(self, buffer: ir.Value, slot: ir.Value, iteration: ir.Value | None = None) -> None:
        """Emit a copy of the tile to a slot, which the lanes share; in a loop an iteration's."""
        indices = list(self.read.operands)[1:-1]
        if self.loop is not None and iteration is not None:
            indices = _indices_at(self.loop, self.read, iteration)
        _copy(self.read, indices, buffer, slot)

    def read_from(self, buffer: ir.Value, slot: ir.Value) -> None:
        """Replace the read by one from shared memory, at the insertion point."""
        _read_from(self.read, buffer, slot)


def wait_for_readers(operation: ir.OpView) -> None:
    """Let all warps arrive before memory is filled that some may still read, as this buffer or another.

    Where a workgroup has had no vectors yet, in the block that it begins with, it has read nothing.
    """
    block = operation.operation.block
    earlier = itertools.takewhile(lambda other: other.operation != operation.operation, block.operations)
    if not is_body_of_workgroup(block) or any(map(_has_vectors, earlier)):
        gpu.barrier()


def _has_vectors(operation: ir.OpView) -> bool:
    return bool(len(operation.regions)) or any(map(is_vector, operation.results))


def when(condition: ir.Value, build: Callable[[], None]) -> None:
    """Emit what is done only where a condition holds."""
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        build()
        scf.YieldOp([])


def is_before(iteration: ir.Value, end: ir.Value) -> ir.Value:
    """Return whether a loop still comes to an iteration."""
    return arith.cmpi(arith.CmpIPredicate.slt, iteration, end)


def index(value: int) -> ir.Value:
    """Return a constant index."""
    return arith.constant(ir.IndexType.get(), value)


def _indices_at(loop: ir.OpView, read: ir.OpView, iteration: ir.Value) -> list[ir.Value]:
    """Return the indices of a read as they are in another iteration, computed anew."""
    body = loop.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = {body.arguments[0]: iteration}

    def at_iteration(value: ir.Value) -> ir.Value:
        if value in known:
            return known[value]
        producer = value.owner
        if isinstance(producer, ir.Block) or producer.operation.parent != loop.operation:
            return value
        operands = [at_iteration(operand) for operand in producer.operands]
        copy = producer.operation.clone()
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        known[value] = copy.results[0]
        return known[value]

    return [at_iteration(index) for index in list(read.operands)[1:-1]]


def _copy(read: ir.OpView, indices: list[ir.Value], buffer: ir.Value, slot: ir.Value) -> None:
    """Read the tile at these indices and write it to a slot: a copy, which the lanes share."""
    copy = read.operation.clone()
    for number, at in enumerate(indices):
        copy.operands[1 + number] = at
    tile = copy.results[0]
    identity = _minor_identity(3, 2)
    vector.TransferWriteOp(None, tile, buffer, [slot, index(0), index(0)], identity, in_bounds=_in_bounds())


def _read_from(read: ir.OpView, buffer: ir.Value, slot: ir.Value) -> None:
    """Replace a read by one from shared memory."""
    padding = list(read.operands)[-1]
    moved = vector.TransferReadOp(
        read.results[0].type,
        buffer,
        [slot, index(0), index(0)],
        _minor_identity(3, 2),
        padding,
        _in_bounds(),
    )
    read.results[0].replace_all_uses_with(moved.result)
    read.operation.erase()


def _runs_down_rows(use: ir.OpOperand) -> bool:
    """Return whether a product adds up along the rows of an operand, as P·V does along the keys of V."""
    maps = ir.ArrayAttr(use.owner.attributes["indexing_maps"])
    first = ir.AffineMapAttr(maps[use.operand_number]).value.results[0]
    kinds = ir.ArrayAttr(use.owner.attributes["iterator_types"])
    return "reduction" in str(kinds[ir.AffineDimExpr(first).position])


def _minor_identity(rank: int, kept: int) -> ir.AffineMap:
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - kept + axis) for axis in range(kept)])


def _in_bounds() -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(True)] * 2)
