"""The target `cuda`: NVIDIA GPUs."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from harness.artifact import Artifact, Loader, StaticFigures
from harness.case import Case
from harness.dtypes import itemsize
from harness.errors import BuildError, InputError, UnsupportedError
from harness.executors import choose, is_installed
from harness.problem import AttentionProblem
from harness.targets.base import Stage, chip_of
from harness.targets.cuda import device as device_executor
from harness.targets.cuda.chips import runs_on
from harness.targets.cuda.images import save_images
from harness.targets.gpu.target import KEY_TILE, MATRIX_ROWS, QUERY_TILE, GpuTarget
from harness.variants.tiling import TileSizes

if TYPE_CHECKING:
    from mlir import ir

    from harness.emulator.device_code import EmulatorCode
    from harness.layouts.warp_tiling import WarpTiling
    from harness.targets.cuda.ptxas import Assembled
    from harness.targets.cuda.stages import Compiled
    from harness.targets.gpu.kernel_figures import KernelFigures
    from harness.targets.gpu.launch import GpuKernel, GpuLaunch

WARPS = 4
"""Warps of a workgroup, each with 16 of 64 queries."""

LONG_ROW_BYTES = 512
"""A row of K and one of V together: head_dim 128 in 16 bits, or 64 in 32."""

INSTRUCTIONS = {
    "f16": "mma.sync.m16n8k16",
    "bf16": "mma.sync.m16n8k16.bf16",
    "f32": "mma.sync.m16n8k8.tf32x3",
}
"""The matrix instruction for each type of Q, K and V."""


DEVICE_LOADER = Loader(
    executor="device",
    function="harness.targets.cuda.device.kernels:load",
    package=device_executor.PACKAGE,
    install=device_executor.INSTALL,
)
EMULATOR_LOADER = Loader(executor="emulator", function="harness.targets.gpu.emulated:load")


class CudaTarget(GpuTarget):
    """NVIDIA GPUs from Ampere on."""

    name = "cuda"
    summary = "NVIDIA GPUs through layouts and PTX, or by IREE; on a device or on the emulator"
    driver = "NVIDIA's driver (libcuda.so.1)"
    default_chip = "sm_80"
    builders = ("this harness", "IREE")
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
            return f"{problem.seq_q} queries: a workgroup's warps share at least {QUERY_TILE}"
        if problem.seq_kv < KEY_TILE and problem.seq_kv % MATRIX_ROWS:
            return f"{problem.seq_kv} keys: fewer than {KEY_TILE} have to be a multiple of {MATRIX_ROWS}"
        return None

    def tile_sizes(self, chip: str | None, problem: AttentionProblem) -> TileSizes:
        """Return fewer keys where rows of K and V are long, so that two slots of each fit shared memory."""
        sizes = super().tile_sizes(chip, problem)
        row_bytes = (problem.head_dim + problem.head_dim_v) * itemsize(problem.dtype)
        return replace(sizes, key=sizes.key // 2) if row_bytes > LONG_ROW_BYTES else sizes

    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: Path, *, flops_executed: int
    ) -> Artifact:
        """Compile tiled kernels to PTX, and for the emulator."""
        from harness.targets.cuda.multiprocessor import require_shared_memory
        from harness.targets.cuda.stages import SUMMARIES, compile_kernels
        from harness.targets.gpu.launch import GpuLaunch

        _require_even_tiles(case)
        chip = self.chip(chip_of(case.target))
        compiled = compile_kernels(module, chip, _warp_tiling(case.problem), folder)
        require_shared_memory(compiled.kernels, chip)
        launch = GpuLaunch(chip=chip, kernels=compiled.kernels)
        stages = compiled.stages
        with ThreadPoolExecutor(1) as beside:  # a part of the time passes in other processes
            code = beside.submit(_code, compiled, chip)
            emulation = _emulator_code(compiled, chip)
        ptx, assembled = code.result()
        save_images(folder, ptx, assembled.cubin if assembled is not None else None)
        loaders, refusal = _loaders(emulation, ptx, folder)
        choice = choose(loaders, case.target)
        return Artifact(
            case=case,
            key=key,
            executor=choice.executor,
            loader=choice.function,
            loaders=loaders,
            figures=_figures(compiled, ptx, assembled, launch).model_copy(
                update={"flops_executed": flops_executed}
            ),
            stage_seconds={name: stages.seconds[name] for name in SUMMARIES if name in stages.seconds},
            stage_files={name: stages.files[name] for name in SUMMARIES if name in stages.files},
            launch=launch.as_json(),
            why_not_run="; ".join(filter(None, (choice.why_not, refusal))) if choice.why_not else None,
        )

    def what_devices_lack(self) -> str:
        """Return that NVIDIA's bindings are missing, where they are; IREE's code runs without."""
        if is_installed(device_executor.PACKAGE):
            return ""
        return f"; for this harness's own kernels install {device_executor.INSTALL}"

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """PTX runs on its chip and on later ones, with a chip's own instructions on that chip only."""
        return runs_on(chip, device_chip)


def _warp_tiling(problem: AttentionProblem) -> "WarpTiling":
    """Return the matrix instruction for a problem and how many warps execute it."""
    from harness.layouts.instructions import instruction
    from harness.layouts.warp_tiling import WarpTiling

    return WarpTiling(instruction(INSTRUCTIONS[problem.dtype]), WARPS)


def _require_even_tiles(case: Case) -> None:
    """Raise `UnsupportedError` for tiles, cut to the problem, that warps and instructions cannot share."""
    units = {
        "tile_q": (case.problem.seq_q, WARPS * MATRIX_ROWS, "queries, which the warps share"),
        "tile_kv": (case.problem.seq_kv, MATRIX_ROWS, "keys, as matrix instructions take them"),
    }
    for name, (length, unit, what) in units.items():
        size = case.params.get(name)
        if isinstance(size, int) and min(size, length) % unit:
            cut = f" (cut to {length})" if size > length else ""
            raise UnsupportedError(f"{name} {size}{cut}: expected a multiple of {unit} {what}")


def _code(compiled: "Compiled", chip: str) -> "tuple[str, Assembled | None]":
    """Return PTX, and what ptxas makes of it."""
    from harness.targets.cuda import ptxas
    from harness.targets.cuda.stages import emit_ptx

    ptx = emit_ptx(compiled.optimized, chip, compiled.stages)
    return ptx, ptxas.assemble(ptx.encode(), chip)


def _emulator_code(compiled: "Compiled", chip: str) -> "EmulatorCode | str":
    """Return the code as the emulator runs it, or why it does not."""
    from harness.emulator.device_code import EmulatorCode, compile_for_emulator
    from harness.emulator.devices import device
    from harness.emulator.native_library import MISSING, compiler

    if compiler() is None:
        return f"for the emulator: {MISSING}"
    codes: list[EmulatorCode] = []

    def emulate() -> str:
        codes.append(compile_for_emulator(compiled.optimized, device(chip)))
        return codes[0].device_code

    try:
        compiled.stages.run("emulated", emulate)
    except (BuildError, InputError) as error:
        return f"the emulator refuses the code: {error}"
    return codes[0]


def _loaders(
    emulation: "EmulatorCode | str", ptx: str, folder: Path
) -> tuple[tuple[Loader, ...], str | None]:
    """Return what runs the code, and why the emulator does not; what it needs is written to the folder."""
    from harness.emulator import ARTIFACT_FOLDER
    from harness.emulator.saved_code import ImageCode, save

    if isinstance(emulation, str):
        return (DEVICE_LOADER,), emulation
    save(folder / ARTIFACT_FOLDER, [ImageCode(ptx.encode(), emulation)])
    return (DEVICE_LOADER, EMULATOR_LOADER), None


def _figures(
    compiled: "Compiled", text: str, assembled: "Assembled | None", launch: "GpuLaunch"
) -> StaticFigures:
    """Return what PTX says, and ptxas where it is there."""
    from harness.targets.cuda import ptx
    from harness.targets.gpu.kernel_figures import KernelFigures, combine, instructions
    from harness.targets.object_files import code_bytes

    launched = [
        KernelFigures(shared_bytes=kernel.shared_bytes, workgroup_size=kernel.threads)
        for kernel in compiled.kernels
    ]
    kernels = assembled.kernels if assembled is not None else []
    return combine([*launched, *kernels]).model_copy(
        update={
            "bank_conflicts": compiled.bank_conflicts,
            "occupancy": _least_occupancy(compiled.kernels, kernels, launch.chip),
            "intrinsics": instructions(ptx.MATRIX_INSTRUCTION, [text]),
            "code_bytes": code_bytes(assembled.cubin) if assembled is not None else None,
            "workspace_bytes": launch.workspace_bytes,
        }
    )


def _least_occupancy(
    launched: "Sequence[GpuKernel]", assembled: "Sequence[KernelFigures]", chip: str
) -> float | None:
    """Return the least occupancy of all kernels, where ptxas says how many registers each needs."""
    from harness.targets.cuda.multiprocessor import occupancy

    registers = {figures.name: figures.registers for figures in assembled if figures.registers is not None}
    if any(kernel.name not in registers for kernel in launched):
        return None
    return min(
        occupancy(kernel.threads, registers[kernel.name], kernel.shared_bytes, chip) for kernel in launched
    )
