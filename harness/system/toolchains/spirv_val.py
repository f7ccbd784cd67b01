"""Khronos's validator of SPIR-V, where it is on the search path."""

import shutil
import tempfile
from pathlib import Path

from harness.system.processes.programs import run_tool

PROGRAM = "spirv-val"
ENVIRONMENT = "spv1.4"
"""The version that LLVM emits, whose rules modules have to keep."""
TIME_LIMIT_S = 30.0


def validate(image: bytes) -> None:
    """Raise `BuildError` with the validator's words for a module that is not valid; do nothing without it."""
    program = shutil.which(PROGRAM)
    if program is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.spv")
        file.write_bytes(image)
        run_tool([program, "--target-env", ENVIRONMENT, str(file)], TIME_LIMIT_S)
