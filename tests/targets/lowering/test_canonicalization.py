"""Canonicalisation from uses upwards: the same IR as downwards."""

from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.targets.lowering.transforms import CANONICALIZE, run_passes

CARRIED_TWICE = """
func.func @sums(%memory: memref<8xf32>, %start: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : index
  %result:3 = scf.for %i = %c0 to %c8 step %c1
      iter_args(%a = %start, %b = %start, %fixed = %start) -> (f32, f32, f32) {
    %at = arith.addi %i, %zero : index
    %value = memref.load %memory[%at] : memref<8xf32>
    %next = arith.addf %a, %value : f32
    scf.yield %next, %next, %fixed : f32, f32, f32
  }
  return %result#0, %result#1, %result#2 : f32, f32, f32
}
"""


def canonical(pass_: str) -> str:
    with mlir_context():
        module = ir.Module.parse(CARRIED_TWICE)
        run_passes(module, pass_)
        return str(module)


def test_a_loop_that_carries_a_value_twice_becomes_the_same_one() -> None:
    assert canonical(CANONICALIZE) == canonical("canonicalize")
    assert "arith.addi" not in canonical(CANONICALIZE)
    assert "iter_args(%arg3 = %arg1) -> (f32)" in canonical(CANONICALIZE)
