"""NVIDIA's stages: from what a lane does to LLVM IR, PTX and machine code."""

from mlir import ir

from harness.artifact.stage_names import ASSEMBLY
from harness.system.toolchains.llvm import run_llvm_tool
from harness.targets.base import Stage
from harness.targets.cuda import ptxas
from harness.targets.cuda.chips import CHIPS
from harness.targets.cuda.device_code import device_code
from harness.targets.gpu.kernel_build import KernelBuild, on_module, to_llvm_ir
from harness.targets.gpu.own_operations import by_intrinsic
from harness.targets.lowering.transforms import CANONICALIZE, replace_operations, run_passes

APPROXIMATIONS = {
    "math.exp2": by_intrinsic("llvm.nvvm.ex2.approx.ftz.f"),
    "arith.divf": by_intrinsic("llvm.nvvm.div.full"),
}
"""Instructions that are right to 2 units in the last place.

`ex2.approx.ftz.f32` (PTX ISA 9.2, section 9.7.3.21) takes and gives subnormal numbers as 0; `div.full.f32`
(section 9.7.3.8) is right over the whole range of operands.  A division that rounds correctly is a call,
whose registers its caller has to save.
"""

NVVM_PASSES = (
    CANONICALIZE,
    "cse",
    "convert-nvgpu-to-nvvm",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1}",
    "convert-nvvm-to-llvm",
    "reconcile-unrealized-casts",
)


def _to_nvvm(module: ir.Module) -> None:
    replace_operations(module, APPROXIMATIONS)
    run_passes(module, f"gpu.module({','.join(NVVM_PASSES)})")


def _optimize(build: KernelBuild) -> str:
    build.llvm_ir = run_llvm_tool("opt", ["-O3", f"-mcpu={build.vendor.chip}", "-S"], build.llvm_ir)
    return build.llvm_ir


def _emit_ptx(build: KernelBuild) -> str:
    """Return kernels as assembly.

    Without loop strength reduction: the accesses of a tile are constants away from one address already, and
    it would keep several addresses.
    """
    chip = build.vendor.chip
    version = f"-mattr=+ptx{CHIPS[chip].ptx}"
    build.assembly = run_llvm_tool("llc", ["-O3", "-disable-lsr", f"-mcpu={chip}", version], build.llvm_ir)
    build.code = device_code(build.assembly, None, build.kernels, chip)
    return build.assembly


def _assemble(build: KernelBuild) -> str | None:
    """Return the assembly that machine code was made of, which tells ptxas more where it spilled."""
    chip = build.vendor.chip
    assembled = ptxas.assemble(build.assembly.encode(), chip, build.kernels)
    if assembled is None:
        return None
    build.assembly = assembled.ptx.decode()
    build.code = device_code(build.assembly, assembled, build.kernels, chip)
    return build.assembly


LOWERING = (
    Stage("nvvm", "the LLVM dialect with NVIDIA's operations", on_module(_to_nvvm)),
    to_llvm_ir("nvptx64-nvidia-cuda"),
    Stage("optimized", "LLVM IR after LLVM's optimisations", _optimize, "ll"),
)

EMISSION = (
    Stage(ASSEMBLY, "PTX, assembly for NVIDIA's GPUs", _emit_ptx, "ptx"),
    Stage("assembled", "the assembly as ptxas got it, where it is installed", _assemble, "ptx"),
)
