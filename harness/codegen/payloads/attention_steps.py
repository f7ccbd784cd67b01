"""The steps of attention on whole tensors, for any number of leading (batch, head) dimensions.

Arithmetic is in f32 whatever the storage dtype, as on every matrix unit: operands are widened first, results
narrowed last.
"""

import math
from collections.abc import Sequence

import numpy as np
from mlir import ir
from mlir.dialects import arith, linalg, tensor
from mlir.dialects import math as mlir_math

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import safe_quotient
from harness.codegen.ir import builder as b
from harness.codegen.ir.logarithm import natural_logarithm
from harness.codegen.ir.tangent import tanh

LOWEST = -1e30
"""First value of a running maximum: finite, so that subtracting it from −inf gives no NaN, however it is
multiplied."""
LEAST = float(np.finfo(np.float32).min)
"""First value of a running maximum of scores with a bias, which can be the least number to hide a pair."""


def widened(value: ir.Value) -> ir.Value:
    """Return a tensor in f32."""
    if b.dtype_of(value) == "f32":
        return value
    return b.elementwise(value, b.widen, "f32")


def narrowed(value: ir.Value, dtype: str) -> ir.Value:
    """Return a tensor of f32 in the dtype that it is stored in."""
    if b.dtype_of(value) == dtype:
        return value
    return b.elementwise(value, lambda element: b.narrow(element, dtype), dtype)


def for_each_query_head(value: ir.Value, group_size: int, axis: int = 1) -> ir.Value:
    """Repeat the heads of K or V, which lie along `axis`, for the query heads that share one.

    `[batch, kv_heads, keys, width]` becomes `[batch, kv_heads · group_size, keys, width]`: broadcast along a
    new dimension, which is then joined with the heads.
    """
    if group_size == 1:
        return value
    sizes, static = b.sizes_of(value), list(value.type.shape)
    element = value.type.element_type
    grouped = tensor.empty([*sizes[: axis + 1], group_size, *sizes[axis + 1 :]], element)
    repeated = linalg.broadcast(value, outs=[grouped], dimensions=[axis + 1])
    static[axis] *= group_size
    groups = [[dimension + (dimension > axis)] for dimension in range(len(sizes))]
    groups[axis] = [axis, axis + 1]
    joined = ir.RankedTensorType.get(static, element)
    return tensor.CollapseShapeOp(joined, result_of(repeated), groups).result


def scores(query: ir.Value, key: ir.Value, layout: str = "nt") -> ir.Value:
    """Return `query · keyᵀ`, `[.., queries, keys]`; in layout `nn` the key is stored transposed already."""
    keys = b.size_of(key, key.type.rank - (2 if layout == "nt" else 1))
    shape = [*b.sizes_of(query)[:-1], keys]
    return attn.batch_matmul(query, key, b.filled(0.0, shape), layout).product


def scaled_and_capped(value: ir.Value, scale: float, cap: float | None) -> ir.Value:
    """Return the scores times the scale, and `cap · tanh(score / cap)` of that where there is a cap."""
    if cap is None:
        return b.elementwise(value, lambda score: arith.mulf(score, b.constant(scale)))

    def capped(score: ir.Value) -> ir.Value:
        ratio = arith.mulf(score, b.constant(scale / cap))
        return arith.mulf(tanh(ratio), b.constant(cap))

    return b.elementwise(value, capped)


def biased(value: ir.Value, bias: ir.Value, axes: str) -> ir.Value:
    """Return scores plus a bias, whose axes are some of those of the scores, `bhqk`."""
    return b.structured(
        f"bhqk,{axes}->bhqk",
        [value, bias],
        b.empty(b.sizes_of(value)),
        lambda score, element: arith.addf(score, b.widen(element)),
    )


def hidden(value: ir.Value, visible: ir.Value, axes: str) -> ir.Value:
    """Return scores `bhqk` with −inf where a boolean mask, a byte an element, is 0.

    Its axes are some of those of the scores.
    """

    def chosen(score: ir.Value, is_visible: ir.Value) -> ir.Value:
        nothing = arith.constant(is_visible.type, 0)
        keeps = arith.cmpi(arith.CmpIPredicate.ne, is_visible, nothing)
        return arith.select(keeps, score, b.constant(-math.inf))

    return b.structured(f"bhqk,{axes}->bhqk", [value, visible], b.empty(b.sizes_of(value)), chosen)


def masked_to_band(value: ir.Value, query: ir.AffineExpr, first: int | None, end: int | None) -> ir.Value:
    """Return scores with −inf where query i does not see a key: it sees those from i + first to before
    i + end; None where nothing is hidden on that side.  `query` is i, of a score's position."""
    key = ir.AffineDimExpr.get(value.type.rank - 1)
    lower = [] if first is None else [key - query + (-first)]
    upper = [] if end is None else [query - key + (end - 1)]
    return _masked(value, [*lower, *upper])


def masked_to_lengths(
    value: ir.Value, lengths: ir.Value, inequalities: Sequence[ir.AffineExpr], fill: float
) -> ir.Value:
    """Return a tensor `[batch, ..]` with a number where any of the expressions is negative.

    They are of a position and of one symbol, the length of the batch entry.
    """
    rank = value.type.rank
    visible = ir.AffineMap.get(rank, 1, list(inequalities))
    return attn.length_mask(value, lengths, visible, [b.index(0)] * rank, fill=fill).masked


def masked_to_keys(value: ir.Value, keys: int) -> ir.Value:
    """Return scores with −inf from that key on."""
    key = ir.AffineDimExpr.get(value.type.rank - 1)
    return _masked(value, [key * -1 + (keys - 1)])


def _masked(value: ir.Value, inequalities: list[ir.AffineExpr]) -> ir.Value:
    if not inequalities:
        return value
    rank = value.type.rank
    visible = ir.AffineMap.get(rank, 0, inequalities)
    return attn.mask(value, visible, [b.index(0)] * rank, fill=-math.inf).masked


def softmax(value: ir.Value, *, takes_any_score: bool = False) -> attn.Softmax:
    """Return the softmax over the last dimension, started from nothing.

    Scores of more than about 2·10⁹, as a bias can make them, are right only where it `takes_any_score`.
    """
    shape = b.sizes_of(value)
    rows = shape[:-1]
    return attn.softmax(
        value,
        b.empty(shape),
        b.filled(LEAST if takes_any_score else LOWEST, rows),
        b.filled(0.0, rows),
        b.empty(rows),
        dimension=len(shape) - 1,
        subtracts_first=takes_any_score,
    )


def with_sinks(value: ir.Value, weights: attn.Softmax, sinks: ir.Value, axes: str) -> ir.Value:
    """Return rows, of probabilities or of what they weigh, as if their head's sink were among the scores.

    With a row's maximum m and total a of e^(score − m), the sink s, and n the larger of m and s: the row is
    multiplied by a·e^(m − n) / (a·e^(m − n) + e^(s − n)).  `axes` are those of the rows, `h` among them.
    Sinks are `[h]`, or those of each row, `[h, rows]`.
    """
    rows = axes[:-1]

    def share(maximum: ir.Value, total: ir.Value, sink: ir.Value) -> ir.Value:
        _, of_keys, of_sink = _powers(maximum, sink)
        kept = arith.mulf(total, of_keys)
        return safe_quotient(kept, arith.addf(kept, of_sink))

    statistics = [weights.maximum, weights.total, sinks]
    empty = b.empty(b.sizes_of(weights.total))
    shares = b.structured(f"{rows},{rows},{_axes_of_sinks(sinks, rows)}->{rows}", statistics, empty, share)
    return b.structured(
        f"{axes},{rows}->{axes}",
        [value, shares],
        b.empty(b.sizes_of(value)),
        lambda x, kept: arith.mulf(x, kept),
    )


def _powers(maximum: ir.Value, sink: ir.Value) -> list[ir.Value]:
    """Return the larger of a row's maximum and its sink, n, then e^(maximum − n) and e^(sink − n)."""
    wide_sink, log2_e = b.widen(sink), b.constant(math.log2(math.e))
    largest = arith.maximumf(maximum, wide_sink)
    return [
        largest,
        *(mlir_math.exp2(arith.mulf(arith.subf(logit, largest), log2_e)) for logit in (maximum, wide_sink)),
    ]


def log_sum_exp(weights: attn.Softmax, sinks: ir.Value | None, axes: str) -> ir.Value:
    """Return log Σ e^score of rows, those of sinks included: −∞ where a row has no score but −∞.

    `axes` are those of the rows, `h` among them.
    """

    def of_keys(maximum: ir.Value, total: ir.Value) -> ir.Value:
        return arith.addf(maximum, natural_logarithm(total))

    def of_keys_and_sink(maximum: ir.Value, total: ir.Value, sink: ir.Value) -> ir.Value:
        largest, *shares = _powers(maximum, sink)
        return arith.addf(largest, natural_logarithm(mlir_math.fma(total, *shares)))

    empty, statistics = b.empty(b.sizes_of(weights.total)), [weights.maximum, weights.total]
    if sinks is None:
        return b.structured(f"{axes},{axes}->{axes}", statistics, empty, of_keys)
    subscripts = f"{axes},{axes},{_axes_of_sinks(sinks, axes)}->{axes}"
    return b.structured(subscripts, [*statistics, sinks], empty, of_keys_and_sink)


def _axes_of_sinks(sinks: ir.Value, rows: str) -> str:
    """Return the axes of sinks among those of rows: the heads, and the rows of each where these differ."""
    return "h" if sinks.type.rank == 1 else f"h{rows[-1]}"


def weighted_values(probability: ir.Value, value: ir.Value) -> ir.Value:
    """Return `probability · value`, `[.., queries, width]`."""
    shape = [*b.sizes_of(probability)[:-1], b.size_of(value, value.type.rank - 1)]
    return attn.batch_matmul(probability, value, b.filled(0.0, shape), "nn").product


def stored(value: ir.Value, output: ir.Value, axes: str | None = None, order: str | None = None) -> ir.Value:
    """Return the result in the dtype of the output, written there, in another order of its axes if told."""
    axes = axes or attn.loop_letters(value.type.rank)
    dtype = b.dtype_of(output)
    return b.structured(f"{axes}->{order or axes}", [value], output, lambda element: b.narrow(element, dtype))


def result_of(operation: ir.OpView | ir.Operation | ir.Value) -> ir.Value:
    """Return the one result of what a builder of the bindings returned."""
    if isinstance(operation, ir.Value):
        return operation
    results: ir.Value = operation.results[0]
    return results


def projected(tokens: ir.Value, weights: ir.Value, heads: int, order: tuple[int, ...]) -> ir.Value:
    """Return `tokens · weights`, split into heads and transposed.

    Args:
        tokens: `[batch, seq, model_width]`.
        weights: `[model_width, heads · head_dim]`, the same for every batch entry.
        heads: number of heads.
        order: of the dimensions batch, seq, head, head_dim in the result.
    """
    batch, seq, width = b.sizes_of(tokens)
    columns = weights.type.shape[1]
    repeated = linalg.broadcast(weights, outs=[b.empty([batch, width, columns])], dimensions=[0])
    product = attn.batch_matmul(tokens, result_of(repeated), b.filled(0.0, [batch, seq, columns])).product
    static = [*tokens.type.shape[:2], heads, columns // heads]
    sizes = [batch, seq, heads, columns // heads]
    split = tensor.ExpandShapeOp(
        b.tensor_type(static, "f32"),
        product,
        [[0], [1], [2, 3]],
        [size for size in sizes if not isinstance(size, int)],
        static,
    ).result
    empty = b.empty([sizes[axis] for axis in order])
    return result_of(linalg.transpose(split, outs=[empty], permutation=list(order)))
