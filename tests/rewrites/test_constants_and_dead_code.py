"""Numbers behind values, and operations that nothing needs."""

import math

import pytest
from mlir import ir

from harness.dialect.context import mlir_context
from harness.ir.constants import constant_float, constant_index, constant_of_fill
from harness.rewrites.dead_code import erase_dead

VALUES = """
func.func @values(%argument: index, %tensor: tensor<2xf32>) {
  %index = arith.constant -3 : index
  %integer = arith.constant 7 : i32
  %float = arith.constant 0.5 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %dense = arith.constant dense<1.0> : tensor<2xf32>
  %sum = arith.addi %index, %index : index
  %filled = linalg.fill ins(%float : f32) outs(%tensor : tensor<2xf32>) -> tensor<2xf32>
  %refilled = linalg.fill ins(%infinity : f32) outs(%filled : tensor<2xf32>) -> tensor<2xf32>
  %scalar = tensor.extract %tensor[%argument] : tensor<2xf32>
  %unknown = linalg.fill ins(%scalar : f32) outs(%tensor : tensor<2xf32>) -> tensor<2xf32>
  return
}
"""
NAMES = ["index", "integer", "float", "infinity", "dense", "sum", "filled", "refilled", "scalar", "unknown"]


def numbers(function) -> dict[str, float]:
    """Return what a function finds behind the values, by their names, where it finds something."""
    with mlir_context():
        module = ir.Module.parse(VALUES)
        block = module.body.operations[0].regions[0].blocks[0]
        results = [operation.results[0] for operation in block.operations if operation.results]
        values = dict(zip(NAMES, results, strict=True))
        values |= dict(zip(("argument", "tensor"), block.arguments, strict=True))
        found = {name: function(value) for name, value in values.items()}
    return {name: number for name, number in found.items() if number is not None}


def test_integers_behind_constants():
    assert numbers(constant_index) == {"index": -3, "integer": 7}


def test_floating_point_numbers_behind_constants():
    assert numbers(constant_float) == {"float": 0.5, "infinity": -math.inf}


def test_numbers_that_tensors_are_filled_with():
    assert numbers(constant_of_fill) == {"filled": 0.5, "refilled": -math.inf}


CHAIN = """
func.func @chain(%x: index, %condition: i1) -> index {
  %first = arith.constant 1 : index
  %second = arith.addi %x, %first : index
  %third = arith.muli %second, %second : index
  %both:2 = scf.if %condition -> (index, index) {
    scf.yield %x, %x : index, index
  } else {
    scf.yield %x, %x : index, index
  }
  cf.assert %condition, "needed"
  return %both#1 : index
}
"""


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        (slice(None), ["scf.if", "cf.assert", "func.return"]),
        (slice(0, 2), ["arith.constant", "arith.addi", "arith.muli", "scf.if", "cf.assert", "func.return"]),
        (slice(1, 3), ["arith.constant", "scf.if", "cf.assert", "func.return"]),
        (slice(0, 0), ["arith.constant", "arith.addi", "arith.muli", "scf.if", "cf.assert", "func.return"]),
    ],
    ids=["all", "what others need", "last first", "none"],
)
def test_only_operations_given_and_without_any_used_result_are_erased(chosen, left):
    with mlir_context():
        module = ir.Module.parse(CHAIN)
        block = module.body.operations[0].regions[0].blocks[0]
        erase_dead(list(block.operations)[chosen])
        assert module.operation.verify()
        assert [operation.name for operation in block.operations] == left
