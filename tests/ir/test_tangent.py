"""tanh as arithmetic, computed by machine code for all kinds of float32."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest
from mlir import ir

from harness.dialect.context import mlir_context
from harness.ir.tangent import SMALL, tanh
from harness.ir.walk import operations_within
from harness.targets.cpu.chip import chip
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.object_code import emit_llvm_ir, target_machine
from harness.targets.cpu.vector_lowering import lower_to_llvm

KERNEL = """
func.func @tangents(%from: memref<1xf32>, %to: memref<1xf32>, %count: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.reinterpret_cast %from to offset: [0], sizes: [%count], strides: [1]
    : memref<1xf32> to memref<?xf32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%count], strides: [1]
    : memref<1xf32> to memref<?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %element = memref.load %x[%i] : memref<?xf32>
    %tangent = math.tanh %element : f32
    memref.store %tangent, %out[%i] : memref<?xf32>
  }
  return
}
"""


@pytest.fixture(scope="module")
def tangents():
    """The function from a float32 array to tanh of its elements."""
    with mlir_context():
        module = ir.Module.parse(KERNEL)
        (call,) = [op for op in operations_within(module.operation) if op.name == "math.tanh"]
        with ir.InsertionPoint(call), call.location:
            call.results[0].replace_all_uses_with(tanh(call.operands[0]))
        call.operation.erase()
        expand_exponentials(module)
        lower_to_llvm(module)
        llvm_ir = emit_llvm_ir(module)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(llvm_ir), target_machine(chip("host")))
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    call_kernel = signature(engine.get_function_address("tangents"))

    def compute(values) -> np.ndarray:
        assert engine is not None
        x = np.ascontiguousarray(values, np.float32)
        result = np.full_like(x, np.nan)
        call_kernel(x.ctypes.data, result.ctypes.data, x.size)
        return result

    return compute


def test_is_right_to_two_units_in_the_last_place(tangents) -> None:
    sizes = np.concatenate(
        [
            np.geomspace(1e-37, 100.0, 200_001),
            np.linspace(SMALL * 0.9, SMALL * 1.1, 20_001),
        ]
    ).astype(np.float32)
    x = np.concatenate([sizes, -sizes])
    expected = np.tanh(x.astype(np.float64))
    units = np.abs(tangents(x) - expected) / np.spacing(np.abs(expected).astype(np.float32))
    assert units.max() <= 2.0


def test_what_is_no_ordinary_number(tangents) -> None:
    x = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38]
    expected = [1.0, -1.0, np.nan, 0.0, -0.0, 1e-45, -1e-45, 1.0, -1.0]
    np.testing.assert_array_equal(tangents(x), np.float32(expected))
