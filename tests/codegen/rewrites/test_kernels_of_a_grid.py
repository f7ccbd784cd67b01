"""A grid split into kernels computes the same, through memory between them."""

import re

import numpy as np
from codegen.rewrites.execution import execute
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify
from harness.codegen.payloads.attention import multi_head_attention
from harness.codegen.rewrites.fission import HandedOn, Kernel, split_grid
from harness.codegen.rewrites.normalization import softmaxes
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

PROBLEM = AttentionProblem(batch=2, heads=2, seq_q=6, seq_kv=7, head_dim=4, causal=True)
DIMENSIONS = ("query", "key")


def gridded() -> ir.Module:
    """Return attention in tiles of queries, one grid."""
    module = multi_head_attention(PROBLEM)
    function = module.body.operations[0]
    block = function.regions[0].blocks[0]
    root = block.operations[len(block.operations) - 1].operands[0].owner.opview
    tile_and_fuse(root, [1, 1, 4, 0], options=TileOptions(grid=3, drop=frozenset({0, 1})))
    return module


def split(module: ir.Module, *names: str, softmax_workspace: str = "scores") -> None:
    softmax = softmaxes(module)[0]
    handed_on = {
        "scores": (HandedOn(softmax.operands[0], "scores", DIMENSIONS),),
        "softmax": (HandedOn(softmax.results[0], softmax_workspace, DIMENSIONS),),
    }
    kernels = [Kernel(name, handed_on.get(name, ())) for name in names]
    split_grid(module.body.operations[0], kernels)
    verify(module)


MAIN = """
func.func @main(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x7x4xf32>, %v: tensor<2x2x7x4xf32>,
                %w: tensor<2x2x2x4x7xf32>, %o: tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32> {
  %0 = call @scores(%q, %k, %w)
      : (tensor<2x2x6x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x2x4x7xf32>) -> tensor<2x2x2x4x7xf32>
  %1 = call @softmax(%0) : (tensor<2x2x2x4x7xf32>) -> tensor<2x2x2x4x7xf32>
  %2 = call @values(%1, %v, %o)
      : (tensor<2x2x2x4x7xf32>, tensor<2x2x7x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  return %2 : tensor<2x2x6x4xf32>
}
"""


def test_three_kernels_compute_attention():
    inputs = make_inputs(PROBLEM)
    workspace, place = np.full((2, 2, 2, 4, 7), np.nan), np.full((2, 2, 6, 4), np.nan)
    with mlir_context():
        module = gridded()
        split(module, "scores", "softmax", "values")
        calling = ir.Module.parse(re.sub(r"\n}\s*$", MAIN + "}", str(module).strip()))
        (result,) = execute(calling, [inputs.q, inputs.k, inputs.v, workspace, place])
    assert expect(inputs, PROBLEM).check(result).first_bad is None


def test_a_workspace_that_a_kernel_only_reads_comes_first():
    with mlir_context():
        module = gridded()
        split(module, "scores", "softmax", "values", softmax_workspace="probabilities")
        buffers = [
            [str(ir.DictAttr(attributes)["harness.buffer"]) for attributes in function.arg_attrs]
            for function in module.body.operations
        ]
    assert buffers[1:] == [['"scores"', '"probabilities"'], ['"probabilities"', '"value"', '"output"']]
