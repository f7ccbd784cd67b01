"""The variant `triton`: flash attention in Triton, compiled ahead of time, with or without a device.

Triton is the optional extra `triton`: without it the variant is unsupported, and nothing else changes.  Its
kernel is launched as this harness's own are, by the device executor, without Triton; where nothing is
compiled ahead of time (`harness.variants.baselines.triton.vendors`), Triton launches it on the device.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from harness.artifact.artifact import Artifact, Candidate, Loader, StaticMetrics
from harness.artifact.stage_names import ASSEMBLY
from harness.emulator.devices import device as emulated_device
from harness.experiment.searched import Searched
from harness.plugins import name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import BuildError, UnsupportedError, one_line
from harness.system.storage.cache_folder import cache_root
from harness.targets.base import OBJECT, Stage
from harness.targets.executors import run_here, wanted_executor
from harness.targets.gpu.packaging import EMULATED, emulate
from harness.targets.gpu.target import chip_for, gpu_target
from harness.variants.base import Parameters, Variant
from harness.variants.baselines.masks import lacks
from harness.variants.baselines.triton.code import TritonCode
from harness.variants.baselines.triton.tiles import TritonTiles, candidates, default_tiles
from harness.variants.baselines.triton.vendors import NVIDIA, VENDORS, Emission, why_missing

if TYPE_CHECKING:
    from harness.targets.gpu.launch import GpuLaunch

OTHER_FEATURES = (
    "cu_seqlens_q",
    "model_width",
    "mask",
    "bias",
    "sinks",
    "log_sum_exp",
    "window",
    "softcap",
    "kv_lengths",
)
"""Fields of problems that the kernel does not compute: all but a causal mask or none."""

LEAST_WIDTH = 16
"""Of rows and columns of a tile: what a matrix instruction takes."""

SOURCE_FILE = "kernel.py"
STAGES = (
    Stage("ttir", "Triton's IR of tiles"),
    Stage("ttgir", "with a layout of each tile on warps and lanes"),
    Stage("llir", "LLVM IR, instructions of the GPU as inline assembly", suffix="ll"),
)

PowerOfTwo = Literal[16, 32, 64, 128, 256]


class TritonParameters(Parameters):
    """How the work is divided; what is left open are the best known sizes for chip, type and widths."""

    tile_q: Annotated[PowerOfTwo | None, Searched()] = None
    """Queries of a program."""
    tile_kv: Annotated[PowerOfTwo | None, Searched()] = None
    """Keys of one turn of its loop."""
    warps: Annotated[Literal[1, 2, 4, 8, 16] | None, Searched()] = None
    pipeline: Annotated[int | None, Searched((1, 2, 3, 4))] = Field(default=None, ge=1, le=8)
    """Tiles of K and V under way at a time: Triton's `num_stages`."""


class Triton(Variant):
    """Flash attention in Triton."""

    name = "triton"
    summary = "flash attention in Triton (after FlashAttention-2), compiled by Triton"
    is_baseline = True
    packages = ("triton",)
    parameters: ClassVar[type[TritonParameters]] = TritonParameters
    stages: ClassVar[tuple[Stage, ...]] = (*STAGES, NVIDIA.assembly, OBJECT, EMULATED)

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why the kernel does not compute this problem; does not import Triton."""
        vendor = VENDORS.get(name_of(target))
        if vendor is None:
            return f"Triton compiles for {', '.join(VENDORS)} here, not for {target}"
        if (reason := why_missing(vendor)) is not None:
            return reason
        if (reason := lacks(problem, *OTHER_FEATURES)) is not None:
            return reason
        for name, width in (("head_dim", problem.head_dim), ("head_dim_v", problem.head_dim_v)):
            if width < LEAST_WIDTH or width & (width - 1):
                return f"{name} {width}: Triton's tiles are powers of two from {LEAST_WIDTH} on"
        return None

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return the tiles that are chosen for the problem."""
        values = asdict(_tiles(case))
        return {name: value for name, value in values.items() if case.params.get(name) is None}

    def source(self, case: Case) -> str:
        """Return the text of the kernel; sizes and tiles are in the case."""
        return Path(__file__).with_name(SOURCE_FILE).read_text(encoding="utf-8")

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Compile the kernel and keep Triton's own stages; raises `BuildError` with what Triton says."""
        emission, tiles = VENDORS[name_of(case.target)].emission, _tiles(case)
        executed = executed_flops(case.problem, tiles)
        if emission is None:
            (folder / SOURCE_FILE).write_text(self.source(case), encoding="utf-8")
            return Artifact(
                case=case,
                key=key,
                metrics=StaticMetrics(flops_executed=executed),
                stage_seconds={"source": 0.0},
                stage_files={"source": SOURCE_FILE},
                **_launched_by_triton(case, tiles),
            )
        return self._compiled(case, key, folder, emission)

    def _compiled(self, case: Case, key: str, folder: Path, emission: Emission) -> Artifact:
        from harness.targets.gpu import packaging
        from harness.targets.lowering.stage_recorder import StageRecorder

        tiles, vendor = _tiles(case), gpu_target(case).vendor(chip_for(case))
        stages = StageRecorder(folder, (*STAGES, emission.assembly, OBJECT, EMULATED))
        started = time.perf_counter()
        code = _compiled(case, tiles, emission)
        compilation_s = time.perf_counter() - started
        for stage in (*STAGES, emission.assembly):
            stages.record(stage, code.texts[stage.name].__str__)
        launch = _launch(case.problem, code, tiles)
        vendor.require_room(launch.kernels)
        emulation = emulate(code.texts["llir"], emulated_device(code.chip), stages)
        kernels = emission.device_code(code, launch.kernels)
        stages.name_object(kernels.object_file)
        metrics = packaging.static_metrics(kernels, launch)
        return Artifact(
            case=case,
            key=key,
            metrics=metrics.model_copy(update={"flops_executed": executed_flops(case.problem, tiles)}),
            stage_seconds={**stages.seconds, ASSEMBLY: compilation_s},
            stage_files=stages.in_order()["stage_files"],
            candidates=tuple(_candidates(case, tiles, folder, emission)),
            **packaging.execution(kernels, emulation, launch, vendor.device_loader, case, folder),
        )


def _launched_by_triton(case: Case, tiles: TritonTiles) -> dict[str, Any]:
    """Return an artifact's fields on running it where Triton compiles and launches on the device."""
    loader = Loader(
        executor="device",
        function="harness.variants.baselines.triton.launched:load",
        packages=("torch", "triton"),
        install=VENDORS[name_of(case.target)].install,
    )
    return {"launch": {"chip": chip_for(case), "tiles": asdict(tiles)}, **run_here([loader], case)}


def executed_flops(problem: AttentionProblem, tiles: TritonTiles) -> int:
    """Return the operations of all matrix products: whole tiles, those that no query sees left out."""
    columns = 0
    bottom_right = problem.causal_alignment == "bottom-right"
    shift = problem.seq_kv - problem.seq_q if bottom_right else 0
    for first in range(0, problem.seq_q, tiles.tile_q):
        end = problem.seq_kv
        if problem.causal:
            end = min(end, first + tiles.tile_q + shift)
        columns += max(0, -(-end // tiles.tile_kv)) * tiles.tile_kv
    heads = problem.batch * problem.heads
    return 2 * heads * tiles.tile_q * columns * (problem.head_dim + problem.head_dim_v)


def _candidates(case: Case, default: TritonTiles, folder: Path, emission: Emission) -> Iterator[Candidate]:
    """Compile the kernel with other tiles for a device to choose from, each into a folder of its own.

    None where the case sets tiles, or asks for the emulator; tiles that the chip has no memory for are left
    out.
    """
    from harness.targets.gpu import packaging

    is_set = TritonParameters.model_validate(case.params) != TritonParameters()
    if is_set or wanted_executor(case) not in (None, "device"):
        return
    vendor = gpu_target(case).vendor(chip_for(case))
    families = VENDORS[name_of(case.target)].families
    fitted = dict.fromkeys(_fitted(case, tiles) for tiles in candidates(case.problem, families))
    for tiles in fitted:
        if tiles == default:
            continue
        code = _compiled(case, tiles, emission)
        launch = _launch(case.problem, code, tiles)
        try:
            vendor.require_room(launch.kernels)
        except UnsupportedError:
            continue
        kernels = emission.device_code(code, launch.kernels)
        name = "-".join(map(str, astuple(tiles)))
        (folder / name).mkdir()
        for file, content in kernels.files.items():
            (folder / name / file).write_bytes(content)
        executed = {"flops_executed": executed_flops(case.problem, tiles)}
        metrics = packaging.static_metrics(kernels, launch).model_copy(update=executed)
        yield Candidate(folder=name, metrics=metrics, chosen=asdict(tiles), launch=launch.as_json())


def _tiles(case: Case) -> TritonTiles:
    """Return the tiles: those that are set, and the best known for the rest."""
    best_known = VENDORS[name_of(case.target)].tiles(chip_for(case))
    return _fitted(case, default_tiles(case.problem, best_known))


def _fitted(case: Case, default: TritonTiles) -> TritonTiles:
    """Return tiles with what a case sets, and no larger than its problem."""
    parameters, problem = TritonParameters.model_validate(case.params), case.problem
    rows = VENDORS[name_of(case.target)].rows_of_warp(chip_for(case))
    tile_q = parameters.tile_q or min(default.tile_q, max(LEAST_WIDTH, 1 << (problem.seq_q - 1).bit_length()))
    return TritonTiles(
        tile_q=tile_q,
        tile_kv=parameters.tile_kv or default.tile_kv,
        warps=parameters.warps or min(default.warps, max(1, tile_q // rows)),
        pipeline=parameters.pipeline or default.pipeline,
    )


def _compiled(case: Case, tiles: TritonTiles, emission: Emission) -> TritonCode:
    os.environ.setdefault("TRITON_CACHE_DIR", str(cache_root() / "triton"))
    from harness.variants.baselines.triton.compilation import compile_kernel

    vendor = VENDORS[name_of(case.target)]
    try:
        return compile_kernel(case.problem, chip_for(case), tiles, emission, vendor.precision)
    except Exception as error:  # Triton raises what it likes
        raise BuildError(f"Triton: {one_line(error)}") from error


def _launch(problem: AttentionProblem, code: TritonCode, tiles: TritonTiles) -> "GpuLaunch":
    from harness.problem.outputs import OUTPUT
    from harness.targets.gpu.launch import GpuKernel, GpuLaunch
    from harness.targets.lowering.buffers import Buffer

    shapes = {
        "query": problem.q_shape,
        "key": problem.k_shape,
        "value": problem.v_shape,
        OUTPUT: problem.output_shape,
    }
    buffers = [
        Buffer(name=name, shape=shape, dtype=problem.dtype, is_workspace=False)
        for name, shape in shapes.items()
    ]
    kernel = GpuKernel(
        name=code.name,
        buffers=tuple(buffers),
        grid=problem.batch * problem.heads * -(-problem.seq_q // tiles.tile_q),
        threads=code.threads,
        shared_bytes=code.shared_bytes,
        null_arguments=code.parameters - len(buffers),
    )
    return GpuLaunch(chip=code.chip, kernels=(kernel,))
