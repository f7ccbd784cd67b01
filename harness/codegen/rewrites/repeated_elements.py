"""What a reduction must not see twice.

The last tile of a shifted reduction loop is moved back to end with the dimension.  Its first elements belong
to the tile before, and are hidden from the reduction.
"""

import math
from dataclasses import dataclass

from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.ir.builder import Size
from harness.codegen.ir.walk import producer_of, terminator_of
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import Ranges, as_value
from harness.codegen.rewrites.structured import StructuredView

RAGGED_TILE = "harness.ragged_tile"
"""Marks a mask that only the last tile of a loop needs."""

_IDEMPOTENT = ("arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf")
_CONVERSIONS = ("arith.extf", "arith.truncf")


@dataclass(frozen=True)
class Hiding:
    """How elements are hidden from a reduction."""

    operand: int
    """Whose tile is masked."""
    fill: float
    """What its hidden elements become."""


def hiding_of(view: StructuredView, loop: int) -> Hiding | None:
    """Return how elements along a reduction loop are hidden, None if seeing them twice does no harm.

    Raises `RewriteRefusedError` if no value of one operand makes them disappear.
    """
    operation = view.operation
    if operation.name in attn.SOFTMAX_NAMES:
        return Hiding(0, -math.inf)
    if operation.name == attn.Attention.NAME:
        raise RewriteRefusedError(operation, "keys of a tile moved back would be seen twice: peel the rest")
    if operation.name == attn.BatchMatmul.NAME:
        return Hiding(0, 0.0)
    if operation.name.startswith("linalg.") and len(operation.results) == 1:
        block = operation.regions[0].blocks[0]
        combiner = producer_of(terminator_of(block).operands[0])
        if combiner is not None and combiner.name in _IDEMPOTENT:
            return None
        operand = _vanishing_operand(view, combiner, loop)
        if operand is not None:
            return Hiding(operand, 0.0)
    raise RewriteRefusedError(
        operation, "a shifted tile of its reduction would be seen twice: it is no sum of products"
    )


def hide_repeated(view: StructuredView, loops: Ranges, tiles: list[ir.Value]) -> list[ir.Value]:
    """Hide, in a reduction's tiles that were moved back, what the tiles before have seen already."""
    for loop, part in enumerate(loops):
        if not view.is_reduction[loop] or part.unshifted is None:
            continue
        hiding = hiding_of(view, loop)
        if hiding is not None:
            tiles[hiding.operand] = _masked(view, loops, loop, part.unshifted, tiles[hiding.operand], hiding)
    return tiles


def _masked(
    view: StructuredView, loops: Ranges, loop: int, start: Size, tile: ir.Value, hiding: Hiding
) -> ir.Value:
    kept = [other for other in view.operand_loops[hiding.operand] if not loops[other].is_dropped]
    axis = kept.index(loop)
    seen_first = ir.AffineDimExpr.get(axis) - ir.AffineSymbolExpr.get(0)
    offsets = [as_value(loops[loop].offset if other == loop else 0) for other in kept]
    visible = ir.AffineMap.get(len(kept), 1, [seen_first])
    mask = attn.mask(tile, visible, offsets, [as_value(start)], fill=hiding.fill)
    mask.operation.attributes[RAGGED_TILE] = ir.UnitAttr.get()
    return mask.masked


def _vanishing_operand(view: StructuredView, combiner: ir.OpView | None, loop: int) -> int | None:
    init = view.init_operands[0]
    if combiner is None or combiner.name != "arith.addf":
        return None
    terms = [value for value in combiner.operands if _argument(value) != init]
    if len(terms) != 1:
        return None
    factor = producer_of(terms[0])
    factors = list(factor.operands) if factor is not None and factor.name == "arith.mulf" else terms
    for value in factors:
        operand = _argument(value)
        if operand is not None and loop in view.operand_loops[operand]:
            return operand
    return None


def _argument(value: ir.Value) -> int | None:
    producer = producer_of(value)
    while producer is not None and producer.name in _CONVERSIONS:
        value = producer.operands[0]
        producer = producer_of(value)
    return ir.BlockArgument(value).arg_number if isinstance(value, ir.BlockArgument) else None
