"""NVIDIA's assembler, where it is installed: only it knows registers, spills and the size of machine code."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.targets.cuda.nvdisasm import machine_instructions
from harness.targets.cuda.nvidia_tools import program
from harness.targets.gpu.kernel_figures import KernelFigures

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
    instructions: dict[str, int] | None = None
    """Machine instructions by class (`harness.targets.cuda.nvdisasm`); None where nothing counts them."""


def assemble(ptx: bytes, chip: str, other: Path | None = None) -> Assembled | None:
    """Assemble PTX for a chip; None where there is no ptxas, or it does not know the chip or the PTX.

    `other` is a ptxas to use instead of the installed one.
    """
    assembler = str(other) if other is not None else program("ptxas")
    if assembler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_bytes(ptx)
        command = [assembler, "--verbose", f"--gpu-name={chip}", f"--output-file={cubin}", str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        code = cubin.read_bytes()
    return Assembled(code, kernel_figures(done.stderr), machine_instructions(code))


def kernel_figures(report: str) -> list[KernelFigures]:
    """Return the registers and spills of each kernel that ptxas reports on."""
    registers = map(int, USED_REGISTERS.findall(report))
    spilled = map(int, SPILL_STORES.findall(report))
    names = ENTRY.findall(report)
    return [
        KernelFigures(name=name, registers=used, spills=stored // REGISTER_BYTES)
        for name, used, stored in zip(names, registers, spilled, strict=True)
    ]
