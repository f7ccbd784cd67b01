"""Staging with one slot for each operand of a loop: the copies take turns.

As soon as all warps are through with an operand its slot is filled anew: V arrives during Q·Kᵀ, the next K
during softmax and P·V, as in FlashAttention-2's kernels (Dao, 2023).  It takes a barrier for each operand and
iteration, and half of the shared memory of two slots.
"""

import itertools
from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, gpu

from harness.codegen.ir.builder import index
from harness.codegen.ir.for_loop import ForLoop
from harness.targets.gpu.staged_tile import (
    Staged,
    first_use,
    in_order,
    is_before,
    last_use,
    wait_for_readers,
    when,
)
from harness.targets.gpu.vendor import Staging


def can_take_turns(group: Sequence[Staged]) -> bool:
    """Return whether a loop is through with each operand before it needs the next."""
    if len(group) < 2:
        return False
    ordered = in_order(group)
    return all(last_use(operand) < first_use(other) for operand, other in itertools.pairwise(ordered))


def read_in_turn(loop: ir.OpView, group: Sequence[Staged], staging: Staging) -> None:
    """Copy each operand while those before it are in use; the last one waits for its own iteration."""
    lower, upper, step = ForLoop(loop).bounds
    ordered = in_order(group)
    memory = [operand.allocated(slots=1) for operand in ordered]
    operations = list(ForLoop(loop).body.operations)
    iteration = ForLoop(loop).position
    with ir.InsertionPoint(loop), loop.location:
        zero = index(0)
        wait_for_readers(loop)
        when(is_before(lower, upper), lambda: _copy_all(ordered[:-1], memory, zero, lower))
        staging.commit()
    first_uses = [operations[first_use(operand)] for operand in ordered]
    starts = [operations[0], *(operations[last_use(operand) + 1] for operand in ordered[:-1])]
    for turn, start in enumerate(starts):
        free = turn - 1  # of the operands: all warps are through with it when they have arrived
        with ir.InsertionPoint(start), loop.location:
            staging.wait()
            gpu.barrier()
            if turn == 0:
                ordered[free].copy_to(memory[free], zero, iteration)
            else:
                _copy_next(ordered[free], memory[free], zero, arith.addi(iteration, step), upper)
            staging.commit()
    for operand, buffer, use in zip(ordered, memory, first_uses, strict=True):
        with ir.InsertionPoint(use), operand.read.location:
            operand.read_from(buffer, zero)


def _copy_all(
    staged: Sequence[Staged], memory: Sequence[ir.Value], slot: ir.Value, iteration: ir.Value
) -> None:
    for operand, buffer in zip(staged, memory, strict=False):
        operand.copy_to(buffer, slot, iteration)


def _copy_next(
    operand: Staged, buffer: ir.Value, slot: ir.Value, following: ir.Value, upper: ir.Value
) -> None:
    when(is_before(following, upper), lambda: operand.copy_to(buffer, slot, following))
