"""The target `cuda`: NVIDIA GPUs."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from harness.artifact import Artifact, ExecutorName, StaticFigures
from harness.case import Case
from harness.errors import BuildError, InputError
from harness.problem import AttentionProblem
from harness.targets.base import Stage, chip_of
from harness.targets.gpu.target import KEY_TILE, MATRIX_ROWS, QUERY_TILE, GpuTarget

if TYPE_CHECKING:
    from mlir import ir

    from harness.layouts.warp_tiling import WarpTiling
    from harness.targets.cuda.stages import Compiled

WARPS = 4
"""Warps of a workgroup, each with 16 of 64 queries."""

INSTRUCTIONS = {
    "f16": "mma.sync.m16n8k16",
    "bf16": "mma.sync.m16n8k16.bf16",
    "f32": "mma.sync.m16n8k8.tf32x3",
}
"""The matrix instruction for each type of Q, K and V."""


class CudaTarget(GpuTarget):
    """NVIDIA GPUs from Ampere on."""

    name = "cuda"
    summary = "NVIDIA GPUs through layouts and PTX, or by IREE; on a device or on the emulator"
    driver = "NVIDIA's driver (libcuda.so.1)"
    default_chip = "sm_80"
    descriptions: ClassVar[dict[str, str]] = {
        "sm_80": "Ampere: A100",
        "sm_86": "Ampere: A10, A40, RTX 30",
        "sm_89": "Ada: L4, L40, RTX 40",
        "sm_90": "Hopper: H100, H200, with the instructions that later chips have, too",
        "sm_90a": "Hopper, with those of its own",
        "sm_100": "Blackwell: B200",
        "sm_120": "Blackwell: RTX 50",
    }

    @property
    def stages(self) -> tuple[Stage, ...]:  # type: ignore[override]
        """The pipeline's stages, in order."""
        from harness.targets.cuda.stages import SUMMARIES

        return tuple(Stage(name, summary) for name, summary in SUMMARIES.items())

    def refuses_kernels(self, chip: str | None, problem: AttentionProblem) -> str | None:
        """Return None, or what of a problem does not fit warps and matrix instructions."""
        widths = {"head_dim": problem.head_dim, "head_dim_v": problem.head_dim_v}
        uneven = [f"{name} {width}" for name, width in widths.items() if width % MATRIX_ROWS]
        if problem.is_packed or problem.model_width is not None:
            return "packed sequences and projections are not lowered for cuda yet"
        if uneven:
            return f"{uneven[0]}: matrix instructions take multiples of {MATRIX_ROWS}"
        if problem.seq_q < QUERY_TILE:
            return f"{problem.seq_q} queries: the warps of a workgroup share {QUERY_TILE}"
        if problem.seq_kv < KEY_TILE and problem.seq_kv % MATRIX_ROWS:
            return f"{problem.seq_kv} keys: matrix instructions take multiples of {MATRIX_ROWS}"
        return None

    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: Path, *, flops_executed: int
    ) -> Artifact:
        """Compile tiled kernels to PTX, and for the emulator."""
        from harness.targets.cuda.stages import compile_kernels
        from harness.targets.gpu.launch import GpuLaunch

        chip = self.chip(chip_of(case.target))
        compiled = compile_kernels(module, chip, _warp_tiling(case.problem), folder)
        launch = GpuLaunch(chip=chip, kernels=compiled.kernels)
        executor, why_not = _executor(compiled, chip, folder)
        return Artifact(
            case=case,
            key=key,
            executor=executor,
            loader="harness.targets.gpu.emulated:load",
            figures=_figures(compiled, chip, launch.workspace_bytes, flops_executed),
            stage_seconds=compiled.stages.seconds,
            stage_files=compiled.stages.files,
            launch=launch.as_json(),
            why_not_run=why_not,
        )

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """PTX runs on its chip and on later ones, with a chip's own instructions on that chip only."""
        wanted, suffix = _number(chip)
        have, _ = _number(device_chip)
        return have == wanted if suffix else have >= wanted


def _warp_tiling(problem: AttentionProblem) -> "WarpTiling":
    """Return the matrix instruction for a problem and how many warps execute it."""
    from harness.layouts.instructions import instruction
    from harness.layouts.warp_tiling import WarpTiling

    return WarpTiling(instruction(INSTRUCTIONS[problem.dtype]), WARPS)


def _executor(compiled: "Compiled", chip: str, folder: Path) -> tuple[ExecutorName, str | None]:
    """Return what runs the code, else why nothing does; the folder gets what the emulator needs."""
    from harness.emulator.device_code import compile_for_emulator
    from harness.emulator.devices import device
    from harness.emulator.native_library import MISSING, compiler
    from harness.emulator.saved_code import ImageCode, save
    from harness.targets.gpu.emulated import EMULATOR_FOLDER

    if compiler() is None:
        return "none", f"for the emulator: {MISSING}"

    def emulate() -> str:
        code = compile_for_emulator(compiled.optimized, device(chip))
        save(folder / EMULATOR_FOLDER, [ImageCode(compiled.ptx.encode(), code)])
        return code.device_code

    try:
        compiled.stages.run("emulated", emulate)
    except (BuildError, InputError) as error:
        return "none", f"the emulator refuses the code: {error}"
    return "emulator", None


def _figures(compiled: "Compiled", chip: str, workspace_bytes: int, flops_executed: int) -> StaticFigures:
    """Return what PTX says, and ptxas where it is there."""
    from harness.targets.cuda import ptx, ptxas
    from harness.targets.gpu.kernel_figures import KernelFigures, combine, instructions
    from harness.targets.object_files import code_bytes

    launched = [
        KernelFigures(shared_bytes=kernel.shared_bytes, workgroup_size=kernel.threads)
        for kernel in compiled.kernels
    ]
    assembled = ptxas.assemble(compiled.ptx.encode(), chip)
    kernels = assembled.kernels if assembled is not None else []
    return combine([*launched, *kernels]).model_copy(
        update={
            "bank_conflicts": compiled.bank_conflicts,
            "intrinsics": instructions(ptx.MATRIX_INSTRUCTION, [compiled.ptx]),
            "code_bytes": code_bytes(assembled.cubin) if assembled is not None else None,
            "workspace_bytes": workspace_bytes,
            "flops_executed": flops_executed,
        }
    )


def _number(chip: str) -> tuple[int, str]:
    """Return (90, `a`) of `sm_90a`."""
    found = re.fullmatch(r"sm_(\d+)([af]?)", chip)
    return (int(found[1]), found[2]) if found else (0, "")
