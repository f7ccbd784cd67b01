"""The attention payloads: linalg and `attn` operations on tensors, untiled.

What every variant's schedule starts from.  A payload is a function that takes its outputs as last arguments,
writes and returns them.  Their forms are those of the slides *Linalg Fusion Enhancement*.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.payloads import attention_steps as steps
from harness.codegen.payloads.arguments import (
    KernelArgument,
    attention_arguments,
    output_arguments,
    projection_arguments,
    score_arguments,
)
from harness.codegen.payloads.padded_sizes import PaddedSizes
from harness.codegen.payloads.padding import padded, padded_rows, unpadded
from harness.codegen.payloads.query_rows import QueryRows
from harness.problem.attention_problem import SCORE_AXES, AttentionProblem


def unsupported_by_payload(problem: AttentionProblem) -> str | None:
    """Return the first feature of the problem that the payloads cannot express, or None."""
    for present, feature in (
        (problem.is_packed, "packed sequences (cu_seqlens)"),
        (problem.model_width is not None, "prologue projections (model_width)"),
    ):
        if present:
            return f"{feature} is not part of this variant's payload"
    return None


def multi_head_attention(
    problem: AttentionProblem,
    sizes: PaddedSizes | None = None,
    callers_problem: AttentionProblem | None = None,
    *,
    sinks_weigh_probabilities: bool = False,
) -> ir.Module:
    """Return `@attention(Q[b,h,q,d], K[b,g,k,d], V[b,g,k,e], O[b,h,q,e]) -> O`.

    Before O it takes mask and bias, each along the axes that it has, such as `mask[b,q,k]` and `bias[h,q,k]`,
    `kv_lengths[b]` and `sinks[h]` where the problem has them.  What K and V hold beyond these lengths can be
    anything.  After O it takes `log_sum_exp[b,h,q]` where the problem has that output, and returns it, too.

    Args:
        problem: with fewer heads g of K and V than h, each is repeated for h/g query heads.
        sizes: what is computed, where that is more than the problem has.
        callers_problem: the problem whose arrays callers have, in the same memory, if it is another one.
        sinks_weigh_probabilities: whether sinks change probabilities, not what these weigh.

    Needs an MLIR context and location to be current.
    """
    sizes = sizes or own_sizes(problem)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        arguments = attention_arguments(problem, callers_problem)
        body = payload_function("attention", arguments, count_outputs(problem))
        query, key, value, *others = inputs_of(body, problem)
        with ir.InsertionPoint(body):
            shapes = operand_shapes(problem, sizes)
            operands = [
                steps.widened(padded(operand, shape))
                for operand, shape in zip((query, key, value), shapes, strict=True)
            ]
            results = attention_of(
                problem,
                operands,
                others,
                outputs_of(body, problem),
                callers_problem=callers_problem,
                weighs_probabilities=sinks_weigh_probabilities,
            )
            func.ReturnOp(results)
    return module


def operand_shapes(problem: AttentionProblem, sizes: PaddedSizes) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of Q, K and V as they are computed."""
    return (
        (*problem.q_shape[:2], sizes.queries, sizes.head_dim),
        (*problem.k_shape[:2], sizes.keys, sizes.head_dim),
        (*problem.v_shape[:2], sizes.keys, sizes.head_dim_v),
    )


def own_sizes(problem: AttentionProblem) -> PaddedSizes:
    """Return the sizes of a problem that is not padded."""
    return PaddedSizes(problem.seq_q, problem.seq_kv, problem.head_dim, problem.head_dim_v)


def multi_head_attention_with_prologue_projections(
    problem: AttentionProblem, sizes: PaddedSizes | None = None
) -> ir.Module:
    """Return `@attention(X[b,s,w], Wq[w,h·d], Wk[w,g·d], Wv[w,g·e], O[b,h,s,e]) -> O`.

    Before O it takes mask, bias and lengths as `multi_head_attention`, and after it the same.

    Q, K and V are projected from the same tokens, split into heads and transposed: Q and V to
    `[b, head, s, d]`, K to `[b, head, d, s]`, as in these slides.  The problem's
    `model_width` is w.  Of `sizes` the queries count.
    """
    sizes = sizes or own_sizes(problem)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", projection_arguments(problem), count_outputs(problem))
        tokens, *rest = inputs_of(body, problem)
        weights, others = rest[:3], rest[3:]
        with ir.InsertionPoint(body):
            wide = steps.widened(tokens)
            heads = (problem.heads, problem.kv_heads, problem.kv_heads)
            orders = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
            query, key, value = (
                steps.projected(wide, steps.widened(weight), count, order)
                for weight, count, order in zip(weights, heads, orders, strict=True)
            )
            operands = (padded_rows(query, sizes.queries - problem.seq_q), key, value)
            func.ReturnOp(attention_of(problem, operands, others, outputs_of(body, problem), "nn"))
    return module


def single_attention(problem: AttentionProblem) -> ir.Module:
    """Return one head's attention on matrices: `@attention(Q[q,d], K[k,d], V[k,e], O[q,e]) -> O`."""
    module = ir.Module.create()
    shapes = [
        (problem.seq_q, problem.head_dim),
        (problem.seq_kv, problem.head_dim),
        (problem.seq_kv, problem.head_dim_v),
        (problem.seq_q, problem.head_dim_v),
    ]
    arguments = [
        KernelArgument(argument.buffer, argument.dimensions[2:], shape, problem.dtype)
        for argument, shape in zip(attention_arguments(problem), shapes, strict=True)
    ]
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", arguments)
        query, key, value, output = body.arguments
        with ir.InsertionPoint(body):
            wide_query, wide_key, wide_value = (steps.widened(operand) for operand in (query, key, value))
            attended = _attention(problem, problem, (wide_query, wide_key, wide_value), {})
            func.ReturnOp([steps.stored(attended.rows, output)])
    return module


def single_attention_of_any_length(problem: AttentionProblem) -> ir.Module:
    """Return `@attention(Q[?,d], K[?,d], V[?,e], O[?,e]) -> O`, for as many queries and keys as a call has.

    Nothing is masked, and what lengths the problem has does not matter.
    """
    module, unknown = ir.Module.create(), ir.ShapedType.get_dynamic_size()
    arguments = [
        KernelArgument(argument.buffer, argument.dimensions[2:], (unknown, argument.shape[-1]), problem.dtype)
        for argument in attention_arguments(problem)
    ]
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", arguments)
        query, key, value, output = body.arguments
        with ir.InsertionPoint(body):
            score = steps.scaled_and_capped(steps.scores(query, key), problem.scale, None)
            weights = steps.softmax(score, takes_any_score=False)
            func.ReturnOp([steps.stored(steps.weighted_values(weights.probability, value), output)])
    return module


def attention_operation(problem: AttentionProblem) -> ir.Module:
    """Return `multi_head_attention` as one `attn.attention`, for problems with a mask and a bias at most."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", attention_arguments(problem))
        query, key, value, *others, output = body.arguments
        of_scores = {
            name: attn.ScoreOperand(operand, tuple(map(SCORE_AXES.index, getattr(problem, f"{name}_axes"))))
            for name, operand in _score_operands(problem, others).items()
        }
        with ir.InsertionPoint(body):
            keys, values = (
                steps.for_each_query_head(operand, problem.group_size) for operand in (key, value)
            )
            init = b.filled(0.0, problem.attended_shape)
            maximum, total = (b.filled(number, problem.attended_shape[:-1]) for number in (steps.LOWEST, 0.0))
            carried = (init, maximum, total)
            attended = attn.attention(query, keys, values, *carried, scale=problem.scale, **of_scores)
            func.ReturnOp([steps.stored(attended.output, output)])
    return module


def payload_function(name: str, arguments: list[KernelArgument], outputs: int = 1) -> ir.Block:
    """Add a function that returns what its last arguments, its outputs, are; returns its empty body."""
    types = [b.tensor_type(argument.shape, argument.dtype) for argument in arguments]
    function = func.FuncOp(name, (types, types[-outputs:]))
    function.arg_attrs = [argument.attributes() for argument in arguments]
    return function.add_entry_block()


def count_outputs(problem: AttentionProblem) -> int:
    """Return how many outputs a problem has."""
    return len(output_arguments(problem, problem))


def inputs_of(body: ir.Block, problem: AttentionProblem) -> list[ir.Value]:
    """Return the arguments of a payload that it reads."""
    return list(body.arguments)[: -count_outputs(problem)]


def outputs_of(body: ir.Block, problem: AttentionProblem) -> list[ir.Value]:
    """Return the arguments of a payload that it writes."""
    return list(body.arguments)[-count_outputs(problem) :]


@dataclass(frozen=True)
class _Attended:
    """Attention of rows, and what is known of the softmax that it went through."""

    rows: ir.Value
    weights: attn.Softmax
    sinks: ir.Value | None


def attention_of(
    problem: AttentionProblem,
    operands: Sequence[ir.Value],
    others: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    layout: str = "nt",
    *,
    callers_problem: AttentionProblem | None = None,
    weighs_probabilities: bool = False,
) -> list[ir.Value]:
    """Return the outputs of a problem, each written to its place.

    Args:
        problem: what to compute.
        operands: Q, K and V in f32 as they are computed; in layout `nn` K is `[.., width, rows]`.
        others: what scores are changed by, arguments of a payload.
        outputs: the places of the outputs.
        layout: of the product of Q and K.
        callers_problem: the problem whose arrays callers have, if it is another one.
        weighs_probabilities: whether sinks change probabilities, not what these weigh.
    """
    callers_problem = callers_problem or problem
    query, key, value = operands
    of_scores = _score_operands(problem, others)
    if "sinks" in of_scores and callers_problem.heads > problem.heads:
        of_rows = QueryRows.of(problem, callers_problem).of_heads(of_scores["sinks"])
        of_scores["sinks"] = padded(of_rows, (problem.heads, query.type.shape[-2]))
    keys, values = (
        steps.for_each_query_head(operand, problem.group_size)
        for operand in (key, _without_unused(value, of_scores))
    )
    attended = _attention(
        problem,
        callers_problem,
        (query, keys, values),
        of_scores,
        layout,
        weighs_probabilities=weighs_probabilities,
    )
    rows = unpadded(attended.rows, problem.dtype, problem.attended_shape)
    has_order_of_heads = list(outputs[0].type.shape) == list(problem.attended_shape)
    stored = [steps.stored(rows, outputs[0], "bhqd", "bhqd" if has_order_of_heads else "bqhd")]
    for place in outputs[1:]:
        log_sum_exp = steps.log_sum_exp(attended.weights, attended.sinks, "bhq")
        stored.append(steps.stored(unpadded(log_sum_exp, "f32", problem.log_sum_exp_shape), place))
    return stored


def _attention(
    problem: AttentionProblem,
    callers_problem: AttentionProblem,
    factors: tuple[ir.Value, ir.Value, ir.Value],
    operands: Mapping[str, ir.Value],
    layout: str = "nt",
    *,
    weighs_probabilities: bool = False,
) -> _Attended:
    """Return attention of f32 factors `[.., rows, width]`; in layout `nn` the key is `[.., width, rows]`.

    `operands` are what scores are changed by, by the names of buffers; sinks change either the probabilities
    or what they weigh.
    """
    query, key, value = factors
    score = _visible_scores(problem, callers_problem, steps.scores(query, key, layout), operands)
    weights = steps.softmax(score, takes_any_score=problem.bias)
    sinks, probability = operands.get("sinks"), weights.probability
    if sinks is not None and weighs_probabilities:
        probability = steps.with_sinks(probability, weights, sinks, "bhqk")
    rows = steps.weighted_values(probability, value)
    if sinks is not None and not weighs_probabilities:
        rows = steps.with_sinks(rows, weights, sinks, "bhqd")
    return _Attended(rows, weights, sinks)


def _visible_scores(
    problem: AttentionProblem,
    callers_problem: AttentionProblem,
    product: ir.Value,
    operands: Mapping[str, ir.Value],
) -> ir.Value:
    """Return scores of `Q·Kᵀ`, in the field's order: scale, cap, bias, then −inf where something hides.

    What the number of a query hides is that of the given problem.
    """
    score = steps.scaled_and_capped(product, problem.scale, problem.softcap)
    pairs = list(score.type.shape)[-2:]
    if "bias" in operands:
        axes = problem.bias_axes
        score = steps.biased(score, _padded_pairs(operands["bias"], axes, pairs), axes)
    if "mask" in operands:
        axes = problem.mask_axes
        score = steps.hidden(score, _padded_pairs(operands["mask"], axes, pairs), axes)
    query = QueryRows.of(problem, callers_problem).query(ir.AffineDimExpr.get(score.type.rank - 2))
    if "kv_lengths" in operands:
        visible = _visible_at_length(callers_problem, query, ir.AffineDimExpr.get(score.type.rank - 1))
        return steps.masked_to_lengths(score, operands["kv_lengths"], visible, -math.inf)
    first, end = callers_problem.hiding_window(callers_problem.seq_q, callers_problem.seq_kv)
    score = steps.masked_to_band(score, query, first, end)
    return score if pairs[1] == problem.seq_kv else steps.masked_to_keys(score, problem.seq_kv)


def _visible_at_length(
    problem: AttentionProblem, query: ir.AffineExpr, key: ir.AffineExpr
) -> list[ir.AffineExpr]:
    """Return what is negative where a batch entry of some length, the symbol, hides a pair: causality and
    windows align to that length."""
    length = ir.AffineSymbolExpr.get(0)
    aligned = query + length + (-problem.seq_q)
    left, right = problem.window_sides
    visible = [length - key + (-1)]
    if problem.causal:
        visible.append((aligned if problem.causal_alignment == "bottom-right" else query) - key)
    if right is not None:
        visible.append(aligned - key + right)
    if left is not None:
        visible.append(key - aligned + left)
    return [each for place, each in enumerate(visible) if each not in visible[:place]]


def _score_operands(problem: AttentionProblem, values: Sequence[ir.Value]) -> dict[str, ir.Value]:
    """Return what scores are changed by, by the names of buffers."""
    names = [argument.buffer for argument in score_arguments(problem)]
    return dict(zip(names, values, strict=True))


def _without_unused(value: ir.Value, operands: Mapping[str, ir.Value]) -> ir.Value:
    """Return V with 0 beyond the lengths that a problem has: hidden keys weigh 0, and 0 · NaN is NaN."""
    if "kv_lengths" not in operands:
        return value
    key = ir.AffineDimExpr.get(value.type.rank - 2)
    visible = ir.AffineSymbolExpr.get(0) - key + (-1)
    return steps.masked_to_lengths(value, operands["kv_lengths"], [visible], 0.0)


def _padded_pairs(operand: ir.Value, axes: str, pairs: Sequence[int]) -> ir.Value:
    """Return a mask or a bias, which has some axes of scores, for queries and keys that are added, too."""
    computed = dict(zip("qk", pairs, strict=True))
    sizes = zip(axes, operand.type.shape, strict=True)
    return padded(operand, [computed.get(axis, size) for axis, size in sizes])
