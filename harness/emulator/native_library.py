"""The emulator's C code, compiled once and kept in the cache: runtime and models, and the stub drivers."""

import ctypes
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from harness.artifact.cache import compiled_libraries
from harness.system.errors import BuildError, UnsupportedError
from harness.system.processes.programs import run_program

SOURCES = Path(__file__).parent
RUNTIME, MODELS, DRIVERS = (SOURCES / name for name in ("runtime", "models", "drivers"))

FLAGS = ("-std=gnu11", "-O2", "-march=x86-64-v3", "-fPIC", "-shared", "-fno-math-errno", "-ffp-contract=off")

TIME_LIMIT_S = 120.0

ONE_AT_A_TIME = threading.RLock()
"""Held by the thread that works with the library, for as long as its calls belong together.

The library has one launch, one table of buffers and one list of images for all that this process emulates.
Single calls of it wait for one another by themselves.
"""

MISSING = "install a C compiler (cc) or the package ziglang, which brings one"


def compiler() -> list[str] | None:
    """Return the command of a C compiler: `$CC`, the system's, or the one in the package ziglang."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-P", "-m", "ziglang", "cc"]
    return None


def library_file() -> Path:
    """Return the compiled library of runtime and models.

    Raises `UnsupportedError` without a C compiler and `BuildError` with the compiler's first error.
    """
    sources = sorted(file for folder in (RUNTIME, MODELS) for file in folder.rglob("*.c"))
    return _compiled("runtime", sources, ["-lm"])


@functools.cache
def library() -> ctypes.CDLL:
    """Return the library, loaded into this process."""
    return ctypes.CDLL(str(library_file()), mode=ctypes.RTLD_LOCAL)


def driver_file(driver: str, name: str) -> Path:
    """Return the compiled stub of a driver, which the dynamic linker knows by a name once it is loaded.

    It is linked to the library that this process has loaded, whatever the cache's folder is by now: with a
    copy of its own it would know no kernels.  Raises what `library_file` raises.
    """
    runtime = library()._name
    sources = [DRIVERS / "device.c", DRIVERS / f"{driver}.c"]
    return _compiled(driver, sources, ["-fvisibility=hidden", runtime, f"-Wl,-soname,{name}"])


def _compiled(name: str, sources: Sequence[Path], arguments: Sequence[str]) -> Path:
    """Return a shared library from the cache, compiling it if it is not there; arguments follow the files."""
    command = compiler()
    if command is None:
        raise UnsupportedError(MISSING)
    libraries = compiled_libraries()
    key = f"{name}-{_digest(command, sources, arguments)}"

    def compile_into(folder: Path) -> None:
        built = folder / f"{name}.so"
        full = [*command, *FLAGS, f"-I{RUNTIME}", *map(str, sources), *arguments, "-o", str(built)]
        try:
            done = run_program(full, TIME_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise BuildError(
                f"the emulator's {name}: compiling takes longer than {TIME_LIMIT_S:g} s"
            ) from error
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise BuildError(f"the emulator's {name} does not compile: {(errors or [done.stderr])[0]}")

    folder = libraries.find(key) or libraries.store(key, compile_into)
    return folder / f"{name}.so"


def _digest(command: list[str], sources: Sequence[Path], arguments: Sequence[str]) -> str:
    """Return what a compiled library depends on, as a short hash: sources, all headers, compiler, flags."""
    version = run_program([*command, "--version"], TIME_LIMIT_S).stdout
    digest = hashlib.sha256("\0".join([version, *FLAGS, *arguments]).encode())
    for file in [*sources, *sorted(SOURCES.rglob("*.h"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]
