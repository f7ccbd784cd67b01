"""Intel's stages: from XeGPU's operations of a lane to XeVM, LLVM IR and SPIR-V."""

import re

from mlir import ir

from harness.artifact.artifact import StaticMetrics
from harness.artifact.stage_names import ASSEMBLY
from harness.system.toolchains import intel
from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import DeviceCode, KernelBuild, on_module, to_llvm_ir
from harness.targets.gpu.kernel_metrics import instructions
from harness.targets.gpu.pointer_arguments import take_pointers
from harness.targets.lowering.transforms import replace_operations, run_passes
from harness.targets.xegpu.chips import SUB_GROUP
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.instruction_classes import instruction_classes
from harness.targets.xegpu.lane_operations import (
    REPLACEMENTS,
    cut_words,
    declare_arrays_first,
    require_lowered,
)

MATRIX_BUILTIN = re.compile(r"intel_sub_group_\w+_matrix_mad_k\d+")

TO_XEVM = (
    "canonicalize",
    "cse",
    "loop-invariant-code-motion",
    "convert-math-to-xevm",
    "convert-xegpu-to-xevm",
)
TO_OPENCL = (
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-gpu-to-llvm-spv{use-64bit-index=true}",
    "convert-vector-to-llvm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)


def to_xevm(module: ir.Module) -> None:
    """Turn messages, products and functions of a lane into XeVM's operations, in place."""
    replace_operations(module, REPLACEMENTS)
    run_passes(module, f"gpu.module({','.join(TO_XEVM)})")
    cut_words(module)
    run_passes(module, "canonicalize", "cse")


def to_opencl(module: ir.Module) -> None:
    """Turn all into the LLVM dialect, in place; raises `BuildError` for what is left of XeGPU or XeVM."""
    size = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), SUB_GROUP)
    for kernel in module.body.operations[0].regions[0].blocks[0].operations:
        if kernel.operation.name == "gpu.func":
            take_pointers(kernel)
            kernel.attributes["intel_reqd_sub_group_size"] = size
    run_passes(module, f"gpu.module({','.join(TO_OPENCL)})")
    require_lowered(module)
    declare_arrays_first(module)


def _emit(build: KernelBuild) -> str:
    build.assembly = intel.assembly(build.llvm_ir)
    intel.require_valid(build.assembly)
    image = intel.binary(build.llvm_ir)
    intel.validate(image)
    build.code = DeviceCode(image, {SPIRV_FILE: image}, metrics(build.assembly, image))
    return build.assembly


def metrics(assembly: str, image: bytes) -> StaticMetrics:
    """Return what is known of a module; only a driver's compiler knows its registers."""
    return StaticMetrics(
        intrinsics=instructions(MATRIX_BUILTIN, [assembly]),
        instructions=instruction_classes(assembly),
        code_bytes=len(image),
    )


LLVM_IR = to_llvm_ir(intel.TRIPLE, lambda chip: intel.data_layout())
LOWERING = (
    Stage("xevm", "messages and products as XeVM's operations", on_module(to_xevm)),
    Stage("opencl", "the LLVM dialect with OpenCL's builtins", on_module(to_opencl)),
    LLVM_IR,
)
EMISSION = (Stage(ASSEMBLY, "SPIR-V's, of the module that a driver compiles", _emit, "spvasm"),)
