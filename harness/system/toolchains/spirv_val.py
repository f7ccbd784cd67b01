"""Khronos's validator of SPIR-V, where it is on the search path."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from harness.system.errors import BuildError
from harness.system.processes.programs import run_program

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
        try:
            done = run_program([program, "--target-env", ENVIRONMENT, str(file)], TIME_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"{PROGRAM} took longer than {TIME_LIMIT_S:g} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise BuildError(f"{PROGRAM}: {said[0]}")
