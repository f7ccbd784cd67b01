"""The CPU target: tiled kernels through MLIR and LLVM to machine code, run in this process."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from harness.artifact.artifact import Artifact, StaticMetrics
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.dtypes import itemsize
from harness.targets.base import Capability, Stage, Target, TargetOptions, TileSizes, chip_of
from harness.targets.cpu.matrix_units import UNITS, MatrixUnit

if TYPE_CHECKING:
    from mlir import ir

    from harness.codegen.bounds.part_times import PartTimes
    from harness.targets.cpu.stages import CpuBuild

KEY_TILE = 64
"""Keys of a tile: with head_dim 64 or 128, K, V and the scores of a tile stay in the first-level caches."""

KEY_TILE_OF_ONE_QUERY = 32
"""Keys of a tile where each is used once: while few are computed, a processor goes on reading (measured)."""

MAXIMUM_SLACK = 8
"""Exponentials of up to 2⁸, and their sums, are as exact in f32 as those of up to 1."""

LONG_SEQUENCE = 512
"""Tokens of a packed sequence, on average, from which on tiles of queries are larger where that helps."""

FAR_BYTES = 2048
"""Between rows of a head of K: from here on processors read no rows ahead, and they share few cache sets."""

MOST_THREADS = 4096
"""More than any machine has cores; each thread has scratch memory of its own."""


class CpuOptions(TargetOptions):
    """Options of the CPU target."""

    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)] | Literal["all"] = 1
    """Threads that share the grid; `all` is every core that this process may use."""
    unit: Literal["fma", "vdpbf16ps", "amx"] | None = None
    """What multiplies: `fma`, multiply-adds of f32, or a matrix instruction for what is stored.  `amx` takes
    f16 as sums of two numbers of bf16."""


class CpuTarget(Target):
    """The machine that the harness runs on, or code for another x86-64."""

    name = "cpu"
    summary = "this machine's processor through MLIR and LLVM; runs natively"
    options = CpuOptions

    @property
    def stages(self) -> tuple[Stage, ...]:  # type: ignore[override]
        """The pipeline's stages, in order."""
        from harness.targets.cpu.stages import STAGES

        return STAGES

    def chips(self) -> dict[str, str]:
        """Return the instruction sets that code can be generated for."""
        from harness.targets.cpu.chip import DESCRIPTIONS

        return DESCRIPTIONS

    def capabilities(self) -> list[Capability]:
        """Return what can be built and run here."""
        from harness.targets.cpu.chip import DESCRIPTIONS, chip

        runnable = [name for name in DESCRIPTIONS if chip(name).runs_here]
        return [
            Capability(action="build", available=True, detail=f"chips {', '.join(DESCRIPTIONS)}"),
            Capability(action="run", available=True, detail=f"natively: {', '.join(runnable)}"),
        ]

    def device(self, chip: str | None) -> str:
        """Return the processor's name, or what a model stands in for."""
        from harness.system.machine.system import device_name
        from harness.targets.cpu.tile_model import is_modelled

        return f"emulated {chip}" if is_modelled(chip) else device_name()

    def peak_unit(self, case: Case, artifact: Artifact | None) -> str:
        """Return the matrix unit whose instructions are in the code, else multiply-adds of f32."""
        intrinsics = None if artifact is None else artifact.metrics.intrinsics
        return next((unit.name for unit in UNITS if unit.name == intrinsics), "fma-f32")

    def peak_flops(self, chip: str | None, unit: str, options: TargetOptions) -> float | None:
        """Return a sample of a unit's peak on all threads; None for tiles, which nothing here measures."""
        from harness.targets.cpu.peak import LOOPS, measure_peak

        if unit not in LOOPS:
            return None
        return measure_peak(unit, getattr(options, "threads", 1))

    def bandwidths(self, chip: str | None, options: TargetOptions, number: int) -> Mapping[str, float]:
        """Return a sample of the bandwidth of one level: caches and memory take turns."""
        from harness.targets.cpu.bandwidth import measure_bandwidths

        return measure_bandwidths(getattr(options, "threads", 1), number)

    def part_times(self, artifact: Artifact, folder: Path, empty: Path) -> "PartTimes":
        """Return where the time of a call goes, see `harness.targets.cpu.part_times`."""
        from harness.targets.cpu.part_times import measure_parts

        case = artifact.case
        unit = self.peak_unit(case, artifact)
        return measure_parts(artifact, folder, empty, unit, lambda module: self._build_of(module, case))

    def tile_sizes(self, chip: str | None, problem: AttentionProblem) -> TileSizes:
        """Return a query tile of two or three vectors and a key tile that fits the caches.

        One query of a head is computed alone, with keys in lanes; few are padded to a vector.
        """
        from harness.targets.cpu.chip import chip as chip_named

        registers = chip_named(chip).registers
        has_one_query = problem.seq_q == 1 and problem.group_size == 1
        return TileSizes(
            query=registers.queries * (2 if _rows_lie_far_apart(problem) else 1),
            key=KEY_TILE_OF_ONE_QUERY if has_one_query else KEY_TILE,
            query_multiple=1 if has_one_query else registers.vector_length,
            joins_groups=True,
            follows_lengths=True,
            maximum_slack=0 if has_one_query else MAXIMUM_SLACK,
        )

    def sizes_for(self, case: Case) -> TileSizes:
        """Return the tiles of a case: with a matrix instruction they have more queries."""
        sizes, unit = super().sizes_for(case), _unit(case)
        if unit is None or sizes.query_multiple == 1:
            return sizes
        return replace(sizes, query=max(sizes.query, unit.queries))

    def _build_of(self, module: "ir.Module", case: Case) -> "CpuBuild":
        """Return the module of a case's kernels, before the first stage that it is to go through."""
        from harness.targets.cpu.chip import chip
        from harness.targets.cpu.stages import CpuBuild

        has_pages = "page_size" in case.params
        return CpuBuild(
            module,
            chip(chip_of(case.target)),
            _unit(case),
            self.numbers_longest_first(case),
            longest_keys=None if has_pages else case.problem.seq_kv,
        )

    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: Path, *, flops_executed: int
    ) -> Artifact:
        """Compile tiled kernels to an object file."""
        from harness.targets.cpu.launch import Launch
        from harness.targets.cpu.stages import compile_kernels

        build = self._build_of(module, case)
        stages = compile_kernels(build, folder)
        launch = Launch(
            kernels=build.kernels,
            threads=int(case.target_options.get("threads", 1)),
            asks_for_tiles=build.unit is not None and build.unit.has_tiles,
        )
        return Artifact(
            case=case,
            key=key,
            metrics=StaticMetrics(
                code_bytes=build.code.code_bytes,
                spills=build.code.spills,
                intrinsics=",".join(build.units) or "fma",
                workspace_bytes=launch.workspace_bytes,
                flops_executed=flops_executed,
            ),
            **stages.in_order(),
            chosen=_chosen_unit(case, build),
            launch=launch.as_json(),
            **_execution(build, folder),
        )


def _unit(case: Case) -> MatrixUnit | None:
    """Return what multiplies a case's numbers; None: multiply-adds of f32."""
    from harness.targets.cpu.chip import chip
    from harness.targets.cpu.unit_choice import unit_for

    asked = case.target_options.get("unit")
    return unit_for(chip(chip_of(case.target)), case.problem.dtype, None if asked is None else str(asked))


def _execution(build: "CpuBuild", folder: Path) -> dict[str, Any]:
    """Return an artifact's fields on what runs its code here; write what a model of tiles needs for it."""
    from harness.targets.cpu.tile_model import MODEL_FILE, modelled, why_not_modelled

    if build.chip.runs_here:
        return {"executor": "native", "loader": "harness.targets.cpu.executable:load"}
    reason = why_not_modelled(build.chip)
    if reason is not None:
        return {"executor": "none", "loader": "", "why_not_run": reason}
    (folder / MODEL_FILE).write_bytes(modelled(build.llvm_ir))
    return {"executor": "emulator", "loader": "harness.targets.cpu.tile_model:load"}


def _chosen_unit(case: Case, build: "CpuBuild") -> dict[str, ParameterValue]:
    """Return what was chosen to multiply numbers of 16 bits, and why it does not multiply some."""
    is_asked = case.target_options.get("unit") is not None
    if build.unit is None or (is_asked and not build.refusals):
        return {}
    of_others = [f"fma: {reason}" for reason in dict.fromkeys(build.refusals)]
    return {"unit": "; ".join([*build.units, *of_others])}


def _rows_lie_far_apart(problem: AttentionProblem) -> bool:
    """Whether caches hold few rows of a head of long packed sequences: tiles are better read less often.

    Of short sequences a larger tile of queries would hold several, and see the keys of all.
    """
    if not problem.is_packed or problem.q_shape[0] < LONG_SEQUENCE * problem.batch:
        return False
    return problem.kv_heads * problem.head_dim * itemsize(problem.dtype) >= FAR_BYTES
