"""The `staged` stage: tiles that products read pass through shared memory.

A tile that is read in a loop is copied ahead, to another slot: while one iteration computes, the copies of
the next one are on their way.  One barrier an iteration is enough.  With one slot for each operand the copies
take turns instead: `harness.targets.gpu.single_slots`.  Rows are followed by padding, so that rows which a
matrix load takes together, or neighbours of a copy, lie in different banks.
"""

import math

from mlir import ir
from mlir.dialects import arith, gpu

from harness.codegen.ir.builder import index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.transfers import FIRST_INDEX
from harness.codegen.ir.walk import operations_within, terminator_of
from harness.codegen.layouts.distribution.transfers import (
    LAST_AXIS,
    alignment_of_rows,
    bytes_of,
    open_axes,
)
from harness.codegen.layouts.shared_memory_model import WIDEST_ACCESS_BYTES
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.targets.gpu.shared_memory import place
from harness.targets.gpu.single_slots import can_take_turns, read_in_turn
from harness.targets.gpu.staged_tile import (
    Staged,
    in_order,
    is_before,
    last_use,
    slots_of,
    uses_in_products,
    wait_for_readers,
    when,
)
from harness.targets.gpu.vendor import Staging

LEAST_SLOTS_AHEAD = 2
"""One that is read from and one that is copied to."""
VIEWS = ("memref.subview", "memref.transpose")
"""What gives a part of a buffer, or the buffer with its axes in another order."""


def stage_matrix_operands(
    function: ir.OpView,
    staging: Staging,
    slots: int,
    tiling: WarpTiling,
    most_bytes: int | None = None,
    *,
    behind_scores: bool = False,
) -> None:
    """Let the operands of products that are read from global memory pass through shared memory, in place.

    Tiles that loops cut along their rows, as of probabilities in memory, are read directly where so many
    bytes have no room for them.  With two slots the next tiles are copied as soon as there is a slot, or
    behind the product with the operand that the loop uses first.
    """
    reads = [_staged(operation, staging, tiling) for operation in operations_within(function)]
    staged = [operand for operand in reads if operand is not None]
    by_loop: dict[ir.Operation | None, list[Staged]] = {}
    for operand in staged:
        key = None if operand.loop is None else operand.loop.operation
        by_loop.setdefault(key, []).append(operand)
    for loop, operands in by_loop.items():
        if loop is None:
            for operand in operands:
                _read_once(operand)
            continue
        ahead = slots if staging.is_through_registers else max(slots, LEAST_SLOTS_AHEAD)
        room = None if most_bytes is None else most_bytes - place(function).bytes
        group = _with_room(operands, ahead, room)
        if not group:
            continue
        if staging.is_through_registers:
            _read_ahead(loop.opview, group, staging, ahead)
        elif slots == 1 and can_take_turns(group):
            read_in_turn(loop.opview, group, staging)
        else:
            is_late = behind_scores and can_take_turns(group)
            _read_ahead(loop.opview, group, staging, ahead, behind_scores=is_late)


def _with_room(operands: list[Staged], slots: int, room: int | None) -> list[Staged]:
    """Return the operands of a loop but, where there are fewer bytes than all need, those cut along rows."""
    if room is None or sum(operand.bytes(slots) for operand in operands) <= room:
        return operands
    return [operand for operand in operands if not operand.is_cut_along_rows]


def _staged(operation: ir.OpView, staging: Staging, tiling: WarpTiling) -> Staged | None:
    """Return how an operation is staged, if it reads an operand of a product in pieces that can be copied."""
    if operation.name != "vector.transfer_read" or not _is_in_global_memory(operation.operands[0]):
        return None
    if not uses_in_products(operation.results[0]):
        return None
    tile = operation.results[0].type
    row_bytes = tile.shape[-1] * bytes_of(tile.element_type)
    alignment = alignment_of_rows(operation, FIRST_INDEX[operation.name])
    if math.gcd(row_bytes, alignment) % WIDEST_ACCESS_BYTES or LAST_AXIS in open_axes(operation):
        return None
    parent = operation.operation.parent.opview
    staged = Staged(staging, tiling, operation, parent if parent.name == "scf.for" else None)
    rows, columns = tile.shape
    is_even = tiling.can_copy(rows, columns, bytes_of(tile.element_type))
    return staged if is_even or not staged.is_cut_along_rows else None


def _is_in_global_memory(buffer: ir.Value) -> bool:
    """Return whether a buffer is an argument of the kernel, or a part or a view of one."""
    producer = buffer.owner
    if isinstance(producer, ir.Block):
        return True
    return producer.name in VIEWS and _is_in_global_memory(producer.operands[0])


def _read_once(operand: Staged) -> None:
    buffer = operand.allocated(slots=1)
    with ir.InsertionPoint(operand.read), operand.read.location:
        zero = index(0)
        wait_for_readers(operand.read)
        operand.copy_to(buffer, zero)
        operand.staging.commit()
        operand.staging.wait()
        gpu.barrier()
        operand.read_from(buffer, zero)


def _read_ahead(
    loop: ir.OpView, group: list[Staged], staging: Staging, slots: int, *, behind_scores: bool = False
) -> None:
    """Copy the tiles of the first iteration before the loop, and in each iteration those of the next.

    Behind scores it is known since the iteration began where the next tiles lie: to look up their page has
    taken its time by then.

    Through registers they are loaded before the products and stored after: they are on their way meanwhile.
    With one slot all warps have to be through with it by then, which takes a second barrier.  The last
    iteration then loads its own tiles once more: no branch keeps a load from being moved ahead.
    """
    lower, upper, step = ForLoop(loop).bounds
    body, iteration = ForLoop(loop).body, ForLoop(loop).position
    memory = [staged.allocated(slots) for staged in group]
    scores = list(body.operations)[last_use(in_order(group)[0])]

    def copy_all(places: list[list[ir.Value]], slot: ir.Value) -> None:
        for staged, start, buffer in zip(group, places, memory, strict=True):
            staged.store(staged.load_from(start), buffer, slot)

    def places_at(iteration: ir.Value) -> list[list[ir.Value]]:
        return [staged.place(iteration) for staged in group]

    with ir.InsertionPoint(loop), loop.location:
        wait_for_readers(loop)
        when(is_before(lower, upper), lambda: copy_all(places_at(lower), index(0)))
        staging.commit()
    with ir.InsertionPoint.at_block_begin(body), loop.location:
        slot, other = slots_of(iteration, lower, step, slots)
        following = arith.addi(iteration, step)
        has_next = is_before(following, upper)
        if staging.is_through_registers or behind_scores:
            places = places_at(arith.select(has_next, following, iteration))
        staging.wait()
        gpu.barrier()
        if staging.is_through_registers:
            loaded = [staged.load_from(start) for staged, start in zip(group, places, strict=True)]
        elif not behind_scores:
            when(has_next, lambda: copy_all(places_at(following), other))
            staging.commit()
    if staging.is_through_registers:
        with ir.InsertionPoint(terminator_of(body)), loop.location:
            if slots == 1:
                gpu.barrier()
            for staged, tile, buffer in zip(group, loaded, memory, strict=True):
                staged.store(tile, buffer, other)
    elif behind_scores:
        with ir.InsertionPoint.after(scores), loop.location:
            when(has_next, lambda: copy_all(places, other))
            staging.commit()
    for staged, buffer in zip(group, memory, strict=True):
        with ir.InsertionPoint(staged.read), staged.read.location:
            staged.read_from(buffer, slot)
