"""Functions of numbers that are built as arithmetic, computed by machine code for arrays of float32."""

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import operations_within
from harness.targets.cpu.chip import chip
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.object_code import emit_llvm_ir, target_machine
from harness.targets.cpu.vector_lowering import lower_to_llvm

KERNEL = """
func.func @elements(%from: memref<1xf32>, %to: memref<1xf32>, %count: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.reinterpret_cast %from to offset: [0], sizes: [%count], strides: [1]
    : memref<1xf32> to memref<?xf32>
  %out = memref.reinterpret_cast %to to offset: [0], sizes: [%count], strides: [1]
    : memref<1xf32> to memref<?xf32>
  scf.for %i = %c0 to %count step %c1 {
    %element = memref.load %x[%i] : memref<?xf32>
    %result = math.absf %element : f32
    memref.store %result, %out[%i] : memref<?xf32>
  }
  return
}
"""
"""What stands for the function is `math.absf`."""


def compiled(function: Callable[[ir.Value], ir.Value]) -> Callable[[object], np.ndarray]:
    """Return what computes a function of f32 for each element of an array."""
    with mlir_context():
        module = ir.Module.parse(KERNEL)
        (call,) = [op for op in operations_within(module.operation) if op.name == "math.absf"]
        with ir.InsertionPoint(call), call.location:
            call.results[0].replace_all_uses_with(function(call.operands[0]))
        call.operation.erase()
        expand_exponentials(module, vector_length=1)
        lower_to_llvm(module)
        llvm_ir = emit_llvm_ir(module)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(llvm_ir), target_machine(chip("host")))
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    call_kernel = signature(engine.get_function_address("elements"))

    def compute(values: object) -> np.ndarray:
        assert engine is not None
        x = np.ascontiguousarray(values, np.float32)
        result = np.full_like(x, np.nan)
        call_kernel(x.ctypes.data, result.ctypes.data, x.size)
        return result

    return compute
