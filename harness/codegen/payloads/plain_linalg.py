"""Attention of one head in plain linalg, as upstream's passes see it: no operation of the `attn` dialect."""

import math

from mlir import ir
from mlir.dialects import arith, func
from mlir.dialects import math as mlir_math

from harness.codegen.dialect.decomposition import multiply_add
from harness.codegen.ir import builder as b
from harness.codegen.payloads.arguments import KernelArgument, attention_arguments
from harness.codegen.payloads.attention import payload_function
from harness.codegen.payloads.attention_steps import stored
from harness.problem.attention_problem import AttentionProblem


def single_attention_in_linalg(problem: AttentionProblem) -> ir.Module:
    """Return `@attention(Q[q,d], K[k,d], V[k,e], O[q,e]) -> O` as two products and a softmax in four steps.

    These are maximum, exponential, sum and quotient, as the slides *Linalg Fusion Enhancement* begin.
    """
    module = ir.Module.create()
    arguments = [
        KernelArgument(argument.buffer, argument.dimensions[2:], argument.shape[2:], problem.dtype)
        for argument in attention_arguments(problem)
    ]
    with ir.InsertionPoint(module.body):
        body = payload_function("attention", arguments)
        with ir.InsertionPoint(body):
            query, key, value, output = body.arguments
            score = _product("qd,kd->qk", query, key)
            weight = softmax_in_linalg(score, problem.scale)
            func.ReturnOp([stored(_product("qk,ke->qe", weight, value), output)])
    return module


def softmax_in_linalg(score: ir.Value, scale: float = 1.0) -> ir.Value:
    """Return the softmax of rows `[q, k]` times a scale above 0 as four operations."""
    rows, dtype = b.sizes_of(score)[:1], b.dtype_of(score)

    def power(element: ir.Value, largest: ir.Value) -> ir.Value:
        factor = b.constant(scale * math.log2(math.e), dtype)
        return mlir_math.exp2(arith.mulf(arith.subf(element, largest), factor))

    maximum = b.structured("qk->q", [score], b.filled(-math.inf, rows, dtype), arith.maximumf)
    exponential = b.structured("qk,q->qk", [score, maximum], b.empty_like(score), power)
    total = b.structured("qk->q", [exponential], b.filled(0.0, rows, dtype), arith.addf)
    return b.structured("qk,q->qk", [exponential, total], b.empty_like(score), arith.divf)


def _product(subscripts: str, left: ir.Value, right: ir.Value) -> ir.Value:
    sizes = dict(zip(subscripts[:2] + subscripts[3:5], b.sizes_of(left) + b.sizes_of(right), strict=True))
    zeros = b.filled(0.0, [sizes[axis] for axis in subscripts[-2:]])
    return b.structured(subscripts, [left, right], zeros, multiply_add)
