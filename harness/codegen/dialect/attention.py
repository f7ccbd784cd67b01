"""Taking `attn.attention` apart: into a product, a softmax and a product.

Functional: the rewrite returns the operations that matter, so that the next one, such as the softmax's
decomposition, takes them from it and searches for nothing.
"""

import math
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from harness.codegen.dialect.operations import (
    Attention,
    BatchMatmul,
    ScoreOperand,
    Softmax,
    batch_matmul,
    diag,
    loop_letters,
    softmax,
)
from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill


@dataclass(frozen=True)
class AttentionParts:
    """What attention consists of."""

    scores: BatchMatmul
    softmax: Softmax
    output: BatchMatmul


def take_apart(operation: ir.OpView) -> AttentionParts:
    """Replace attention by a product, a softmax and a product; returns these.

    The softmax takes the scale.  A bias and a mask are an operation each.  Where the output goes on from
    earlier keys, a product with a diagonal matrix rescales it first.
    """
    attention = Attention(operation)
    with ir.InsertionPoint(operation), operation.location:
        parts = _build(attention)
    for result, value in zip(
        operation.results, (parts.output.product, parts.softmax.maximum, parts.softmax.total), strict=True
    ):
        result.replace_all_uses_with(value)
    operation.operation.erase()
    return parts


def rescaled_init(correction: ir.Value, init: ir.Value) -> ir.Value:
    """Return `diag(correction) · init` at the current insertion point."""
    rows = b.sizes_of(correction)
    dtype = b.dtype_of(init)
    matrix = diag(correction, b.empty([*rows, rows[-1]], dtype)).matrix
    zeros = b.filled(0.0, b.sizes_of(init), dtype)
    return batch_matmul(matrix, init, zeros).product


def _build(attention: Attention) -> AttentionParts:
    dtype = b.dtype_of(attention.init)
    keys = b.size_of(attention.key, attention.key.type.rank - 2)
    shape = [*b.sizes_of(attention.query)[:-1], keys]
    scores = batch_matmul(attention.query, attention.key, b.filled(0.0, shape, dtype), "nt")
    of_scores, score = attention.score_operands, scores.product

    def biased(element: ir.Value, bias: ir.Value) -> ir.Value:
        unscaled = arith.mulf(b.widen(bias, dtype), b.constant(1 / attention.scale, dtype))
        return arith.addf(element, unscaled)

    if "bias" in of_scores:
        score = _changed(score, of_scores["bias"], biased)
    if "mask" in of_scores:
        score = _changed(score, of_scores["mask"], _kept_where_visible)
    weights = softmax(
        score,
        b.empty(shape, dtype),
        attention.initial_maximum,
        attention.initial_total,
        b.empty(shape[:-1], dtype),
        dimension=len(shape) - 1,
        scale=attention.scale,
    )
    starts_from_nothing = constant_of_fill(attention.init) == 0.0
    init = attention.init if starts_from_nothing else rescaled_init(weights.correction, attention.init)
    return AttentionParts(scores, weights, batch_matmul(weights.probability, attention.value, init))


def _changed(score: ir.Value, operand: ScoreOperand, body: b.Body) -> ir.Value:
    axes = loop_letters(score.type.rank)
    own = "".join(axes[axis] for axis in operand.axes)
    return b.structured(f"{axes},{own}->{axes}", [score, operand.value], b.empty_like(score), body)


def _kept_where_visible(score: ir.Value, is_visible: ir.Value) -> ir.Value:
    keeps = arith.cmpi(arith.CmpIPredicate.ne, is_visible, arith.constant(is_visible.type, 0))
    return arith.select(keeps, score, b.constant(-math.inf, b.dtype_of(score)))
