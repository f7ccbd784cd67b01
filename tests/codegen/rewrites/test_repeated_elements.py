"""What hides an element from a reduction that has seen it."""

import numpy as np
import pytest
from codegen.rewrites.execution import close, execute, payload, within
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.repeated_elements import Hiding, hiding_of
from harness.codegen.rewrites.structured import view_of
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

REDUCTION = """
#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#columns = affine_map<(d0, d1) -> (d1)>
func.func @reduce(%x: tensor<4x7xf32>, %w: tensor<4xf32>, %y: tensor<7xf16>, %out: tensor<4xf32>)
    -> tensor<4xf32> {{
  %one = arith.constant 1.0 : f32
  %sum = linalg.generic {{indexing_maps = [#all, #rows, #columns, #rows],
                         iterator_types = ["parallel", "reduction"]}}
      ins(%x, %w, %y : tensor<4x7xf32>, tensor<4xf32>, tensor<7xf16>) outs(%out : tensor<4xf32>) {{
  ^bb0(%element: f32, %weight: f32, %narrow: f16, %old: f32):
    {body}
    linalg.yield %new : f32
  }} -> tensor<4xf32>
  return %sum : tensor<4xf32>
}}
"""

WIDENED = "%wide = arith.extf %narrow : f16 to f32"

HIDDEN_BY_ZERO = {
    "%new = arith.addf %element, %old : f32": 0,
    "%new = arith.addf %old, %element : f32": 0,
    "%f = arith.mulf %element, %weight : f32  %new = arith.addf %f, %old : f32": 0,
    "%f = arith.mulf %weight, %element : f32  %new = arith.addf %old, %f : f32": 0,
    "%f = arith.mulf %element, %element : f32  %new = arith.addf %f, %old : f32": 0,
    f"{WIDENED}  %new = arith.addf %wide, %old : f32": 2,
    f"{WIDENED}  %f = arith.mulf %weight, %wide : f32  %new = arith.addf %f, %old : f32": 2,
    "%f = arith.mulf %element, %old : f32  %new = arith.addf %f, %old : f32": 0,
}

SEEN_TWICE = [
    "%new = arith.maximumf %element, %old : f32",
    "%new = arith.minnumf %old, %element : f32",
]

NOT_HIDDEN = [
    "%new = arith.mulf %element, %old : f32",
    "%new = arith.subf %old, %element : f32",
    "%new = arith.addf %weight, %old : f32",
    "%f = arith.mulf %weight, %one : f32  %new = arith.addf %f, %old : f32",
    "%f = arith.addf %element, %one : f32  %new = arith.addf %f, %old : f32",
    "%f = math.exp %element : f32  %new = arith.addf %f, %old : f32",
    "%new = arith.addf %element, %element : f32",
    "%new = arith.addf %old, %old : f32",
]


def reduction(body: str) -> tuple[ir.Module, ir.OpView]:
    module = ir.Module.parse(REDUCTION.format(body=body))
    block = module.body.operations[0].regions[0].blocks[0]
    return module, next(operation for operation in block.operations if operation.name == "linalg.generic")


@pytest.mark.parametrize("body", HIDDEN_BY_ZERO)
def test_a_sum_of_products_does_not_see_factors_of_0(body):
    with mlir_context():
        _module, operation = reduction(body)
        assert hiding_of(view_of(operation), 1) == Hiding(HIDDEN_BY_ZERO[body], 0.0)


@pytest.mark.parametrize("body", SEEN_TWICE)
def test_an_extreme_may_see_elements_twice(body):
    with mlir_context():
        _module, operation = reduction(body)
        assert hiding_of(view_of(operation), 1) is None


@pytest.mark.parametrize("body", NOT_HIDDEN)
def test_other_reductions_are_refused(body):
    with mlir_context():
        _module, operation = reduction(body)
        with pytest.raises(RewriteRefusedError, match="it is no sum of products"):
            hiding_of(view_of(operation), 1)


@pytest.mark.parametrize("drop", [frozenset(), frozenset({0, 1})])
def test_a_mask_follows_its_axis_in_tiles_that_lack_dimensions(drop):
    rng = np.random.default_rng(0)
    left, right, start = rng.normal(size=(2, 3, 2, 7)), rng.normal(size=(2, 3, 7, 4)), np.ones((2, 3, 2, 4))
    with mlir_context():
        module = payload(
            [each.shape for each in (left, right, start)],
            lambda *values: [attn.batch_matmul(*values).product],
        )
        root = within(module, attn.BatchMatmul.NAME)[0]
        tile_and_fuse(root, [1, 1, 0, 0, 3], options=TileOptions(drop=drop))
        (mask,) = within(module, attn.Mask.NAME)
        assert attn.Mask(mask).visible.n_dims == 4 - len(drop)
        (result,) = execute(module, [left, right, start])
    close(result, left @ right + 1)
