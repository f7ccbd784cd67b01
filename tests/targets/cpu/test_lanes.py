"""Layouts of tiles in which queries lie in vector lanes."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.targets.cpu.lanes import queries_in_lanes

TILE_IN_MEMORY = """
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @kernel(%q: tensor<8x4xf32> {harness.dimensions = ["query", "width"]},
                  %o: tensor<8x4xf32> {harness.dimensions = ["query", "width"]}) -> tensor<8x4xf32> {
  %part = tensor.extract_slice %q[0, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  %empty = tensor.empty() : tensor<2x4xf32>
  %tile = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%part : tensor<2x4xf32>) outs(%empty : tensor<2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %double = arith.addf %in, %in : f32
    linalg.yield %double : f32
  } -> tensor<2x4xf32>
  %stored = tensor.insert_slice %tile into %o[0, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  return %stored : tensor<8x4xf32>
}
"""


def test_a_tile_in_lanes_is_refused_as_a_part_of_memory_in_a_given_layout() -> None:
    with (
        mlir_context(),
        pytest.raises(RewriteRefusedError, match="its tile has queries in lanes, its memory a given layout"),
    ):
        queries_in_lanes(ir.Module.parse(TILE_IN_MEMORY))
