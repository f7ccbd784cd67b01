"""AMD's stages: from what a lane does to LLVM IR, assembly and machine code."""

from collections.abc import Sequence
from functools import partial

from mlir import ir

from harness.artifact.stage_names import ASSEMBLY
from harness.codegen.ir.walk import operations_within
from harness.system.toolchains import amd
from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import KernelBuild, on_module, to_llvm_ir
from harness.targets.lowering.transforms import run_passes
from harness.targets.rocm.chips import CHIPS, Chip, Feature
from harness.targets.rocm.code_object import spilled_registers
from harness.targets.rocm.cut_tiles import (
    annotate_branch,
    has_loops_over_cut_tiles,
    mark_loops_over_cut_tiles,
    without_annotations,
)
from harness.targets.rocm.device_code import device_code
from harness.targets.rocm.own_instructions import use_instructions


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
    use_instructions(module, CHIPS[chip].features)
    mark_loops_over_cut_tiles(module)
    run_passes(module, _passes(chip))
    attributes = [ir.ArrayAttr.get([*map(ir.StringAttr.get, pair)]) for pair in _attributes(CHIPS[chip])]
    for operation in operations_within(module.operation):
        if operation.name == "llvm.func":
            operation.operation.attributes["passthrough"] = ir.ArrayAttr.get(attributes)
        elif operation.name == "llvm.br":
            annotate_branch(operation)


def _attributes(chip: Chip) -> list[tuple[str, str]]:
    """Return the attributes of functions for LLVM.

    Where maxima pass over NaN they do so for signaling NaN, too, without an instruction for each operand that
    quiets it: that is what the mode of registers means that is not IEEE's.
    """
    attributes = []
    if Feature.PROPAGATING_MAXIMUM not in chip.features:
        attributes.append(("amdgpu-ieee", "false"))
    if chip.unused_llvm_feature is not None:
        attributes.append(("target-features", f"-{chip.unused_llvm_feature}"))
    return attributes


def _optimize(build: KernelBuild) -> str:
    """Optimise; where loops over cut tiles could keep their masks and that spares spills, they do."""
    chip, llvm_ir = build.vendor.chip, build.llvm_ir
    build.llvm_ir = amd.optimized(without_annotations(llvm_ir), chip)
    if has_loops_over_cut_tiles(llvm_ir):
        spilled = spilled_registers(amd.assembly(build.llvm_ir, chip))
        kept = amd.optimized(llvm_ir, chip) if spilled else None
        if kept is not None and spilled_registers(amd.assembly(kept, chip)) < spilled:
            build.llvm_ir = kept
    return build.llvm_ir


def _assemble(build: KernelBuild) -> str:
    chip = build.vendor.chip
    build.assembly = amd.assembly(build.llvm_ir, chip)
    code_object = amd.code_object(build.llvm_ir, chip)
    build.code = device_code(build.assembly, code_object, build.kernels, chip)
    return build.assembly


def lowering(chip: str) -> Sequence[Stage]:
    """Return the stages to LLVM IR for a chip."""
    return (
        Stage("rocdl", "the LLVM dialect with AMD's operations", on_module(partial(_to_rocdl, chip))),
        to_llvm_ir(amd.TRIPLE, amd.data_layout),
        Stage("optimized", "LLVM IR after LLVM's optimisations", _optimize, "ll"),
    )


EMISSION = (Stage(ASSEMBLY, "assembly for AMD's GPUs, linked to machine code besides", _assemble, "rocmasm"),)
