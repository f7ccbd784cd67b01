"""NVIDIA's assembler, where it is installed: only it knows registers, spills and the size of machine code."""

import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.targets.gpu.kernel_figures import KernelFigures

PACKAGE = "nvidia-cuda-nvcc"

ENTRY = re.compile(r"Compiling entry function '([^']+)'")
USED_REGISTERS = re.compile(r"Used (\d+) registers")
SPILL_STORES = re.compile(r"(\d+) bytes spill stores")
REGISTER_BYTES = 4
TIME_LIMIT_S = 60.0


@dataclass(frozen=True)
class Assembled:
    """PTX as machine code."""

    cubin: bytes
    kernels: list[KernelFigures]


@functools.cache
def assembler() -> str | None:
    """Return the path of ptxas: on the search path, or in NVIDIA's package."""
    on_path = shutil.which("ptxas")
    if on_path is not None:
        return on_path
    spec = importlib.util.find_spec("nvidia")
    folders = map(Path, spec.submodule_search_locations or []) if spec is not None else ()
    return next((str(path) for folder in folders for path in sorted(folder.glob("*/bin/ptxas"))), None)


@functools.cache
def version() -> str | None:
    """Return the version of ptxas as it states it, `V13.0.88`, or None without one."""
    program = assembler()
    if program is None:
        return None
    stated = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\bV\d+(?:\.\d+)+", stated)
    return found[0] if found else "unknown"


def assemble(ptx: bytes, chip: str, other: Path | None = None) -> Assembled | None:
    """Assemble PTX for a chip; None where there is no ptxas, or it does not know the chip or the PTX.

    `other` is a ptxas to use instead of the installed one.
    """
    program = str(other) if other is not None else assembler()
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_bytes(ptx)
        command = [program, "--verbose", f"--gpu-name={chip}", f"--output-file={cubin}", str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        return Assembled(cubin.read_bytes(), kernel_figures(done.stderr))


def kernel_figures(report: str) -> list[KernelFigures]:
    """Return the registers and spills of each kernel that ptxas reports on."""
    registers = map(int, USED_REGISTERS.findall(report))
    spilled = map(int, SPILL_STORES.findall(report))
    names = ENTRY.findall(report)
    return [
        KernelFigures(name=name, registers=used, spills=stored // REGISTER_BYTES)
        for name, used, stored in zip(names, registers, spilled, strict=True)
    ]
