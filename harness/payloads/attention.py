"""The attention payloads: linalg on tensors, untiled, as in the source documents.

`single_attention` is one head, `multi_head_attention` a whole problem with a batch × head grid.  Both are
what every variant's schedule starts from and what the tiled forms are tested against.
"""

import math

from mlir import ir
from mlir.dialects import arith, func
from mlir.dialects import math as mlir_math

from harness.payloads import builder as b
from harness.payloads.attention_steps import LOWEST, multiply_add, safe_quotient
from harness.problem import AttentionProblem


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


def single_attention(problem: AttentionProblem) -> ir.Module:
    """Return one head's attention: `@attention(Q[q,d], K[k,d], V[k,e]) -> O[q,e]`.

    Needs an MLIR context and location to be current.
    """
    shapes = [
        [problem.seq_q, problem.head_dim],
        [problem.seq_kv, problem.head_dim],
        [problem.seq_kv, problem.head_dim_v],
    ]
    return _payload(problem, shapes, query="qd", key="kd", value="ke", grid="")


def multi_head_attention(problem: AttentionProblem) -> ir.Module:
    """Return `@attention(Q[b,h,q,d], K[b,h,k,d], V[b,h,k,e]) -> O[b,h,q,e]`.

    With grouped queries the head axis of Q is split, `[b, h, g, q, d]` with g queries per K/V head.
    """
    if problem.group_size == 1:
        shapes = [list(problem.q_shape), list(problem.k_shape), list(problem.v_shape)]
        return _payload(problem, shapes, query="bhqd", key="bhkd", value="bhke", grid="bh")
    batch, _, seq_q, head_dim = problem.q_shape
    query_shape = [batch, problem.kv_heads, problem.group_size, seq_q, head_dim]
    shapes = [query_shape, list(problem.k_shape), list(problem.v_shape)]
    return _payload(problem, shapes, query="bhgqd", key="bhkd", value="bhke", grid="bhg")


def _payload(
    problem: AttentionProblem, shapes: list[list[int]], *, query: str, key: str, value: str, grid: str
) -> ir.Module:
    """Write the five steps once for any leading grid dimensions."""
    module = ir.Module.create()
    rows = grid + "q"
    with ir.InsertionPoint(module.body):
        types = [b.tensor_type(shape, problem.dtype) for shape in shapes]

        @func.FuncOp.from_py_func(*types)
        def attention(q: ir.Value, k: ir.Value, v: ir.Value) -> ir.Value:
            lead = b.shape_of(q)[:-2]
            score_shape = [*lead, problem.seq_q, problem.seq_kv]
            row_shape = [*lead, problem.seq_q]
            products = b.structured(
                f"{query},{key}->{rows}k",
                [q, k],
                b.filled(0.0, score_shape),
                lambda x, y, z: multiply_add(b.widen(x), b.widen(y), z),
            )
            scaled = b.structured(
                f"{rows}k->{rows}k",
                [products],
                b.empty(score_shape),
                lambda score: _visible_score(problem, score, len(lead)),
            )
            maximum = b.structured(
                f"{rows}k->{rows}",
                [scaled],
                b.filled(LOWEST, row_shape),
                lambda score, largest: arith.maximumf(score, largest),
            )
            exponential = b.structured(
                f"{rows}k,{rows}->{rows}k",
                [scaled, maximum],
                b.empty(score_shape),
                lambda score, largest: mlir_math.exp(arith.subf(score, largest)),
            )
            total = b.structured(
                f"{rows}k->{rows}",
                [exponential],
                b.filled(0.0, row_shape),
                lambda element, partial: arith.addf(element, partial),
            )
            output_shape = [*lead, problem.seq_q, problem.head_dim_v]
            weighted = b.structured(
                f"{rows}k,{value}->{rows}e",
                [exponential, v],
                b.filled(0.0, output_shape),
                lambda p, x, z: multiply_add(p, b.widen(x), z),
            )
            return b.structured(
                f"{rows}e,{rows}->{rows}e",
                [weighted, total],
                b.empty(output_shape, problem.dtype),
                lambda x, sum_: b.narrow(safe_quotient(x, sum_), problem.dtype),
            )

    return module


def _visible_score(problem: AttentionProblem, score: ir.Value, query_loop: int) -> ir.Value:
    """Scale a score and hide it where the causal mask does."""
    scaled = arith.mulf(score, b.constant(problem.scale))
    shift = problem.causal_shift
    if shift is None:
        return scaled
    last_visible = arith.addi(b.loop_index(query_loop), b.integer(shift))
    visible = arith.cmpi(arith.CmpIPredicate.sle, b.loop_index(query_loop + 1), last_visible)
    return arith.select(visible, scaled, b.constant(-math.inf))
