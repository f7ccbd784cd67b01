"""The IREE baselines: `iree` (its attention op) and `iree-unfused` (three linalg ops).

IREE chooses tiles, layouts and vectorization itself, where parameters do not say otherwise.  On GPUs the
attention op computes whole rows of its output in one workgroup, which IREE can but does not choose.
"""

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from harness.artifact.artifact import Artifact, StaticMetrics
from harness.emulator import ARTIFACT_FOLDER
from harness.problem.attention_problem import AttentionProblem
from harness.problem.capacity import of_capacity
from harness.problem.case import Case
from harness.system.errors import BuildError, UnsupportedError
from harness.system.numbers import LONGEST_TIMEOUT_S
from harness.system.toolchains.iree import DEFAULT_TIMEOUT_S, MISSING, IreeTools, installed
from harness.targets.base import Stage
from harness.variants.base import Parameters, Variant
from harness.variants.baselines.iree import payload as iree_payload
from harness.variants.baselines.iree.compilation import MODULE_FILE, STAGES, Compilation, Image
from harness.variants.baselines.iree.executor import gpu_execution
from harness.variants.baselines.iree.targets import IreeTarget, iree_target
from harness.variants.baselines.iree.tiling import (
    PROCESSOR_TILES,
    Configuration,
    IreeTiles,
    configuration,
    processor_script,
)
from harness.variants.baselines.masks import lacks

WIDEST_WHOLE_HEAD = 128
"""On the CPU IREE's own choice cuts wider heads into tiles, and takes the softmax of partial scores.

The op that it tiles, `online_attention`, cannot be tiled along this dimension (iree-org/iree#17681), but
since iree-org/iree#23304 static heads of more than 128 are.  Tiles that are set leave it whole.
"""


class IreeParameters(Parameters):
    """Parameters of everything that IREE compiles."""

    compile_timeout_s: float | None = Field(default=None, gt=0, le=LONGEST_TIMEOUT_S)
    """Seconds after which a compilation counts as refused; 60 if not set."""


class IreeVariant(Variant):
    """What all that IREE compiles has in common."""

    is_baseline = True
    packages = ("iree-base-compiler", "iree-base-runtime")
    parameters: ClassVar[type[IreeParameters]] = IreeParameters
    stages: ClassVar[tuple[Stage, ...]] = STAGES

    @abstractmethod
    def payload(self, problem: AttentionProblem) -> str:
        """Return the MLIR text that IREE compiles."""

    @abstractmethod
    def operands(self, problem: AttentionProblem) -> list[str]:
        """Return the names of the payload's operands in order."""

    def lower(self, case: Case, compilation: Compilation) -> None:
        """Lower the module to where it is not IREE's choice any more; here, everything is IREE's choice."""
        return

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why this form cannot be built for the target."""
        if not installed():
            return MISSING
        if iree_target(target) is None:
            return f"IREE compiles for cpu, cpu:avx2, cuda and rocm here, not for {target}"
        if problem.queries_without_keys():
            return "IREE gives NaN for a query that sees no key"
        return lacks(problem, "cu_seqlens_q", "model_width", "sinks", "log_sum_exp")

    def of_capacity(self, case: Case) -> Case:
        """Return the case for all of its capacity, itself where its lengths are why it is not supported."""
        if case.problem.queries_without_keys():
            return case
        return case.model_copy(update={"problem": of_capacity(case.problem)})

    def source(self, case: Case) -> str:
        """Return the MLIR text and the compiler's flags."""
        target = _target(case)
        return f"// iree-compile {' '.join(target.flags)}\n{target.module(self.payload(case.problem))}"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Compile with iree-compile.

        On the CPU, where every problem is expected to compile, raises `BuildError` with IREE's first error.
        On a GPU such a refusal is what was to be found out: the artifact has it, and the stages before.
        Raises `UnsupportedError` when compilation takes too long.
        """
        target = _target(case)
        timeout_s = self._parameters(case).compile_timeout_s or DEFAULT_TIMEOUT_S
        compilation = Compilation(folder, target, IreeTools(timeout_s))
        compilation.start(self.source(case))
        try:
            self.lower(case, compilation)
            images = compilation.finish()
        except BuildError as error:
            if target.driver is None:
                raise
            refused = {"executor": "none", "loader": "", "refusal": str(error)}
            return self._artifact(case, key, compilation, **refused)
        if target.driver is None:
            execution: dict[str, Any] = {
                "executor": "native",
                "loader": "harness.variants.baselines.iree.calls:load",
            }
        else:
            execution = gpu_execution(case, compilation, images)
        return self._artifact(case, key, compilation, metrics=_metrics(compilation, images), **execution)

    def _parameters(self, case: Case) -> IreeParameters:
        return self.parameters.model_validate(case.params)

    def _artifact(self, case: Case, key: str, compilation: Compilation, **artifact_fields: Any) -> Artifact:
        return Artifact(
            case=case,
            key=key,
            chosen=compilation.chosen,
            stage_seconds=compilation.stage_seconds,
            stage_files=compilation.stage_files,
            launch={
                "module": MODULE_FILE,
                "function": iree_payload.ENTRY,
                "operands": self.operands(case.problem),
                **_launch(case, compilation.target),
            },
            **artifact_fields,
        )


class IreeAttentionParameters(IreeParameters, IreeTiles):
    """Parameters of IREE's attention op."""


class Iree(IreeVariant):
    """IREE's attention op, which it tiles and vectorizes as online attention."""

    name = "iree"
    summary = "IREE's attention op, with its own tiles, but whole rows of the output, if not set otherwise"
    parameters: ClassVar[type[IreeAttentionParameters]] = IreeAttentionParameters

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why IREE's attention op cannot be built, or would be wrong, for the target."""
        reason = super().supports(problem, target)
        is_too_wide = problem.head_dim > WIDEST_WHOLE_HEAD and is_single(problem)
        if reason is None and target.partition(":")[0] == "cpu" and is_too_wide:
            return (
                f"head_dim {problem.head_dim}: on the CPU IREE's attention op is wrong for more than "
                f"{WIDEST_WHOLE_HEAD} with a single query or key"
            )
        return reason

    def payload(self, problem: AttentionProblem) -> str:
        """Return the attention op."""
        return iree_payload.attention_op(problem)

    def operands(self, problem: AttentionProblem) -> list[str]:
        """Return the attention op's operands."""
        return iree_payload.attention_op_operands(problem)

    def lower(self, case: Case, compilation: Compilation) -> None:
        """Put tiles that parameters set, and whole rows of the output, in the place of IREE's own."""
        tiles = self.parameters.model_validate(case.params)
        compilation.advance("configured")
        if compilation.target.driver is None:
            if is_single(case.problem) and not tiles.names_set:
                return
            chosen = processor_tiles(tiles, case.problem)
            compilation.chosen = chosen.model_dump(exclude=tiles.model_fields_set, exclude_none=True)
            compilation.transform("tuned", processor_script(compilation.text("configured"), chosen))
            return
        try:
            theirs = configuration(compilation.text("configured"))
        except BuildError:
            if tiles.names_set:
                raise
            return
        configured = best_known(theirs, tiles, case.problem)
        compilation.chosen = configured.left_open(tiles)
        if configured != theirs:
            compilation.transform("tuned", configured.tuning_script())


def is_single(problem: AttentionProblem) -> bool:
    """Return whether there is one query or key, whose dimension IREE drops: its op has no such tiles then."""
    return 1 in (problem.seq_q, problem.seq_kv)


def processor_tiles(tiles: IreeTiles, problem: AttentionProblem) -> IreeTiles:
    """Return all tiles for a processor, the best known where parameters leave them open.

    Raises `UnsupportedError` for what only GPUs have.
    """
    on_gpus = [name for name in ("subgroups", "intrinsic") if getattr(tiles, name) is not None]
    if on_gpus:
        raise UnsupportedError(f"{', '.join(on_gpus)}: on GPUs only")
    width = max(problem.head_dim, problem.head_dim_v)
    queries, keys = next(best for widest, best in PROCESSOR_TILES.items() if width <= widest)
    return IreeTiles(
        tile_q=min(tiles.tile_q or queries, problem.seq_q),
        tile_kv=min(tiles.tile_kv or keys, problem.seq_kv),
        tile_v=min(tiles.tile_v or problem.head_dim_v, problem.head_dim_v),
    )


def best_known(theirs: Configuration, tiles: IreeTiles, problem: AttentionProblem) -> Configuration:
    """Return IREE's choice with what is set, and with whole rows of the output where `tile_v` is not."""
    chosen = theirs if tiles.tile_v is not None else theirs.with_whole_rows(problem.head_dim_v)
    return chosen.changed(tiles)


class IreeUnfused(IreeVariant):
    """Matmul, softmax and matmul as separate IREE dispatches, with the score matrix in memory."""

    name = "iree-unfused"
    summary = "matmul, softmax, matmul compiled by IREE, score matrix in memory"
    stages = tuple(stage for stage in STAGES if stage.name != "tuned")

    def payload(self, problem: AttentionProblem) -> str:
        """Return the three linalg ops."""
        return iree_payload.unfused(problem)

    def operands(self, problem: AttentionProblem) -> list[str]:
        """Return the operands of the three ops."""
        return iree_payload.unfused_operands(problem)


def _target(case: Case) -> IreeTarget:
    target = iree_target(case.target)
    if target is None:
        raise UnsupportedError(f"IREE does not compile for {case.target} here")
    return target


def _metrics(compilation: Compilation, images: list[Image]) -> StaticMetrics:
    from harness.variants.baselines.iree.metrics import cuda_metrics, processor_figures, rocm_figures

    target = compilation.target
    if target.driver is None:
        return processor_figures(images)
    if target.driver == "cuda":
        return cuda_metrics(images, compilation.text("llvm"), target.chip)
    return rocm_figures(images)


def _launch(case: Case, target: IreeTarget) -> dict[str, Any]:
    """Return what the loader needs for a target besides the module."""
    if target.driver is None:
        return {"threads": case.target_options.get("threads", 1)}
    return {"driver": target.driver, "chip": target.chip, "emulator": ARTIFACT_FOLDER}
