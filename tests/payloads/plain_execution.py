"""Running linalg on tensors by the plainest lowering there is: every operation a nest of scalar loops."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
from mlir import ir, passmanager
from mlir.dialects.llvm import translate_module_to_llvmir

from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import target_machine

LOOPS = (
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map}",
    "buffer-results-to-out-params{hoist-static-allocs=true modify-public-functions=true}",
    "func.func(convert-linalg-to-loops)",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "arith-expand{include-bf16=true}",
    "convert-math-to-libm",
    "convert-math-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true}",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)


def run_plainly(module: ir.Module, name: str, inputs: list[np.ndarray], output: np.ndarray) -> None:
    """Call the function `name(inputs …) -> output` of a module, which is consumed, on arrays."""
    passmanager.PassManager.parse(f"builtin.module({','.join(LOOPS)})").run(module.operation)
    machine = target_machine(chip("host"))
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(translate_module_to_llvmir(module.operation)), machine
    )
    engine.finalize_object()
    arrays = [*(np.ascontiguousarray(array) for array in inputs), output]
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
    signature(engine.get_function_address(name))(*(array.ctypes.data for array in arrays))
