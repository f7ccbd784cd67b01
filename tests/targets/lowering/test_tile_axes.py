"""Tiles that lie along other than the last axes of a buffer are found along the last axes of a view."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import operations_within
from harness.targets.lowering.tile_axes import see_tiles_along_last_axes

KERNEL = """
func.func @kernel(%in: memref<5x3x4xf32>, %out: memref<5x3x4xf32>, %t: index, %h: index) {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %tile = vector.transfer_read %in[{indices}], %zero
      {{in_bounds = [false, true], permutation_map = affine_map<(d0, d1, d2) -> ({axes})>}}
      : memref<5x3x4xf32>, vector<8x4xf32>
  vector.transfer_write %tile, %out[{indices}]
      {{in_bounds = [false, true], permutation_map = affine_map<(d0, d1, d2) -> ({axes})>}}
      : vector<8x4xf32>, memref<5x3x4xf32>
  return
}}
"""


def rewritten(indices: str, axes: str) -> str:
    with mlir_context():
        module = ir.Module.parse(KERNEL.format(indices=indices, axes=axes))
        see_tiles_along_last_axes(module.body.operations[0])
        module.operation.verify()
        views = [op for op in operations_within(module.operation) if op.name == "memref.transpose"]
        assert len(views) in (0, 2)
        return str(module)


def test_heads_between_rows_come_first() -> None:
    text = rewritten("%t, %h, %c0", "d0, d2")
    view = "memref<3x5x4xf32, strided<[4, 12, 1]>>"
    assert f"(d0, d1, d2) -> (d1, d0, d2) : memref<5x3x4xf32> to {view}" in text
    for transfer in ("transfer_read %transpose", "transfer_write %0, %transpose"):
        assert transfer in text
    assert text.count("[%arg3, %arg2, %c0]") == 2
    assert text.count(view) == 4
    assert text.count("in_bounds = [false, true]") == 2
    assert "permutation_map" not in text


@pytest.mark.parametrize("axes", ["d1, d2", "d2, d1"])
def test_tiles_along_the_last_axes_stay(axes: str) -> None:
    text = rewritten("%h, %t, %c0", axes)
    assert "memref.transpose" not in text
