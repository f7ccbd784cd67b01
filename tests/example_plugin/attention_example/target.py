"""The target `numpy`: this machine, driven through NumPy."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import PositiveInt

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.targets.base import Capability, Target, TargetOptions, TileSizes


class NumpyOptions(TargetOptions):
    """Options of the target `numpy`."""

    threads: PositiveInt = 1
    """Threads of the linear algebra library."""
    peak_size: PositiveInt | None = None
    """Rows of the matrices whose product is the peak; 256, unless it is set."""


class NumpyTarget(Target):
    """Runs on the CPU by calling NumPy; nothing is compiled."""

    name = "numpy"
    summary = "this machine through NumPy"
    options = NumpyOptions
    stages = ("source",)

    def chips(self) -> dict[str, str]:
        """Return no chips: NumPy hides them."""
        return {}

    def capabilities(self) -> list[Capability]:
        """Return that everything is possible wherever NumPy is."""
        detail = f"NumPy {np.__version__}"
        return [Capability(action=action, available=True, detail=detail) for action in ("build", "run")]

    def device(self, chip: str | None) -> str:
        """Return a name for the machine that NumPy runs on."""
        return f"NumPy {np.__version__}"

    def peak_flops(self, chip: str | None, unit: str, options: TargetOptions) -> float | None:
        """Return the speed of a matrix product, which attention is compared with."""
        size = getattr(options, "peak_size", None) or 256
        a = np.ones((size, size), np.float32)
        a @ a
        start = time.perf_counter()
        a @ a
        return 2 * size**3 / (time.perf_counter() - start)

    def tile_sizes(self, chip: str | None, problem: AttentionProblem) -> TileSizes:
        """Return tile sizes for variants that generate kernels, though this target compiles none."""
        return TileSizes(query=16, key=64)

    def compile(self, module: Any, case: Case, key: str, folder: Path, *, flops_executed: int) -> Artifact:
        """Refuse generated kernels: on this target a variant brings its own code."""
        raise UnsupportedError("target numpy compiles no kernels; expected a variant such as numpy-attention")
