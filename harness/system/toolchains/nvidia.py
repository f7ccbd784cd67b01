"""NVIDIA's programs: on the search path, or in NVIDIA's packages (extra `cuda`)."""

import functools
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from harness.system.processes.programs import run_program

TIME_LIMIT_S = 30.0
INSTALL = "attention-harness[cuda]"


@functools.cache
def program(name: str) -> str | None:
    """Return the path of a program, or None where it is not installed."""
    on_path = shutil.which(name)
    if on_path is not None:
        return on_path
    spec = importlib.util.find_spec("nvidia")
    folders = map(Path, spec.submodule_search_locations or []) if spec is not None else ()
    return next((str(path) for folder in folders for path in sorted(folder.glob(f"*/bin/{name}"))), None)


def no_reader(name: str) -> str:
    """Return why nothing is known of machine code without a program."""
    return f"no {name}, which the model reads machine code with: install {INSTALL}"


@functools.cache
def version(name: str) -> str | None:
    """Return a program's version as it states it, `V13.0.88`, or None without the program."""
    path = program(name)
    if path is None:
        return None
    try:
        stated = run_program([path, "--version"], TIME_LIMIT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    version_match = re.search(r"\bV\d+(?:\.\d+)+", stated)
    return version_match[0] if version_match else "unknown"
