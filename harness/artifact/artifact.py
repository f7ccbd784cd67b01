"""What a build leaves behind, and how it is run."""

import importlib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from harness.artifact.bound_call import Executable
from harness.artifact.ranks import RanksExecutable
from harness.artifact.wrapped import PaddedExecutable, PagedExecutable
from harness.codegen.bounds.loop_model import LoopModel
from harness.plugins import require
from harness.problem.case import Case, ParameterValue
from harness.problem.padding import padded_problem
from harness.problem.ranks import problem_of_rank
from harness.system.errors import HarnessError
from harness.system.numbers import Count, Duration, Share
from harness.system.storage.digests import DIGESTS_FILE, difference
from harness.system.validation import FrozenModel

ARTIFACT_FILE = "artifact.json"

ExecutorName = Literal["native", "device", "emulator", "opencl", "none"]

EMULATING: dict[str, str] = {"emulator": "the emulator", "opencl": "OpenCL on the processor"}
"""Executors that stand in for a device, in words: they check its code, and measure nothing."""


class Loader(FrozenModel):
    """One way to run an artifact's code."""

    executor: ExecutorName
    function: str
    """`package.module:function` that turns (artifact, folder) into an `Executable`."""
    packages: tuple[str, ...] = ()
    """The optional packages that the function needs, by the names that they are imported by."""
    distributions: tuple[str, ...] = ()
    """Those of which nothing is imported, by the names that they are installed by."""
    install: str | None = None


class StaticMetrics(FrozenModel):
    """What is known of a build without running it; None is "not known for this kind of artifact"."""

    registers: Count | None = None
    """Registers of a thread (vector registers of a lane, on AMD), the most of all kernels."""
    spills: Count | None = None
    """Spilled registers of a thread, all kernels together."""
    accumulator_registers: Count | None = None
    """Of `registers`, those that only accumulators and spilled values have, where a chip has such."""
    scalar_registers: Count | None = None
    """Registers that the threads of a warp share, the most of all kernels, where a chip has such."""
    scratch_bytes: Count | None = None
    """Memory of its own that a thread has beside registers, the most of all kernels, where it is stated."""
    shared_bytes: Count | None = None
    """Memory that a workgroup shares, the most of all kernels."""
    workgroup_size: Count | None = None
    """Threads of a workgroup, the most of all kernels."""
    bank_conflicts: Count | None = None
    """Extra passes of the accesses to shared memory that stand in the code, each counted once."""
    narrow_loads: Count | None = None
    """Loads of less than 4 bytes that loops make from global memory for products, all kernels together."""
    occupancy: Share | None = None
    """Share of a multiprocessor's warps that it has room for, the least of all kernels."""
    intrinsics: str | None = None
    """Matrix instructions in the device code, joined with commas; `none` where it has none."""
    instructions: dict[str, Count] = Field(default={})
    """Machine instructions in the code by class, all kernels together; empty where they are not known."""
    model: LoopModel | None = None
    """What bounds the kernel that multiplies matrices, in a model; nothing in it is measured."""
    code_bytes: Count | None = None
    workspace_bytes: Count | None = None
    flops_executed: Count | None = None
    """Matrix-product operations that the generated code executes, recomputation and hidden pairs included."""


class Candidate(FrozenModel):
    """Other code for the same case: a device takes the fastest, see `harness.artifact.candidates`."""

    folder: str
    """Where its files lie in the artifact's folder."""
    metrics: StaticMetrics
    chosen: dict[str, ParameterValue]
    launch: dict[str, Any]


class Artifact(FrozenModel):
    """A built case: a folder of files (binary, IR of every stage) described by its `artifact.json`."""

    case: Case
    key: str
    """Content key: source IR, parameters, tool versions, code of this package, device."""
    executor: ExecutorName
    loader: str
    """`package.module:function` that turns (artifact, folder) into an `Executable`."""
    loaders: tuple[Loader, ...] = ()
    """All ways to run it, the preferred ones first, where the machine that runs it decides; see
    `harness.targets.executors`."""
    metrics: StaticMetrics = StaticMetrics()
    stage_seconds: dict[str, Duration] = Field(default={})
    stage_files: dict[str, str] = Field(default={})
    """File in the folder that holds each stage's output."""
    chosen: dict[str, ParameterValue] = Field(default={})
    """Values of parameters that the case leaves open, as they were chosen."""
    ranks: Annotated[int, Field(gt=0)] = 1
    """Ranks that execute the code, each on its share of the case's heads, see `harness.problem.ranks`."""
    page_size: Annotated[int, Field(gt=0)] | None = None
    """Tokens of the pages that it finds keys and values in, see `harness.problem.pages`; None: of none."""
    is_padded: bool = False
    """Whether it computes packed sequences as a padded batch, see `harness.problem.padding`."""
    launch: dict[str, Any] = Field(default={})
    """What the loader needs: entry points, grid, workspace."""
    candidates: tuple[Candidate, ...] = ()
    """Other code that a device can choose; what these fields say is of the code that is taken without one."""
    code_folder: str = ""
    why_not_run: str | None = None
    refusal: str | None = None
    """What a toolchain said when it refused to go on: there are stages, but no code, and the case counts as
    unsupported."""

    @property
    def build_seconds(self) -> float:
        """Build time, all stages together."""
        return sum(self.stage_seconds.values())

    def with_candidate(self, number: int) -> Self:
        """Return the artifact as it is with one of its candidates, from 1 on; 0 stands for its own code."""
        if number == 0:
            return self
        taken = self.candidates[number - 1]
        changes = {"metrics": taken.metrics, "chosen": self.chosen | taken.chosen, "launch": taken.launch}
        return self.model_copy(update={**changes, "code_folder": taken.folder, "candidates": ()})

    def of_case(self, case: Case) -> Self:
        """Return it as what was built for a case of its capacity, see `Variant.of_capacity`."""
        return self.model_copy(update={"case": case})

    def load(self, folder: Path) -> Executable:
        """Load the artifact's code into this process; raises `HarnessError` where files have changed."""
        self.require_unchanged(folder)
        return self.load_unchanged(folder)

    def require_unchanged(self, folder: Path) -> None:
        """Raise `HarnessError` when files in the folder have changed since they were stored there."""
        changed = difference(folder) if (folder / DIGESTS_FILE).exists() else None
        if changed is not None:
            raise HarnessError(f"{folder}: {changed}: build it again")

    def load_unchanged(self, folder: Path) -> Executable:
        """Load the code of files that `require_unchanged` has looked at."""
        folder = folder / self.code_folder
        module, _, function = self.loader.partition(":")
        load, problem = getattr(importlib.import_module(module), function), self.case.problem
        if self.ranks > 1:
            share = self.case.model_copy(update={"problem": problem_of_rank(problem, self.ranks)})
            return RanksExecutable(load(self.model_copy(update={"case": share}), folder), problem, self.ranks)
        if self.is_padded:
            batch = self.case.model_copy(update={"problem": padded_problem(problem)})
            return PaddedExecutable(load(self.model_copy(update={"case": batch}), folder), problem)
        executable: Executable = load(self, folder)
        require(self.case.variant, f"loader {self.loader}", executable, Executable)
        return executable if self.page_size is None else PagedExecutable(executable, problem, self.page_size)
