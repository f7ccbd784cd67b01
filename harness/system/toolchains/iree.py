"""IREE's programs: where they are, how they are run, and what they say when they refuse.

They are run instead of importing `iree.compiler`: its bindings and those of upstream MLIR bring libraries of
the same name, and only one of them can be loaded into a process.  And their aborts are errors here, and no
crashes.
"""

import importlib.util
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from harness.system.errors import BuildError, UnsupportedError
from harness.system.processes.programs import first_error, run_program

MISSING = "install iree-base-compiler and iree-base-runtime"

DEFAULT_TIMEOUT_S = 60.0
"""Compilations that take minutes end in kernels of thousands of spills, which is no comparison."""


def installed() -> bool:
    """Return whether IREE's compiler is there, without importing it."""
    return importlib.util.find_spec("iree") is not None and (
        importlib.util.find_spec("iree.compiler") is not None
    )


def tools_folder() -> Path:
    """Return the folder of iree-compile, iree-opt and iree-lld in the installed package."""
    return package_folder("iree.compiler", MISSING) / "_mlir_libs"


def package_folder(package: str, missing: str) -> Path:
    """Return the folder of a package that is not imported; raises `UnsupportedError` where it is missing."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UnsupportedError(missing)
    return Path(spec.submodule_search_locations[0])


class IreeTools:
    """IREE's programs with one time limit for all that a build runs, from when this is made."""

    def __init__(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s

    def run(self, program: str, arguments: Sequence[str | Path]) -> None:
        """Run `iree-compile` or `iree-opt`; raises `BuildError`, `UnsupportedError` when the time is up."""
        tools = tools_folder()
        command = [str(tools / program), *map(str, arguments)]
        if program == "iree-compile":
            command.append(f"--iree-llvmcpu-embedded-linker-path={tools / 'iree-lld'}")
        left = max(0.0, self._deadline - time.monotonic())
        try:
            done = run_program(command, left)
        except subprocess.TimeoutExpired as error:
            raise UnsupportedError(f"{program} took longer than {self._timeout_s:g} s") from error
        if done.returncode != 0:
            raise BuildError(f"{program}: {first_error(done.stderr, done.returncode)}")
