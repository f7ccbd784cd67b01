"""Baselines whose code a library holds: a build keeps what calls it, and nothing is compiled here.

The library is an optional extra: without it its variants are unsupported, and nothing else changes.
"""

import importlib.util
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from harness.artifact.artifact import Artifact, StaticMetrics
from harness.plugins import chip_of, name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.capacity import of_capacity
from harness.problem.case import Case
from harness.variants.base import Variant

CHIPS = ("", "host")
"""Chips of the CPU target: a library chooses its instruction set itself."""


class LibraryVariant(Variant):
    """Attention by a library's own operation."""

    is_baseline = True
    library: ClassVar[str]
    """What the library is called."""
    extra: ClassVar[str]
    """The optional dependencies that have it."""
    targets: ClassVar[tuple[str, ...]] = ("cpu",)
    calls: ClassVar[Path]
    """The file of the module that calls the library: a build's source."""
    loader: ClassVar[str]
    """The function of that module that loads an artifact for the CPU, as `package.module:function`."""

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why the library cannot compute this problem; does not import the library."""
        name, chip = name_of(target), chip_of(target) or ""
        if name not in self.targets:
            several = "s" if len(self.targets) > 1 else ""
            return f"{self.library} runs on the target{several} {', '.join(self.targets)} here, not on {name}"
        if name == "cpu" and chip not in CHIPS:
            return f"{self.library} chooses its instruction set itself, {chip} cannot be asked for; use cpu"
        if any(importlib.util.find_spec(package) is None for package in self.packages):
            return f"install attention-harness[{self.extra}]"
        return self.refuses(problem)

    @abstractmethod
    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return the reason particular to this baseline, or None."""

    def metrics(self, problem: AttentionProblem) -> StaticMetrics:
        """Return what is known without running."""
        return StaticMetrics()

    def of_capacity(self, case: Case) -> Case:
        """Return the case for all of its capacity: calls are made of the lengths that they are given."""
        return case.model_copy(update={"problem": of_capacity(case.problem)})

    def source(self, case: Case) -> str:
        """Return the code that makes the calls; the problem's masks and sizes are in the case."""
        return self.calls.read_text(encoding="utf-8")

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Keep the calls; the library holds the code."""
        (folder / self.calls.name).write_text(self.source(case), encoding="utf-8")
        return Artifact(
            case=case,
            key=key,
            metrics=self.metrics(case.problem),
            stage_seconds={"source": 0.0},
            stage_files={"source": self.calls.name},
            **self.run_by(case),
        )

    def run_by(self, case: Case) -> dict[str, Any]:
        """Return an artifact's fields on what runs it: on the CPU, with the target's number of threads."""
        return {
            "executor": "native",
            "loader": self.loader,
            "launch": {"threads": case.target_options.get("threads", 1)},
        }
