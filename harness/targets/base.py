"""What a target is: a machine that code is generated for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import ConfigDict, NonNegativeInt, PositiveInt

from harness.artifact import stage_names
from harness.artifact.artifact import Artifact
from harness.codegen.bounds.loop_model import Unmodelled
from harness.plugins import chip_of as chip_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import UnsupportedError
from harness.system.validation import FrozenModel

if TYPE_CHECKING:
    from mlir import ir

    from harness.codegen.bounds.listing import LoopListing
    from harness.codegen.bounds.part_times import PartTimes


GridOrder = Literal["longest-first", "row-major"]
"""How the points of a grid are numbered: those with the longest loops first, or the last axis fastest."""


class TargetOptions(FrozenModel):
    """A target's options, set in an experiment under `[target.NAME]`; a list is an axis of the sweep."""


@dataclass(frozen=True)
class Stage:
    """A named stage of a build, as `harness list stages` prints it."""

    name: str
    summary: str
    run: Callable[[Any], str | None] | None = None
    """Does the stage's work on what its pipeline hands on, and returns the output as text, or None where this
    machine lacks what the stage needs.  A stage without it is only told of."""
    suffix: str = "mlir"
    """Of the file that keeps the output."""


OBJECT = Stage(stage_names.OBJECT, "what the device loads: a file of the build")


class Capability(FrozenModel):
    """One row of `harness doctor`: can this machine build, run or emulate for a target, and if not why."""

    action: str
    """`build`, `run`, `emulate`, or `metrics`: what is known of code without running it; or an executor."""
    available: bool
    detail: str
    """What makes it possible, or what to install or connect."""


@dataclass(frozen=True)
class TileSizes:
    """Tile sizes that a target prefers or a parameter sets, in elements."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(revalidate_instances="always")

    query: PositiveInt
    key: PositiveInt
    query_multiple: PositiveInt = 1
    """Tiles of fewer queries than `query` are padded to a multiple of this."""
    least_keys: PositiveInt = 1
    """Fewer keys are padded to so many."""
    width_multiple: PositiveInt = 1
    """Columns of Q, K and V are padded to a multiple of this."""
    materializes_score_rows: bool = True
    """Whether a kernel may hold whole rows of scores in memory; else it makes them tile by tile."""
    workgroup_bytes: NonNegativeInt = 0
    """Memory that a workgroup has for what its kernel keeps from one loop to the next, and for tiles."""
    joins_groups: bool = False
    """Whether few queries of heads that share one of K and V become rows of one tile."""
    follows_lengths: bool = False
    """Whether kernels of packed sequences touch no more tokens than there are, and take smaller arrays than
    they are built for; else the target's executables fill these up."""
    probability_shift: int = 0
    """The power of two that probabilities are multiplied by before a product takes them."""
    maximum_slack: NonNegativeInt = 0
    """The power of two that exponentials may reach before running maxima move, and all is rescaled."""


class Target(ABC):
    """A named machine kind, found through the entry points `harness.targets`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[type[TargetOptions]] = TargetOptions
    stages: ClassVar[tuple[str | Stage, ...]] = ()
    """The pipeline's stages in order, by name or with a summary."""
    other_routes: ClassVar[Mapping[str, Sequence[Stage]]] = MappingProxyType({})
    """Stages of builds that options lead another way, by the option as `--set` takes it."""
    grid_order: ClassVar[GridOrder | None] = None
    """How the points of a grid are numbered where a parameter leaves it open; None: as the loops are."""
    sources: ClassVar[tuple[str, ...]] = ()
    """As `Variant.sources`."""

    @abstractmethod
    def chips(self) -> dict[str, str]:
        """Return each chip name that may follow the target's name (`cpu:avx2`) and what it means."""

    @abstractmethod
    def capabilities(self) -> list[Capability]:
        """Return what can be done for this target on this machine."""

    @abstractmethod
    def device(self, chip: str | None) -> str:
        """Return the name of the device that runs this target's code here, for keys and tables."""

    def device_of(self, case: Case) -> str:
        """Return the name of the device that a case's code is for here."""
        return self.device(chip_of(case.target))

    def why_no_device(self, chip: str | None) -> str | None:
        """Return None if a device here runs code for a chip, else the reason."""
        return f"the target {self.name} has no devices"

    def tool_versions(self) -> dict[str, str]:
        """Return name and version of what this target uses besides what a variant's build does."""
        return {}

    @abstractmethod
    def peak_flops(self, chip: str | None, unit: str, options: TargetOptions) -> float | None:
        """Return a sample of about a millisecond of a unit's peak in FLOP/s; None if none is measured.

        `unit` is as `peak_unit` has it.
        """

    def bandwidths(self, chip: str | None, options: TargetOptions, number: int) -> Mapping[str, float]:
        """Return short samples of the bandwidths of reading, in bytes/s by level of memory: `L1`, `memory`.

        Levels may take turns with the number of the sample.  Empty where nothing can be measured.
        """
        return {}

    def why_no_counters(self, chip: str | None) -> str | None:
        """Return None where `counters` can be asked for here, else the reason."""
        return f"nothing reads hardware counters of the target {self.name}"

    def counters(self, case: Case, folder: Path, timeout_s: float) -> Mapping[str, float]:
        """Return hardware counters of one call of a case's artifact in a folder, by name, from a profiler.

        Raises `UnsupportedError` where it refuses, `OSError` and `subprocess.TimeoutExpired`.
        """
        return {}

    def peak_unit(self, case: Case, artifact: Artifact | None) -> str:
        """Return the name of the unit that a case's code keeps busy, `fma-f32`: its peak is beside the case.

        The artifact is the case's, where it is there.  By default the problem's type.
        """
        return case.problem.dtype

    @abstractmethod
    def tile_sizes(self, chip: str | None, problem: AttentionProblem) -> TileSizes:
        """Return the tile sizes that suit chip and problem, for what a variant's parameters leave open."""

    def tiles_keys(self, case: Case) -> bool:
        """Return whether `compile` tiles a case's keys itself: it takes kernels with a grid, unmasked."""
        return False

    def sizes_for(self, case: Case) -> TileSizes:
        """Return the tile sizes that suit a case; by its options a target may prefer others.

        Raises `UnsupportedError` for tiles that the target cannot have with these options.
        """
        if case.params.get("warps") is not None:
            raise UnsupportedError(f"warps: chosen on GPUs only, not for {self.name}")
        return self.tile_sizes(chip_of(case.target), case.problem)

    def why_unbuildable(self, case: Case) -> str | None:
        """Return None, or why `compile` cannot take tiles that the case's parameters set.

        As far as that is known before anything is built: what this lets through may be refused there.
        """
        return None

    def numbers_longest_first(self, case: Case) -> bool:
        """Return whether the points of a case's grids with the longest loops come first."""
        return case.params.get("grid_order", self.grid_order) == "longest-first"

    def key_splits(self, chip: str | None, workgroups: int, key_tiles: int) -> int | None:
        """Return in how many parts a tile of queries goes over its key tiles, each part a point of the grid.

        `workgroups` are the points with one part each.  None: in one, without a choice.
        """
        return None

    def why_unsupported(self, chip: str | None, problem: AttentionProblem) -> str | None:
        """Return None, or why `compile` takes no tiled kernels of a problem for this chip."""
        return None

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return the values of options that the case leaves open and this target chooses for it."""
        return {}

    def bounds(self, artifact: Artifact, folder: Path) -> "LoopListing":
        """Return the main loop of an artifact in that folder, with what bounds it in a model.

        Raises `Unmodelled` with the reason where there is no model.
        """
        raise Unmodelled(f"no model of what bounds code for {self.name}")

    def part_times(self, artifact: Artifact, folder: Path, empty: Path) -> "PartTimes":
        """Return where the time of a call of an artifact in a folder goes, by a build with stamps in `empty`.

        Raises `UnsupportedError` with the reason where the target, or the variant, has no such build.
        """
        raise UnsupportedError(f"--time: no stamps in kernels for {self.name}; expected the target cpu")

    @abstractmethod
    def compile(
        self, module: "ir.Module", case: Case, key: str, folder: Path, *, flops_executed: int
    ) -> Artifact:
        """Compile tiled kernels (see `harness.variants.generated`) into the folder.

        The module is consumed.  Its MLIR context must be current.  Raises `BuildError`.
        """
