"""The stage `prefetched`: each iteration of a loop asks for the tiles that the next one reads.

A prefetch takes no registers, and nobody waits for it.  It stands where an iteration begins, so that all of
the iteration's products go on meanwhile.
"""

import itertools
from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, memref

from harness.codegen.ir.builder import index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within
from harness.codegen.layouts.constraints import in_shared_memory
from harness.codegen.layouts.distribution.transfers import PREFETCHED_TILE

READ, PRODUCT = "vector.transfer_read", "vector.contract"
NEAREST = 3
"""MLIR's measure of how soon a tile is used: it is kept in all caches."""


def prefetch_next_tiles(function: ir.OpView) -> None:
    """Let loops prefetch what their next iterations read for products, in place."""
    for loop in [operation for operation in operations_within(function) if operation.name == "scf.for"]:
        reads = [operation for operation in ForLoop(loop).body.operations if _is_of_tiles(operation)]
        with ir.InsertionPoint.at_block_begin(ForLoop(loop).body), loop.location:
            if reads:
                _prefetch_all(reads, ForLoop(loop))


def _next_or_same(loop: ForLoop) -> ir.Value:
    """Return the position of the next iteration; of the last one its own: tables end where loops do."""
    following = arith.addi(loop.position, loop.step)
    has_next = arith.cmpi(arith.CmpIPredicate.slt, following, loop.upper)
    position: ir.Value = arith.select(has_next, following, loop.position)
    return position


def _is_of_tiles(operation: ir.OpView) -> bool:
    """Return whether an operation reads an operand of a product, as many rows and columns as there are."""
    if operation.operation.name != READ or in_shared_memory(operation.operands[0]):
        return False
    kind = ir.VectorType(operation.results[0].type)
    buffer = ir.MemRefType(operation.operands[0].type)
    return (
        kind.rank == 2
        and all(size <= of for size, of in zip(kind.shape, buffer.shape[-2:], strict=True))
        and any(use.owner.name == PRODUCT for use in operation.results[0].uses)
    )


def _prefetch_all(reads: Sequence[ir.OpView], loop: ForLoop) -> None:
    """Emit the prefetches of what reads read in the following iteration; they look up a page once."""
    places = [list(read.operands)[1 : 1 + _rank(read)] for read in reads]
    following = iter(loop.at_iteration([index for place in places for index in place], _next_or_same(loop)))
    for read, place in zip(reads, places, strict=True):
        _prefetch(read, place, list(itertools.islice(following, len(place))))


def _prefetch(read: ir.OpView, place: list[ir.Value], following: list[ir.Value]) -> None:
    """Emit the prefetch of the tile that begins at the following place, if that is another one."""
    if following == place:
        return
    buffer, kind = read.operands[0], ir.VectorType(read.results[0].type)
    for axis, size in zip((-2, -1), kind.shape, strict=True):
        if following[axis] != place[axis]:
            last = ir.MemRefType(buffer.type).shape[axis] - size
            following[axis] = arith.minui(following[axis], index(last))
    asked = memref.prefetch(buffer, following, False, NEAREST, True)
    asked.attributes[PREFETCHED_TILE] = ir.DenseI64ArrayAttr.get(list(kind.shape))


def _rank(read: ir.OpView) -> int:
    rank: int = ir.MemRefType(read.operands[0].type).rank
    return rank
