"""The target `cuda`: NVIDIA GPUs."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from harness.artifact.artifact import Artifact
from harness.errors import UnsupportedError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import itemsize
from harness.targets.base import Capability, Stage, TileSizes, chip_of
from harness.targets.cuda import device as device_executor
from harness.targets.cuda.chips import runs_on
from harness.targets.executors import is_installed
from harness.targets.gpu.target import MATRIX_ROWS, GpuTarget
from harness.toolchains.nvidia import INSTALL, version

if TYPE_CHECKING:
    from mlir import ir

    from harness.layouts.warp_tiling import WarpTiling
    from harness.targets.cuda.packaging import KernelCode
    from harness.targets.cuda.stages import Compiled

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


METRICS_BY_TOOL = {"ptxas": "registers, spills, occupancy", "nvdisasm": "machine instructions"}
"""What is known of machine code by each of NVIDIA's programs."""


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

    def why_unsupported(self, chip: str | None, problem: AttentionProblem) -> str | None:
        """Return None, or what of a problem does not fit warps and matrix instructions."""
        widths = {"head_dim": problem.head_dim, "head_dim_v": problem.head_dim_v}
        uneven = [f"{name} {width}" for name, width in widths.items() if width % MATRIX_ROWS]
        if problem.is_packed or problem.model_width is not None:
            return "packed sequences and projections are not lowered for cuda yet"
        if uneven:
            return f"{uneven[0]}: matrix instructions take multiples of {MATRIX_ROWS}"
        if problem.seq_kv < key_multiple(problem):
            return f"{problem.seq_kv} keys: the warps share at least {key_multiple(problem)} at these widths"
        return None

    def tile_sizes(self, chip: str | None, problem: AttentionProblem) -> TileSizes:
        """Return fewer keys where rows of K and V are long, so that two slots of each fit shared memory.

        A problem of few queries is padded to as many as its warps take; one of few keys has a smaller tile,
        which its warps can share.
        """
        sizes = super().tile_sizes(chip, problem)
        sizes = replace(sizes, query_multiple=MATRIX_ROWS * warps_for(problem.seq_q))
        row_bytes = (problem.head_dim + problem.head_dim_v) * itemsize(problem.dtype)
        keys = sizes.key // 2 if row_bytes > LONG_ROW_BYTES else sizes.key
        multiple = key_multiple(problem)
        return replace(sizes, key=min(keys, max(1, problem.seq_kv // multiple) * multiple))

    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: Path, *, flops_executed: int
    ) -> Artifact:
        """Compile tiled kernels to PTX, and for the emulator."""
        from harness.targets.cuda import packaging
        from harness.targets.cuda.multiprocessor import require_shared_memory
        from harness.targets.cuda.stages import SUMMARIES, compile_kernels
        from harness.targets.gpu.launch import GpuLaunch

        _require_even_tiles(case)
        chip = self.chip(chip_of(case.target))
        compiled = compile_kernels(module, chip, _warp_tiling(case.problem), folder)
        require_shared_memory(compiled.kernels, chip)
        launch = GpuLaunch(chip=chip, kernels=compiled.kernels)
        code = _code(compiled, chip)
        counted = {"flops_executed": flops_executed, "bank_conflicts": compiled.bank_conflicts}
        stages = compiled.stages
        return Artifact(
            case=case,
            key=key,
            metrics=packaging.metrics(code, launch).model_copy(update=counted),
            stage_seconds={name: stages.seconds[name] for name in SUMMARIES if name in stages.seconds},
            stage_files={name: stages.files[name] for name in SUMMARIES if name in stages.files},
            **packaging.execution(code, launch, case.target, folder),
        )

    def what_devices_lack(self) -> str:
        """Return that NVIDIA's bindings are missing, where they are; IREE's code runs without."""
        if all(map(is_installed, device_executor.PACKAGES)):
            return ""
        return f"; for this harness's own kernels install {device_executor.INSTALL}"

    def capabilities(self) -> list[Capability]:
        """Return what can be built, emulated and run here, and what is known of machine code."""
        return [*super().capabilities(), self._metrics()]

    def tool_versions(self) -> dict[str, str]:
        """Return the versions of the tools that metrics come from, of those that are installed."""
        found = {name: version(name) for name in METRICS_BY_TOOL}
        return {name: stated for name, stated in found.items() if stated is not None}

    def _metrics(self) -> Capability:
        found = self.tool_versions()
        parts = [
            f"{metrics} by {name} {found[name]}" if name in found else f"no {name} for {metrics}"
            for name, metrics in METRICS_BY_TOOL.items()
        ]
        is_complete = len(found) == len(METRICS_BY_TOOL)
        hint = "" if is_complete else f": install {INSTALL}"
        return Capability(action="metrics", available=is_complete, detail="; ".join(parts) + hint)

    def runs_on(self, chip: str, device_chip: str) -> bool:
        """PTX runs on its chip and on later ones, with a chip's own instructions on that chip only."""
        return runs_on(chip, device_chip)


def _warp_tiling(problem: AttentionProblem) -> "WarpTiling":
    """Return the matrix instruction for a problem and how many warps execute it."""
    from harness.layouts.instructions import instruction
    from harness.layouts.warp_tiling import WarpTiling

    return WarpTiling(instruction(INSTRUCTIONS[problem.dtype]), warps_for(problem.seq_q))


def warps_for(queries: int) -> int:
    """Return how many warps share a tile of queries: fewer, a power of two, where a problem has few."""
    return next(count for count in (1, 2, WARPS) if queries <= count * MATRIX_ROWS or count == WARPS)


def key_multiple(problem: AttentionProblem) -> int:
    """Return what the keys of a tile are a multiple of: rows of K and V that all warps copy at once."""
    from harness.layouts.warp_tiling import rows_copied_at_once

    size, warps = itemsize(problem.dtype), warps_for(problem.seq_q)
    widths = (problem.head_dim, problem.head_dim_v)
    return max(MATRIX_ROWS, *(warps * rows_copied_at_once(width, size) for width in widths))


def _require_even_tiles(case: Case) -> None:
    """Raise `UnsupportedError` for tiles, cut to the problem, that warps and instructions cannot share."""
    units = {
        "tile_q": (case.problem.seq_q, WARPS * MATRIX_ROWS, "queries, which the warps share"),
        "tile_kv": (case.problem.seq_kv, MATRIX_ROWS, "keys, as matrix instructions take them"),
    }
    for name, (length, unit, what) in units.items():
        size = case.params.get(name)
        is_padded = name == "tile_q" and isinstance(size, int) and size >= length
        if isinstance(size, int) and not is_padded and min(size, length) % unit:
            cut = f" (cut to {length})" if size > length else ""
            raise UnsupportedError(f"{name} {size}{cut}: expected a multiple of {unit} {what}")


def _code(compiled: "Compiled", chip: str) -> "KernelCode":
    """Return PTX, what ptxas makes of it, and the emulator's code."""
    from harness.targets.cuda import ptxas
    from harness.targets.cuda.packaging import KernelCode, emulator_code
    from harness.targets.cuda.stages import emit_ptx

    def assembled() -> "tuple[str, ptxas.Assembled | None]":
        text = emit_ptx(compiled.optimized, chip, compiled.stages)
        code = ptxas.assemble(text.encode(), chip, compiled.kernels)
        return text if code is None else code.ptx.decode(), code

    with ThreadPoolExecutor(1) as beside:  # a part of the time passes in other processes
        assembling = beside.submit(assembled)
        emulation = emulator_code(
            compiled.optimized, chip, lambda emulate: compiled.stages.run("emulated", emulate)
        )
    return KernelCode(*assembling.result(), emulation)
