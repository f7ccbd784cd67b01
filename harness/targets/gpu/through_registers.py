"""Staging through registers: a loop loads its next tiles before its products and stores them after.

What a loop loads is on its way while the products go on, and is waited for when it is stored.  With one slot
for each operand all warps have to be through with it by then, which takes a second barrier an iteration.  The
last iteration loads its own tiles once more: so no branch keeps a load from being moved ahead.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, gpu

from harness.ir.builder import index
from harness.ir.for_loop import ForLoop
from harness.ir.walk import terminator_of
from harness.targets.gpu.staged_tile import Staged, is_before, slots_of, wait_for_readers, when


def read_through_registers(loop: ir.OpView, group: Sequence[Staged], slots: int) -> None:
    """Copy the tiles of the first iteration before the loop, and in each iteration those of the next."""
    lower, upper, step = ForLoop(loop).bounds
    memory = [found.allocated(slots) for found in group]
    body, iteration = ForLoop(loop).body, ForLoop(loop).position

    def copy_first() -> None:
        for found, buffer in zip(group, memory, strict=True):
            found.copy_to(buffer, index(0), lower)

    with ir.InsertionPoint(loop), loop.location:
        wait_for_readers(loop)
        when(is_before(lower, upper), copy_first)
    with ir.InsertionPoint.at_block_begin(body), loop.location:
        slot, other = slots_of(iteration, lower, step, slots)
        gpu.barrier()
        following = arith.addi(iteration, step)
        next_or_same = arith.select(is_before(following, upper), following, iteration)
        loaded = [found.load(next_or_same) for found in group]
    with ir.InsertionPoint(terminator_of(body)), loop.location:
        if slots == 1:
            gpu.barrier()
        for found, tile, buffer in zip(group, loaded, memory, strict=True):
            found.store(tile, buffer, other)
    for found, buffer in zip(group, memory, strict=True):
        with ir.InsertionPoint(found.read), found.read.location:
            found.read_from(buffer, slot)
