"""A loop whose iterations have points of a grid of their own computes the same, through memory between."""

import re
from dataclasses import replace

import numpy as np
import pytest
from codegen.rewrites.execution import execute
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify
from harness.codegen.ir.walk import operations_within
from harness.codegen.payloads.attention import multi_head_attention, own_sizes
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.loop_distribution import IterationTile, distribute_loop
from harness.codegen.rewrites.split_reduction import running_reduction, split_reduction
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

PROBLEM = AttentionProblem(batch=2, heads=2, seq_q=6, seq_kv=7, head_dim=4, causal=True)
PARTS = 2


def in_parts(rows: int = 4) -> ir.Module:
    """Return attention in a grid of tiles of queries, with a loop over parts of the keys."""
    sizes = replace(own_sizes(PROBLEM), queries=max(rows, PROBLEM.seq_q))
    module = multi_head_attention(PROBLEM, sizes)
    function = module.body.operations[0]
    block = function.regions[0].blocks[0]
    root = block.operations[len(block.operations) - 1].operands[0].owner.opview
    options = TileOptions(grid=3, drop=frozenset({0, 1}))
    tile_and_fuse(root, [1, 1, min(rows, PROBLEM.seq_q), 0], options=options)
    tile_and_fuse(of_name(module, "attn.batch_matmul")[-1], [0, 0, 2])
    split_reduction(of_name(module, "scf.for")[-1], PARTS)
    return module


def of_name(module: ir.Module, name: str) -> list[ir.OpView]:
    return [operation for operation in operations_within(module.operation) if operation.name == name]


def distribute(module: ir.Module, kept: int = 4) -> None:
    over_parts, part = of_name(module, "scf.for")
    state = running_reduction(part).state(list(part.results))
    tiles = [
        IterationTile(state.output, "outputs", ("query", "width"), (kept, 4)),
        IterationTile(state.maximum, "maxima", ("query",), (kept,)),
        IterationTile(state.total, "totals", ("query",), (kept,)),
    ]
    distribute_loop(over_parts, ("parts", "combine"), tiles)
    verify(module)


MAIN = """
func.func @main(%q: tensor<2x2x6x4xf32>, %k: tensor<2x2x7x4xf32>, %v: tensor<2x2x7x4xf32>,
                %o: tensor<2x2xGx2xRx4xf32>, %m: tensor<2x2xGx2xRxf32>, %a: tensor<2x2xGx2xRxf32>,
                %out: tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32> {
  %0:3 = call @parts(%q, %k, %v, %o, %m, %a)
      : (tensor<2x2x6x4xf32>, tensor<2x2x7x4xf32>, tensor<2x2x7x4xf32>,
         tensor<2x2xGx2xRx4xf32>, tensor<2x2xGx2xRxf32>, tensor<2x2xGx2xRxf32>)
      -> (tensor<2x2xGx2xRx4xf32>, tensor<2x2xGx2xRxf32>, tensor<2x2xGx2xRxf32>)
  %1 = call @combine(%0#0, %0#1, %0#2, %out)
      : (tensor<2x2xGx2xRx4xf32>, tensor<2x2xGx2xRxf32>, tensor<2x2xGx2xRxf32>, tensor<2x2x6x4xf32>)
      -> tensor<2x2x6x4xf32>
  return %1 : tensor<2x2x6x4xf32>
}
"""


@pytest.mark.parametrize(
    ("rows", "kept", "tiles"), [(4, 4, 2), (8, 6, 1)], ids=["shifted-tiles", "rows-of-padding"]
)
def test_two_kernels_compute_attention(rows: int, kept: int, tiles: int) -> None:
    inputs = make_inputs(PROBLEM)
    grid = (2, 2, tiles, PARTS)
    workspaces = [np.full((*grid, kept, 4), np.nan), *[np.full((*grid, kept), np.nan)] * 2]
    with mlir_context():
        module = in_parts(rows)
        distribute(module, kept)
        main = MAIN.replace("xGx", f"x{tiles}x").replace("xRx", f"x{kept}x")
        calling = ir.Module.parse(re.sub(r"\n}\s*$", main + "}", str(module).strip()))
        place = np.full((2, 2, 6, 4), np.nan)
        (result,) = execute(calling, [inputs.q, inputs.k, inputs.v, *workspaces, place])
    assert expect(inputs, PROBLEM).check(result).first_bad is None


def test_what_depends_on_what_the_loop_carries_is_refused() -> None:
    with mlir_context():
        module = in_parts()
        over_parts, _ = of_name(module, "scf.for")
        merged = list(over_parts.regions[0].blocks[0].operations)[-1].operands[0]
        before = str(module)
        tile = IterationTile(merged, "outputs", ("query", "width"), (4, 4))
        with pytest.raises(RewriteRefusedError, match="its iterations depend on each other"):
            distribute_loop(over_parts, ("parts", "combine"), [tile])
        assert str(module) == before
