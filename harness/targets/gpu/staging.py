"""The `staged` stage: tiles that products read pass through shared memory.

A tile that is read in a loop over tiles is copied ahead: while one iteration computes, the copies of the next
one are on their way, to another slot.  One barrier an iteration is enough: once all warps have
arrived, the tile of this iteration is there for all, and nobody reads that of the previous one any more.

Rows in shared memory are followed by padding, so that rows which a matrix load takes together, or neighbours
of a copy, lie in different banks.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import affine, arith, gpu, scf, vector

from harness.ir.walk import operations_within
from harness.layouts.constraints import is_vector
from harness.layouts.shared_memory_model import WIDEST_ACCESS_BYTES
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

    def allocated(self) -> ir.Value:
        """Return memory for the tiles, whose rows are longer than the tile's."""
        rows, columns = self.tile.shape
        slots = 1 if self.loop is None else self.staging.slots
        return workgroup_buffer([slots, rows, columns + self.padding], self.tile.element_type, self.read)


def stage_matrix_operands(function: ir.OpView, staging: Staging) -> None:
    """Let the operands of products that are read from global memory pass through shared memory, in place."""
    staged = [found for op in operations_within(function) if (found := _staged(op, staging)) is not None]
    by_loop: dict[ir.Operation | None, list[Staged]] = {}
    for found in staged:
        key = None if found.loop is None else found.loop.operation
        by_loop.setdefault(key, []).append(found)
    for loop, group in by_loop.items():
        if loop is None:
            for found in group:
                _read_once(found)
        else:
            _read_ahead(loop.opview, group, staging)


def _staged(operation: ir.OpView, staging: Staging) -> Staged | None:
    """Return how an operation is staged, if it reads an operand of a product in pieces that can be copied."""
    if operation.name != "vector.transfer_read" or not _is_in_global_memory(operation.operands[0]):
        return None
    uses = list(operation.results[0].uses)
    if not uses or not all(use.owner.name == "vector.contract" and use.operand_number < 2 for use in uses):
        return None
    tile, buffer = operation.results[0].type, operation.operands[0].type
    element_bytes = tile.element_type.width // 8
    row_bytes = (tile.shape[-1] * element_bytes, buffer.shape[-1] * element_bytes)
    if any(size % WIDEST_ACCESS_BYTES for size in row_bytes) or tile.shape[-1] != buffer.shape[-1]:
        return None
    parent = operation.operation.parent.opview
    return Staged(staging, operation, parent if parent.name == "scf.for" else None)


def _is_in_global_memory(buffer: ir.Value) -> bool:
    """Return whether a buffer is an argument of the kernel, or a part of one."""
    producer = buffer.owner
    if isinstance(producer, ir.Block):
        return True
    return producer.name == "memref.subview" and _is_in_global_memory(producer.operands[0])


def _read_once(found: Staged) -> None:
    """Copy the tile, wait for it, and read it from shared memory."""
    buffer = found.allocated()
    with ir.InsertionPoint(found.read), found.read.location:
        zero = _index(0)
        _wait_for_readers(found.read)
        _copy(found.read, list(found.read.operands)[1:-1], buffer, zero)
        found.staging.commit()
        found.staging.wait()
        gpu.barrier()
        _read_from(found.read, buffer, zero)


def _read_ahead(loop: ir.OpView, group: list[Staged], staging: Staging) -> None:
    """Copy the tiles of the first iteration before the loop, and in each iteration those of the next."""
    lower, upper, step = list(loop.operands)[:3]
    memory = [found.allocated() for found in group]

    def copy_all(iteration: ir.Value, slot: ir.Value) -> None:
        for found, buffer in zip(group, memory, strict=True):
            _copy(found.read, _indices_at(loop, found.read, iteration), buffer, slot)

    with ir.InsertionPoint(loop), loop.location:
        _wait_for_readers(loop)
        _if(arith.cmpi(arith.CmpIPredicate.slt, lower, upper), lambda: copy_all(lower, _index(0)))
        staging.commit()
    body = loop.regions[0].blocks[0]
    iteration = body.arguments[0]
    with ir.InsertionPoint.at_block_begin(body), loop.location:
        slot, other = _slots(iteration, lower, step, staging.slots)
        staging.wait()
        gpu.barrier()
        following = arith.addi(iteration, step)
        _if(arith.cmpi(arith.CmpIPredicate.slt, following, upper), lambda: copy_all(following, other))
        staging.commit()
    for found, buffer in zip(group, memory, strict=True):
        with ir.InsertionPoint(found.read), found.read.location:
            _read_from(found.read, buffer, slot)


def _wait_for_readers(operation: ir.OpView) -> None:
    """Let all warps arrive before memory is filled that some may still read, as this buffer or another.

    Where a workgroup has had no vectors yet, in the block that it begins with, it has read nothing.
    """
    block = operation.operation.block
    earlier = itertools.takewhile(lambda other: other.operation != operation.operation, block.operations)
    if not is_body_of_workgroup(block) or any(map(_has_vectors, earlier)):
        gpu.barrier()


def _has_vectors(operation: ir.OpView) -> bool:
    return bool(len(operation.regions)) or any(map(is_vector, operation.results))


def _slots(iteration: ir.Value, lower: ir.Value, step: ir.Value, count: int) -> tuple[ir.Value, ir.Value]:
    """Return the slot of this iteration and that of the next."""
    done, start, size = (ir.AffineSymbolExpr.get(number) for number in range(3))
    passed = ir.AffineExpr.get_floor_div(done - start, size)
    expressions = [ir.AffineExpr.get_mod(passed + offset, count) for offset in range(2)]
    values = [iteration, lower, step]
    slot, other = (
        affine.AffineApplyOp(ir.AffineMap.get(0, 3, [expression]), values).result
        for expression in expressions
    )
    return slot, other


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
    for number, index in enumerate(indices):
        copy.operands[1 + number] = index
    tile = copy.results[0]
    identity = _minor_identity(3, 2)
    vector.TransferWriteOp(None, tile, buffer, [slot, _index(0), _index(0)], identity, in_bounds=_in_bounds())


def _read_from(read: ir.OpView, buffer: ir.Value, slot: ir.Value) -> None:
    """Replace a read by one from shared memory."""
    padding = list(read.operands)[-1]
    moved = vector.TransferReadOp(
        read.results[0].type,
        buffer,
        [slot, _index(0), _index(0)],
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


def _if(condition: ir.Value, build: Callable[[], None]) -> None:
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        build()
        scf.YieldOp([])


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
