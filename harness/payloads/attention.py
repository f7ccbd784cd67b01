"""The attention payloads: linalg and `attn` operations on tensors, untiled.

What every variant's schedule starts from.  A payload is a function that takes its output as last argument,
writes it and returns it.  Their forms are those of the slides *Linalg Fusion Enhancement*.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import func, tensor

from harness.ir import builder as b
from harness.payloads import attention_steps as steps
from harness.payloads.arguments import (
    UNDOES_PADDING,
    KernelArgument,
    attention_arguments,
    projection_arguments,
)
from harness.problem.attention_problem import AttentionProblem


def unsupported_by_payload(problem: AttentionProblem) -> str | None:
    """Return the first feature of the problem that the payloads cannot express, or None."""
    for present, feature in (
        (problem.is_packed, "packed sequences (cu_seqlens)"),
        (problem.kv_lengths is not None, "key lengths of padded batches (kv_lengths)"),
        (problem.mask, "a boolean mask"),
        (problem.bias, "an additive bias"),
        (problem.window is not None, "a window"),
        (problem.softcap is not None, "a score cap (softcap)"),
        (problem.model_width is not None, "prologue projections (model_width)"),
    ):
        if present:
            return f"{feature} is not part of this variant's payload"
    return None


def multi_head_attention(
    problem: AttentionProblem, query_rows: int | None = None, given: AttentionProblem | None = None
) -> ir.Module:
    """Return `@attention(Q[b,h,q,d], K[b,g,k,d], V[b,g,k,e], O[b,h,q,e]) -> O`.

    Args:
        problem: with fewer heads g of K and V than h, each is repeated for h/g query heads.
        query_rows: compute this many rows, at least seq_q, the rest of them from queries of 0 and not stored:
            for targets whose smallest tile is larger than the problem.
        given: the problem whose arrays callers have, in the same memory, if it is another one.

    Needs an MLIR context and location to be current.
    """
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", attention_arguments(problem, given))
        query, key, value, output = body.arguments
        with ir.InsertionPoint(body):
            padding = (query_rows or problem.seq_q) - problem.seq_q
            wide_query = steps.widened(padded_rows(query, padding))
            keys, values = (
                steps.for_each_query_head(steps.widened(operand), problem.group_size)
                for operand in (key, value)
            )
            result = _attention(problem, wide_query, keys, values)
            if padding:
                result = unpadded_rows(result, problem.dtype, problem.output_shape)
            func.ReturnOp([steps.stored(result, output)])
    return module


def multi_head_attention_with_prologue_projections(
    problem: AttentionProblem, query_rows: int | None = None
) -> ir.Module:
    """Return `@attention(X[b,s,w], Wq[w,h·d], Wk[w,g·d], Wv[w,g·e], O[b,h,s,e]) -> O`.

    Q, K and V are projected from the same tokens, split into heads and transposed: Q and V to
    `[b, head, s, d]`, K to `[b, head, d, s]`, as in these slides.  The problem's
    `model_width` is w.
    `query_rows` as for `multi_head_attention`.
    """
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", projection_arguments(problem))
        tokens, *weights, output = body.arguments
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
            padding = (query_rows or problem.seq_q) - problem.seq_q
            result = _attention(problem, padded_rows(query, padding), keys, values, "nn")
            if padding:
                result = unpadded_rows(result, problem.dtype, problem.output_shape)
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
            result = _attention(problem, *(steps.widened(operand) for operand in (query, key, value)))
            func.ReturnOp([steps.stored(result, output)])
    return module


def payload_function(name: str, arguments: list[KernelArgument]) -> ir.Block:
    """Add a function that returns its last argument's type; returns its empty body."""
    types = [b.tensor_type(argument.shape, argument.dtype) for argument in arguments]
    function = func.FuncOp(name, (types, [types[-1]]))
    function.arg_attrs = [argument.attributes() for argument in arguments]
    return function.add_entry_block()


def padded_rows(value: ir.Value, rows: int) -> ir.Value:
    """Return a tensor `[.., queries, width]` with rows of 0 appended."""
    if rows == 0:
        return value
    rank = value.type.rank
    high = [0] * rank
    high[-2] = rows
    shape = list(value.type.shape)
    shape[-2] += rows
    zero = b.constant(0.0, b.dtype_of(value))
    operation = tensor.PadOp(b.tensor_type(shape, b.dtype_of(value)), value, [], [], [0] * rank, high)
    block = operation.regions[0].blocks.append(*[ir.IndexType.get()] * rank)
    with ir.InsertionPoint(block):
        tensor.YieldOp(zero)
    return operation.result


def unpadded_rows(value: ir.Value, dtype: str, shape: Sequence[int]) -> ir.Value:
    """Return the first rows of a padded result in the dtype that is stored; tiling computes the others, too.

    Rows are padded and cut off in the type that is stored: a target that can leave rows out of a load or a
    store then has nothing else to do for the padding.
    """
    result = b.slice_of(steps.narrowed(value, dtype), [0] * len(shape), list(shape))
    ir.OpResult(result).owner.attributes[UNDOES_PADDING] = ir.UnitAttr.get()
    return result


def _attention(
    problem: AttentionProblem, query: ir.Value, key: ir.Value, value: ir.Value, layout: str = "nt"
) -> ir.Value:
    """Return attention of f32 operands `[.., rows, width]`; in layout `nn` the key is `[.., width, rows]`."""
    score = steps.scaled(steps.scores(query, key, layout), problem.scale)
    if problem.causal_shift is not None:
        score = steps.causally_masked(score, problem.causal_shift)
    return steps.weighted_values(steps.softmax(score).probability, value)
