"""The pipeline of the CUDA target: from tiled kernels on tensors to PTX, stage by stage."""

import re
from dataclasses import dataclass
from pathlib import Path

from mlir import ir
from mlir.dialects import func, gpu
from mlir.dialects.llvm import translate_module_to_llvmir

from harness.errors import UnsupportedError
from harness.layouts.analysis import LayoutAnalysis
from harness.layouts.warp_tiling import WarpTiling
from harness.targets.cuda.approximations import use_approximations
from harness.targets.gpu.kernel_function import SHARED_ARRAY, KernelShape, distribute_kernel
from harness.targets.gpu.launch import GpuKernel
from harness.targets.gpu.matrix_operands import narrow_matrix_operands
from harness.targets.gpu.padded_rows import read_and_write_padded_rows
from harness.targets.gpu.shared_memory import ALIGNMENT
from harness.targets.gpu.staging import stage_matrix_operands
from harness.targets.lowering.bufferize import bufferize
from harness.targets.lowering.buffers import describe_buffers
from harness.targets.lowering.destinations import insert_instead_of_copying, write_where_kept
from harness.targets.lowering.reciprocals import divide_rows_once
from harness.targets.lowering.stage_recorder import StageRecorder
from harness.targets.lowering.transforms import run_passes
from harness.targets.lowering.vectorize import carry_accumulators, hoist_from_innermost_loops, vectorize
from harness.toolchains.llvm import run_llvm_tool

SUMMARIES = {
    "vectorized": "tiles as vectors of a workgroup, loops carry them",
    "bufferized": "tensors become memory",
    "matrix-operands": "products take their operands in the type that is stored",
    "staged": "tiles of Q, K and V pass through shared memory, copied ahead of the loop",
    "laid-out": "the layout of each vector as an attribute, and the conflicts between layouts",
    "distributed": "what one lane does: matrix instructions, shuffles, asynchronous copies",
    "nvvm": "the LLVM dialect with NVIDIA's operations",
    "llvm-ir": "LLVM IR",
    "optimized": "LLVM IR after LLVM's optimisations",
    "ptx": "assembly for NVIDIA's GPUs",
    "emulated": "device code as the emulator takes it, which its findings refer to",
}
"""Each stage by name, in order."""

PTX_VERSIONS = {"sm_100": "86", "sm_120": "87"}
"""The oldest PTX that has a chip, where it is newer than `OLDEST_PTX`."""
OLDEST_PTX = "80"

TRIPLE = 'target triple = "nvptx64-nvidia-cuda"\n'

NVVM_PASSES = (
    "canonicalize",
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

KERNELS = "kernels"
"""Name of the `gpu.module`."""


@dataclass(frozen=True)
class Lowered:
    """Kernels as LLVM IR, and how they are launched."""

    llvm_ir: str
    shapes: tuple[KernelShape, ...]
    stages: StageRecorder


@dataclass(frozen=True)
class Compiled:
    """What the pipeline makes of a module of kernels."""

    kernels: tuple[GpuKernel, ...]
    bank_conflicts: int
    optimized: str
    """LLVM IR."""
    stages: StageRecorder


def compile_kernels(module: ir.Module, chip: str, tiling: WarpTiling, folder: Path) -> Compiled:
    """Run every stage up to optimised LLVM IR and write each one's output to the folder.

    Raises `UnsupportedError` or `BuildError` for what the pipeline has no form of.
    """
    stages = StageRecorder(folder, SUMMARIES)
    stages.change("vectorized", _vectorize, module)
    stages.change("bufferized", _bufferize, module)
    buffers = [describe_buffers(function) for function in _functions(module)]
    lowered = lower_kernels(module, tiling, stages)
    optimized = optimize(lowered.llvm_ir, chip, stages)
    kernels = tuple(
        GpuKernel(
            name=shape.name,
            buffers=held,
            grid=shape.grid,
            threads=shape.threads,
            shared_bytes=shape.shared_bytes,
        )
        for shape, held in zip(lowered.shapes, buffers, strict=True)
    )
    bank_conflicts = sum(shape.bank_conflicts for shape in lowered.shapes)
    return Compiled(kernels, bank_conflicts, optimized, stages)


def lower_kernels(module: ir.Module, tiling: WarpTiling, stages: StageRecorder) -> Lowered:
    """Distribute kernels of vectors on memory to lanes, and lower them to LLVM IR."""
    stages.change("matrix-operands", narrow_matrix_operands, module)
    stages.change("staged", _stage, module)
    analyses: list[LayoutAnalysis] = []
    stages.change("laid-out", lambda kernels: analyses.extend(_lay_out(kernels, tiling)), module)
    lanes = _gpu_module()
    shapes: list[KernelShape] = []

    def distribute(target: ir.Module) -> None:
        for function, analysis in zip(_functions(module), analyses, strict=True):
            shapes.append(distribute_kernel(function, analysis, target.body.operations[0]))
        target.operation.verify()

    stages.change("distributed", distribute, lanes)
    stages.change("nvvm", _to_nvvm, lanes)
    llvm_ir = stages.run("llvm-ir", lambda: _llvm_ir(lanes), "ll")
    return Lowered(llvm_ir, tuple(shapes), stages)


def optimize(llvm_ir: str, chip: str, stages: StageRecorder) -> str:
    """Let LLVM optimise kernels for a chip."""
    arguments = ["-O3", f"-mcpu={chip}", "-S"]
    return stages.run("optimized", lambda: run_llvm_tool("opt", arguments, llvm_ir), "ll")


def emit_ptx(optimized: str, chip: str, stages: StageRecorder) -> str:
    """Return kernels as assembly for a chip.

    Without loop strength reduction: the accesses of a tile are constants away from one address already, and
    it would keep several addresses.
    """
    version = f"-mattr=+ptx{PTX_VERSIONS.get(chip, OLDEST_PTX)}"
    arguments = ["-O3", "-disable-lsr", f"-mcpu={chip}", version]
    return stages.run("ptx", lambda: run_llvm_tool("llc", arguments, optimized), "ptx")


def _functions(module: ir.Module) -> list[func.FuncOp]:
    return [operation for operation in module.body.operations if isinstance(operation, func.FuncOp)]


def _vectorize(module: ir.Module) -> None:
    vectorize(module)
    hoist_from_innermost_loops(module)
    carry_accumulators(module)
    divide_rows_once(module)
    read_and_write_padded_rows(module)
    write_where_kept(module)
    insert_instead_of_copying(module)
    run_passes(module, "canonicalize", "cse")


def _bufferize(module: ir.Module) -> None:
    bufferize(module)
    run_passes(module, "fold-memref-alias-ops", "canonicalize", "cse")
    for function in _functions(module):
        if "memref.alloc" in str(function):
            raise UnsupportedError(f"kernel {function.name.value} holds rows that are longer than a tile")


def _stage(module: ir.Module) -> None:
    for function in _functions(module):
        stage_matrix_operands(function)


def _lay_out(module: ir.Module, tiling: WarpTiling) -> list[LayoutAnalysis]:
    analyses = [LayoutAnalysis(function, tiling) for function in _functions(module)]
    for analysis in analyses:
        analysis.annotate()
    return analyses


def _gpu_module() -> ir.Module:
    """Return a module with an empty `gpu.module`."""
    module = ir.Module.create()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with ir.InsertionPoint(module.body):
        kernels = gpu.GPUModuleOp(KERNELS)
        if len(kernels.regions[0].blocks) == 0:
            kernels.regions[0].blocks.append()
    return module


def _to_nvvm(module: ir.Module) -> None:
    use_approximations(module)
    run_passes(module, f"gpu.module({','.join(NVVM_PASSES)})")


def _llvm_ir(module: ir.Module) -> str:
    """Translate the contents of the `gpu.module`; all kernels have one shared array, sized when launched."""
    flat = ir.Module.create()
    for operation in list(module.body.operations[0].regions[0].blocks[0].operations):
        flat.body.append(operation)
    text = translate_module_to_llvmir(flat.operation)
    definition = re.compile(rf"(?m)^@{SHARED_ARRAY}_\w+ = .*\n")
    array = f"@{SHARED_ARRAY} = external addrspace(3) global [0 x i8], align {ALIGNMENT}\n"
    dynamic = definition.sub("", definition.sub(array, text, count=1))
    return TRIPLE + re.sub(rf"@{SHARED_ARRAY}_\w+", f"@{SHARED_ARRAY}", dynamic)
