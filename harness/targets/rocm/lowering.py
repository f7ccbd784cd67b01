"""AMD's stages: from what a lane does to LLVM IR, assembly and machine code."""

from collections.abc import Sequence
from functools import partial

from mlir import ir
from mlir.dialects import llvm, vector

from harness.ir.walk import operations_within
from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import KernelBuild, on_module
from harness.targets.gpu.llvm_ir import translated
from harness.targets.lowering.transforms import run_passes
from harness.targets.rocm.device_code import device_code
from harness.toolchains import amd

EXPONENTIAL = "llvm.amdgcn.exp2.f32"
"""`v_exp_f32`: it gives subnormal numbers as 0."""


def _passes(chip: str) -> str:
    passes = (
        "canonicalize",
        "cse",
        f"convert-amdgpu-to-rocdl{{chipset={chip}}}",
        "convert-scf-to-cf",
        "expand-strided-metadata",
        "lower-affine",
        f"convert-gpu-to-rocdl{{chipset={chip} use-bare-ptr-memref-call-conv=1 runtime=HIP}}",
        "canonicalize",
        "cse",
        "convert-vector-to-llvm",
        "convert-math-to-llvm",
        "canonicalize",
        "cse",
        "reconcile-unrealized-casts",
    )
    return f"gpu.module({','.join(passes)})"


def _to_rocdl(chip: str, module: ir.Module) -> None:
    _use_exponential(module)
    run_passes(module, _passes(chip))


def _use_exponential(module: ir.Module) -> None:
    """Let powers of two be one instruction, in place."""
    for operation in list(operations_within(module.operation)):
        if operation.name == "math.exp2":
            with ir.InsertionPoint(operation), operation.location:
                result = _exponential(operation.operands[0])
            operation.results[0].replace_all_uses_with(result)
            operation.operation.erase()


def _exponential(value: ir.Value) -> ir.Value:
    kind = value.type
    if isinstance(kind, ir.VectorType):
        elements = [_exponential(vector.extract(value, [], [at])) for at in range(kind.shape[0])]
        return vector.from_elements(kind, elements)
    result: ir.Value = llvm.call_intrinsic(kind, EXPONENTIAL, [value], [], [])
    return result


def _to_llvm_ir(build: KernelBuild) -> str:
    layout = amd.data_layout(build.vendor.chip)
    build.llvm_ir = f'target datalayout = "{layout}"\n' + translated(build.module, amd.TRIPLE)
    return build.llvm_ir


def _optimize(build: KernelBuild) -> str:
    build.llvm_ir = amd.optimized(build.llvm_ir, build.vendor.chip)
    return build.llvm_ir


def _assemble(build: KernelBuild) -> str:
    chip = build.vendor.chip
    build.assembly = amd.assembly(build.llvm_ir, chip)
    build.device_code = device_code(build.assembly, amd.code_object(build.llvm_ir, chip), build.kernels, chip)
    return build.assembly


def lowering(chip: str) -> Sequence[Stage]:
    """Return the stages to LLVM IR for a chip."""
    return (
        Stage("rocdl", "the LLVM dialect with AMD's operations", on_module(partial(_to_rocdl, chip))),
        Stage("llvm-ir", "LLVM IR", _to_llvm_ir, "ll"),
        Stage("optimized", "LLVM IR after LLVM's optimisations", _optimize, "ll"),
    )


EMISSION = (
    Stage("rocmasm", "assembly for AMD's GPUs, linked to machine code besides", _assemble, "rocmasm"),
)
