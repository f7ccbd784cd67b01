"""The steps of attention as linalg operations on one tile; a whole problem is the largest tile.

Tiles are two-dimensional with queries first: scores `[queries, keys]`, accumulators `[queries, width]`,
row statistics `[queries]`.  Arithmetic is in f32 whatever the storage dtype, as on every matrix unit.
"""

import math
from collections.abc import Callable

import numpy as np
from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.payloads import builder as b

LOG2_E = math.log2(math.e)
LOWEST = -1e30
"""First value of a running maximum: finite, so that subtracting it from −inf gives no NaN."""

Visible = Callable[[ir.Value, ir.Value], ir.Value]
"""From query and key positions (i32) within the tile to an i1: is the key visible to the query?"""


def multiply_add(left: ir.Value, right: ir.Value, accumulator: ir.Value) -> ir.Value:
    """Body of a contraction."""
    return arith.addf(arith.mulf(left, right), accumulator)


def oriented_query(query: ir.Value, scale: float) -> ir.Value:
    """Return a query tile in f32, such that larger products mean larger scores.

    The positive part of the scale is left to the exponential, see `score_factor`.
    """
    factor = 1.0 if _suits_exponential(scale) else scale

    def body(element: ir.Value) -> ir.Value:
        return element if factor == 1.0 else arith.mulf(element, b.constant(factor))

    wide = widened(query)
    return b.structured("qd->qd", [wide], b.empty(b.shape_of(query)), body)


def score_factor(scale: float) -> float:
    """Return c such that `2^(c · products)` is `e^score` for the products of an oriented query.

    Scaling inside the exponential costs nothing (one fused multiply-add) and rounds once, where scaling Q
    would round every element.
    """
    return LOG2_E * (scale if _suits_exponential(scale) else 1.0)


def _suits_exponential(scale: float) -> bool:
    """Whether the scale is positive in f32; a factor of 0 would meet −inf."""
    return bool(np.float32(scale) >= np.finfo(np.float32).tiny)


def widened(tile: ir.Value) -> ir.Value:
    """Return a tile in f32."""
    if b.dtype_of(tile) == "f32":
        return tile
    return b.structured("xy->xy", [tile], b.empty(b.shape_of(tile)), b.widen)


def scores(query: ir.Value, key: ir.Value) -> ir.Value:
    """Return `query · keyᵀ` of f32 tiles `[queries, d]` and `[keys, d]`."""
    shape = [b.shape_of(query)[0], b.shape_of(key)[0]]
    return b.structured("qd,kd->qk", [query, key], b.filled(0.0, shape), multiply_add)


def masked(tile: ir.Value, visible: Visible) -> ir.Value:
    """Return scores with −inf where a key is not visible."""

    def body(score: ir.Value) -> ir.Value:
        condition = visible(b.loop_index(0), b.loop_index(1))
        return arith.select(condition, score, b.constant(-math.inf))

    return b.structured("->qk", [], tile, body, takes_init=True)


def row_maximum(tile: ir.Value, initial: ir.Value) -> ir.Value:
    """Return the larger of `initial` and each row's largest score."""
    return b.structured("qk->q", [tile], initial, lambda score, largest: arith.maximumf(score, largest))


def exponentials(tile: ir.Value, maximum: ir.Value, factor: float) -> ir.Value:
    """Return `2^(factor · (score − maximum))`, in place."""
    shift = b.structured(
        "q->q",
        [maximum],
        b.empty(b.shape_of(maximum)),
        lambda largest: arith.mulf(largest, b.constant(-factor)),
    )
    return b.structured(
        "q->qk",
        [shift],
        tile,
        lambda offset, score: mlir_math.exp2(mlir_math.fma(score, b.constant(factor), offset)),
        takes_init=True,
    )


def row_sum(tile: ir.Value, initial: ir.Value) -> ir.Value:
    """Return `initial` plus each row's sum."""
    return b.structured("qk->q", [tile], initial, lambda element, total: arith.addf(element, total))


def correction(old_maximum: ir.Value, new_maximum: ir.Value, factor: float) -> ir.Value:
    """Return `2^(factor · (old − new))`, by which sums over earlier tiles must be rescaled."""
    return b.structured(
        "q,q->q",
        [old_maximum, new_maximum],
        b.empty(b.shape_of(old_maximum)),
        lambda old, new: mlir_math.exp2(arith.mulf(arith.subf(old, new), b.constant(factor))),
    )


def rescaled_rows(tile: ir.Value, factor: ir.Value) -> ir.Value:
    """Return a tile `[queries, width]` or statistics `[queries]` with each row multiplied, in place."""
    rows = "q" if len(b.shape_of(tile)) == 1 else "qd"
    return b.structured(
        f"q->{rows}",
        [factor],
        tile,
        lambda scalar, element: arith.mulf(scalar, element),
        takes_init=True,
    )


def divided_scores(tile: ir.Value, divisor: ir.Value) -> ir.Value:
    """Return exponentials `[queries, keys]` divided by their row's sum, in place."""
    return b.structured(
        "q->qk", [divisor], tile, lambda total, element: safe_quotient(element, total), takes_init=True
    )


def copied(tile: ir.Value, init: ir.Value) -> ir.Value:
    """Return a tile written to `init`, of the same dtype."""
    return b.structured("qd->qd", [tile], init, lambda element: element)


def narrowed(tile: ir.Value, init: ir.Value) -> ir.Value:
    """Return a tile in the dtype of `init`."""
    return b.structured("qd->qd", [tile], init, lambda element: b.narrow(element, b.dtype_of(init)))


def divided_rows(tile: ir.Value, divisor: ir.Value, init: ir.Value) -> ir.Value:
    """Return each row divided by its divisor, 0 where that is 0; all f32."""
    return b.structured("qd,q->qd", [tile, divisor], init, safe_quotient)


def safe_quotient(element: ir.Value, total: ir.Value) -> ir.Value:
    """Divide scalars, except that a row which sees no key, whose sum is 0, gives 0."""
    empty_row = arith.cmpf(arith.CmpFPredicate.OEQ, total, b.constant(0.0))
    return arith.divf(element, arith.select(empty_row, b.constant(1.0), total))


def accumulated(probabilities: ir.Value, value: ir.Value, accumulator: ir.Value) -> ir.Value:
    """Return `accumulator + probabilities · value` of f32 tiles `[queries, keys]` and `[keys, width]`."""
    return b.structured("qk,kd->qd", [probabilities, value], accumulator, multiply_add)
