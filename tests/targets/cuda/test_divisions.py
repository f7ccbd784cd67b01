"""Divisions of the cuda target: one for each row, by the instruction for it."""

import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.system.errors import BuildError
from harness.targets.cuda.lowering import APPROXIMATIONS
from harness.targets.lowering.reciprocals import divide_rows_once
from harness.targets.lowering.transforms import replace_operations

ROWS = """
func.func @normalize(%tile: vector<16x8xf32>, %sums: vector<16xf32>) -> vector<16x8xf32> {
  %columns = vector.broadcast %sums : vector<16xf32> to vector<8x16xf32>
  %rows = vector.transpose %columns, [1, 0] : vector<8x16xf32> to vector<16x8xf32>
  %quotient = arith.divf %tile, %rows : vector<16x8xf32>
  return %quotient : vector<16x8xf32>
}
"""

ELEMENTS = """
func.func @divide(%a: vector<4xf32>, %b: vector<4xf32>) -> vector<4xf32> {
  %quotient = arith.divf %a, %b : vector<4xf32>
  return %quotient : vector<4xf32>
}
"""


def operations(text: str, change) -> list[str]:
    with mlir_context():
        module = ir.Module.parse(text)
        change(module)
        assert module.operation.verify()
        return [operation.name for operation in module.body.operations[0].regions[0].blocks[0].operations]


def approximate(module: ir.Module) -> None:
    replace_operations(module, APPROXIMATIONS)


def test_a_row_is_divided_once() -> None:
    names = operations(ROWS, divide_rows_once)
    assert names.count("arith.divf") == 1
    assert names[-2:] == ["arith.mulf", "func.return"]
    with mlir_context():
        module = ir.Module.parse(ROWS)
        divide_rows_once(module)
        assert "arith.divf %cst, %arg1 : vector<16xf32>" in str(module)


def test_what_differs_from_element_to_element_is_divided_as_it_is() -> None:
    assert operations(ELEMENTS, divide_rows_once) == ["arith.divf", "func.return"]


def test_the_instruction_takes_one_element_at_a_time() -> None:
    names = operations(ELEMENTS, approximate)
    assert names.count("llvm.call_intrinsic") == 4
    assert "arith.divf" not in names


def test_other_types_are_refused() -> None:
    with pytest.raises(BuildError, match=r"arith\.divf of f64: the instruction takes f32"):
        operations(ELEMENTS.replace("f32", "f64"), approximate)
