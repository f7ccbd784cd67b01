"""Code with AMX's tiles on a processor without them: linked with functions in place of these instructions.

All other code is compiled for this processor from the same LLVM IR.  What it computes is checked, and no time
of it says anything.
"""

import ctypes
import re
from pathlib import Path

import llvmlite.binding as llvm

from harness.artifact.artifact import Artifact
from harness.emulator.native_library import MISSING, compiler, library
from harness.targets.cpu.chip import Chip, chip
from harness.targets.cpu.executable import NativeExecutable
from harness.targets.cpu.launch import Launch
from harness.targets.cpu.object_code import emit_object

MODEL_FILE = "modelled.o"
"""Machine code in the artifact's folder for a processor without tiles."""

INTRINSIC = re.compile(r"@llvm\.x86\.(t[a-z0-9]+)\.internal\b")
TILE = re.compile(r"\bx86_amx\b")
FUNCTIONS = ("harness_tilezero", "harness_tileloadd64", "harness_tilestored64", "harness_tdpbf16ps")


def why_not_modelled(target: Chip) -> str | None:
    """Return None, or why this machine does not run code for a chip, not even with functions for tiles."""
    lacks = target.features - chip("host").features
    others = sorted(feature for feature in lacks if not feature.startswith("amx-"))
    if others:
        return f"this processor lacks {', '.join(others)}"
    return f"for the emulator: {MISSING}" if compiler() is None else None


def is_modelled(name: str | None) -> bool:
    """Whether this machine runs code for a chip with functions for tiles only."""
    target = chip(name)
    return not target.runs_here and why_not_modelled(target) is None


def modelled(llvm_ir: str) -> bytes:
    """Return machine code for this processor, which calls functions for instructions on tiles."""
    text = TILE.sub("ptr", INTRINSIC.sub(r"@harness_\1", llvm_ir))
    return emit_object(text, chip("host"), provided=FUNCTIONS).object_file


def load(artifact: Artifact, folder: Path) -> NativeExecutable:
    """Load an artifact's code for a processor without tiles into this process."""
    for name in FUNCTIONS:
        address = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)
    launch = Launch.model_validate(artifact.launch)
    return NativeExecutable(artifact.case.problem, launch, folder / MODEL_FILE)
