"""Attention of packed sequences: one axis of queries, one of keys, and who sees whom in cumulative lengths.

Packed attention is attention of all queries and all keys under a mask: a query sees the keys of its own
sequence.  What that means for a row follows from `cu_seqlens_q` and `cu_seqlens_kv`, which the kernel reads.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from mlir import ir
from mlir.dialects import arith, func, linalg

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.payloads import attention_steps as steps
from harness.codegen.payloads.arguments import packed_arguments
from harness.codegen.payloads.attention import count_outputs, outputs_of, payload_function
from harness.codegen.payloads.padded_sizes import PaddedSizes
from harness.codegen.payloads.padding import padded, unpadded
from harness.problem.attention_problem import AttentionProblem
from harness.problem.pages import PageRoom

FAR = 2**30
"""Larger than any position."""


def packed_attention(
    problem: AttentionProblem,
    sizes: PaddedSizes | None = None,
    pages: PageRoom | None = None,
    tiles: tuple[int, int] | None = None,
) -> ir.Module:
    """Return `@attention(Q[t,h,d], K[u,g,d], V[u,g,e], starts_q[b+1], starts_kv[b+1], O[t,h,e]) -> O`.

    Before O it takes `sinks[h]` where the problem has them, after it `log_sum_exp[h,t]`, likewise.

    `sizes` are what is computed, where that is more than the problem has.  With `pages` K and V are pools
    of pages, and what finds keys there, `PageRoom.indices`, takes the place of `starts_kv`.  Keys are then
    those of the pages of the table, one page after the other; that these lie elsewhere in the pool, and what
    pages hold beyond a sequence's end, is for a rewrite of tiles: `harness.codegen.rewrites.page_table`.
    `tiles` of queries and keys are what kernels that read lengths touch at least, see `packed_arguments`.
    """
    tokens, keys = problem.q_shape[0], problem.k_shape[0]
    sizes = sizes or PaddedSizes(tokens, keys, problem.head_dim, problem.head_dim_v)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        arguments = packed_arguments(problem, pages, tiles)
        body = payload_function("attention", arguments, count_outputs(problem))
        values = dict(zip((argument.buffer for argument in arguments), body.arguments, strict=True))
        sinks = [values["sinks"]] if problem.sinks else []
        bounds = sequence_bounds(values)
        with ir.InsertionPoint(body):
            shapes = (
                (sizes.queries, problem.heads, sizes.head_dim),
                (sizes.keys, problem.kv_heads, sizes.head_dim),
                (sizes.keys, problem.kv_heads, sizes.head_dim_v),
            )
            wide_query, *others = (
                _heads_first(steps.widened(padded(_of_table(values[name], pages, name), shape)))
                for name, shape in zip(("query", "key", "value"), shapes, strict=True)
            )
            wide_key, wide_value = (
                steps.for_each_query_head(operand, problem.group_size, axis=0) for operand in others
            )
            product = steps.scores(wide_query, wide_key)
            score = steps.scaled_and_capped(product, problem.scale, problem.softcap)
            first, end = visible_keys_of_rows(problem, sizes.queries, bounds)
            masked = attn.row_mask(score, first, end, b.index(0), fill=-math.inf).masked
            weights = steps.softmax(masked)
            result = steps.weighted_values(weights.probability, wide_value)
            for logits in sinks:
                result = steps.with_sinks(result, weights, logits, "htd")
            result = unpadded(result, problem.dtype, (problem.heads, tokens, problem.head_dim_v))
            order = "htw" if problem.heads == 1 else "thw"
            output, *of_rows = outputs_of(body, problem)
            results = [steps.stored(result, output, "htw", order)]
            for place in of_rows:
                log_sum_exp = steps.log_sum_exp(weights, next(iter(sinks), None), "ht")
                results.append(steps.stored(unpadded(log_sum_exp, "f32", (problem.heads, tokens)), place))
            func.ReturnOp(results)
    return module


class SequenceBounds(NamedTuple):
    """Where sequences start and end: each one of a kernel's arguments, and which element of it is the first
    sequence's."""

    query_starts: tuple[ir.Value, int]
    query_ends: tuple[ir.Value, int]
    key_starts: tuple[ir.Value, int]
    key_ends: tuple[ir.Value, int]


def sequence_bounds(arguments: Mapping[str, ir.Value]) -> SequenceBounds:
    """Return the bounds of sequences, read off a kernel's arguments by the names of their buffers.

    Of sequences that lie one after the other each ends where the next one starts.
    """
    queries, keys = arguments["cu_seqlens_q"], arguments.get("cu_seqlens_kv")
    if keys is not None:
        return SequenceBounds((queries, 0), (queries, 1), (keys, 0), (keys, 1))
    starts, ends = arguments["key_starts"], arguments["key_ends"]
    return SequenceBounds((queries, 0), (queries, 1), (starts, 0), (ends, 0))


def _of_table(tokens: ir.Value, pages: PageRoom | None, name: str) -> ir.Value:
    if pages is None or name == "query":
        return tokens
    return b.slice_of(tokens, [0, 0, 0], [pages.tokens, *tokens.type.shape[1:]])


def visible_keys_of_rows(
    problem: AttentionProblem, rows: int, sequences: SequenceBounds
) -> tuple[ir.Value, ir.Value]:
    """Return the first and the past-the-end key that each row sees, i32; a row of no sequence sees none."""
    bounds = [b.slice_of(array, [offset], [problem.batch]) for array, offset in sequences]
    first = b.structured(
        "s,s,s,s->q", bounds, b.filled(FAR, [rows], "i32"), lambda *values: _first_key(problem, *values)
    )
    end = b.structured(
        "s,s,s,s->q", bounds, b.filled(0, [rows], "i32"), lambda *values: _end_key(problem, *values)
    )
    return first, end


def _first_key(problem: AttentionProblem, *values: ir.Value) -> ir.Value:
    query, query_end, key, key_end, least = values
    first = key
    left, _ = problem.window_sides
    if left is not None:
        aligned = arith.addi(b.loop_index(0), arith.subi(key_end, query_end))
        first = arith.maxsi(key, arith.subi(aligned, b.integer(left)))
    own = arith.select(_is_in(query, query_end), first, b.integer(FAR))
    return arith.minsi(own, least)


def _end_key(problem: AttentionProblem, *values: ir.Value) -> ir.Value:
    query, query_end, key, key_end, most = values
    end = key_end
    if problem.causal:
        is_top_left = problem.causal_alignment == "top-left"
        shift = arith.subi(key, query) if is_top_left else arith.subi(key_end, query_end)
        causal_end = arith.addi(arith.addi(b.loop_index(0), shift), b.integer(1))
        end = arith.minsi(end, causal_end)
    _, right = problem.window_sides
    if right is not None:
        aligned = arith.addi(b.loop_index(0), arith.subi(key_end, query_end))
        end = arith.minsi(end, arith.addi(aligned, b.integer(right + 1)))
    own = arith.select(_is_in(query, query_end), end, b.integer(0))
    return arith.maxsi(own, most)


def _is_in(query: ir.Value, query_end: ir.Value) -> ir.Value:
    row = b.loop_index(0)
    return arith.andi(
        arith.cmpi(arith.CmpIPredicate.sge, row, query), arith.cmpi(arith.CmpIPredicate.slt, row, query_end)
    )


def _heads_first(value: ir.Value) -> ir.Value:
    tokens, heads, width = b.sizes_of(value)
    transposed = linalg.transpose(value, outs=[b.empty([heads, tokens, width])], permutation=[1, 0, 2])
    return steps.result_of(transposed)
