"""What slices say of offsets, sizes and dimensions."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.slices import kept_dimensions, mixed_values
from harness.codegen.ir.walk import functions_of

SLICES = """
func.func @slices(%x: tensor<1x8x1x4xf32>, %offset: index, %size: index) {
  %0 = tensor.extract_slice %x[0, %offset, 0, 0] [1, 2, 1, 4] [1, 1, 1, 1]
      : tensor<1x8x1x4xf32> to RESULT
  return
}
"""


def first_operation(module: ir.Module) -> ir.OpView:
    return functions_of(module)[0].entry_block.operations[0]


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        ("tensor<1x2x1x4xf32>", [0, 1, 2, 3]),
        ("tensor<2x4xf32>", [1, 3]),
        ("tensor<2x1x4xf32>", [1, 2, 3]),
    ],
)
def test_dimensions_that_a_slice_keeps(result: str, kept: list[int]) -> None:
    with mlir_context():
        module = ir.Module.parse(SLICES.replace("RESULT", result))
        operation = first_operation(module)
        assert kept_dimensions(operation, operation.results[0]) == kept


def test_static_and_dynamic_offsets_are_told_in_order() -> None:
    with mlir_context():
        module = ir.Module.parse(SLICES.replace("RESULT", "tensor<2x4xf32>"))
        operation = first_operation(module)
        assert mixed_values(operation, "offsets") == [0, operation.operands[1], 0, 0]
        assert mixed_values(operation, "sizes") == [1, 2, 1, 4]
