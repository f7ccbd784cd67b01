"""harness: a research benchmark harness for attention code generation.

One attention problem, built through competing ways of generating code, checked against one oracle and
timed.  `harness.attention`, `harness.build` and `harness.run` are the Python interface, and `harness.load`,
`harness.tidy` and `harness.draw` for results.  They are imported when first used, so that `import harness`
stays cheap.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import BuiltArtifact, attention, build, draw, load, run, tidy
    from harness.artifact.artifact import Artifact
    from harness.artifact.bound_call import Executable
    from harness.problem.attention_problem import AttentionProblem
    from harness.system.errors import BuildError, HarnessError, InputError, UnsupportedError

__all__ = [
    "Artifact",
    "AttentionProblem",
    "BuildError",
    "BuiltArtifact",
    "Executable",
    "HarnessError",
    "InputError",
    "UnsupportedError",
    "attention",
    "build",
    "draw",
    "load",
    "run",
    "tidy",
]

try:
    IMPORTED_IN: str | None = os.getcwd()
except OSError:
    IMPORTED_IN = None
"""The folder that this process was in when it imported this package; None where that had been deleted."""

_HOMES = {
    "Artifact": "harness.artifact.artifact",
    "AttentionProblem": "harness.problem.attention_problem",
    "BuildError": "harness.system.errors",
    "Executable": "harness.artifact.artifact",
    "HarnessError": "harness.system.errors",
    "InputError": "harness.system.errors",
    "UnsupportedError": "harness.system.errors",
}
"""Where names are that can be had without all of `harness.api`, which has the others."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES.get(name, "harness.api")), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
