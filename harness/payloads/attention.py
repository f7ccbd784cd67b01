"""The attention payloads: linalg and `attn` operations on tensors, untiled.

What every variant's schedule starts from.  A payload is a function that takes its output as last argument,
writes it and returns it.  Their forms are those of the slides *Linalg Fusion Enhancement*.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import func

from harness.ir import builder as b
from harness.payloads import attention_steps as steps
from harness.payloads.arguments import (
    KernelArgument,
    attention_arguments,
    projection_arguments,
)
from harness.payloads.padded_sizes import PaddedSizes
from harness.payloads.padding import padded, padded_rows, unpadded
from harness.problem.attention_problem import AttentionProblem


def unsupported_by_payload(problem: AttentionProblem) -> str | None:
    """Return the first feature of the problem that the payloads cannot express, or None."""
    for present, feature in (
        (problem.is_packed, "packed sequences (cu_seqlens)"),
        (problem.kv_lengths is not None, "key lengths of padded batches (kv_lengths)"),
        (problem.model_width is not None, "prologue projections (model_width)"),
    ):
        if present:
            return f"{feature} is not part of this variant's payload"
    return None


def multi_head_attention(
    problem: AttentionProblem, sizes: PaddedSizes | None = None, given: AttentionProblem | None = None
) -> ir.Module:
    """Return `@attention(Q[b,h,q,d], K[b,g,k,d], V[b,g,k,e], O[b,h,q,e]) -> O`.

    Before O it takes `mask[b,q,k]` and `bias[h,q,k]` where the problem has them.

    Args:
        problem: with fewer heads g of K and V than h, each is repeated for h/g query heads.
        sizes: what is computed, where that is more than the problem has.
        given: the problem whose arrays callers have, in the same memory, if it is another one.

    Needs an MLIR context and location to be current.
    """
    sizes = sizes or own_sizes(problem)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", attention_arguments(problem, given))
        query, key, value, *changes, output = body.arguments
        with ir.InsertionPoint(body):
            shapes = (
                (*problem.q_shape[:2], sizes.queries, sizes.head_dim),
                (*problem.k_shape[:2], sizes.keys, sizes.head_dim),
                (*problem.v_shape[:2], sizes.keys, sizes.head_dim_v),
            )
            wide_query, wide_key, wide_value = (
                steps.widened(padded(operand, shape))
                for operand, shape in zip((query, key, value), shapes, strict=True)
            )
            keys, values = (
                steps.for_each_query_head(operand, problem.group_size) for operand in (wide_key, wide_value)
            )
            result = _attention(problem, wide_query, keys, values, changes)
            result = unpadded(result, problem.dtype, problem.output_shape)
            func.ReturnOp([steps.stored(result, output)])
    return module


def own_sizes(problem: AttentionProblem) -> PaddedSizes:
    """Return the sizes of a problem that is not padded."""
    return PaddedSizes(problem.seq_q, problem.seq_kv, problem.head_dim, problem.head_dim_v)


def multi_head_attention_with_prologue_projections(
    problem: AttentionProblem, sizes: PaddedSizes | None = None
) -> ir.Module:
    """Return `@attention(X[b,s,w], Wq[w,h·d], Wk[w,g·d], Wv[w,g·e], O[b,h,s,e]) -> O`.

    Before O it takes mask and bias as `multi_head_attention`.

    Q, K and V are projected from the same tokens, split into heads and transposed: Q and V to
    `[b, head, s, d]`, K to `[b, head, d, s]`, as in these slides.  The problem's
    `model_width` is w.  Of `sizes` the queries count.
    """
    sizes = sizes or own_sizes(problem)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", projection_arguments(problem))
        tokens, *weights = list(body.arguments)[:4]
        *changes, output = list(body.arguments)[4:]
        with ir.InsertionPoint(body):
            wide = steps.widened(tokens)
            heads = (problem.heads, problem.kv_heads, problem.kv_heads)
            orders = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
            query, key, value = (
                steps.projected(wide, steps.widened(weight), count, order)
                for weight, count, order in zip(weights, heads, orders, strict=True)
            )
            keys, values = (
                steps.for_each_query_head(operand, problem.group_size) for operand in (key, value)
            )
            queries = padded_rows(query, sizes.queries - problem.seq_q)
            result = _attention(problem, queries, keys, values, changes, "nn")
            result = unpadded(result, problem.dtype, problem.output_shape)
            func.ReturnOp([steps.stored(result, output)])
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
            result = _attention(problem, wide_query, wide_key, wide_value, [])
            func.ReturnOp([steps.stored(result, output)])
    return module


def payload_function(name: str, arguments: list[KernelArgument]) -> ir.Block:
    """Add a function that returns its last argument's type; returns its empty body."""
    types = [b.tensor_type(argument.shape, argument.dtype) for argument in arguments]
    function = func.FuncOp(name, (types, [types[-1]]))
    function.arg_attrs = [argument.attributes() for argument in arguments]
    return function.add_entry_block()


def _attention(
    problem: AttentionProblem,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    changes: Sequence[ir.Value],
    layout: str = "nt",
) -> ir.Value:
    """Return attention of f32 operands `[.., rows, width]`; in layout `nn` the key is `[.., width, rows]`.

    `changes` are the boolean mask and the bias that the problem has, `[b,q,k]` and `[h,q,k]`.
    """
    score = steps.scaled_and_capped(steps.scores(query, key, layout), problem.scale, problem.softcap)
    pairs = list(score.type.shape)[-2:]
    operands = iter([padded(operand, [operand.type.shape[0], *pairs]) for operand in changes])
    mask = next(operands) if problem.mask else None
    if problem.bias:
        score = steps.biased(score, next(operands), "hqk")
    if mask is not None:
        score = steps.hidden(score, mask, "bqk")
    first, end = problem.hiding_window(problem.seq_q, problem.seq_kv)
    score = steps.masked_to_band(score, first, end)
    if pairs[1] != problem.seq_kv:
        score = steps.masked_to_keys(score, problem.seq_kv)
    return steps.weighted_values(steps.softmax(score).probability, value)
