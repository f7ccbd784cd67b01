"""NVIDIA's assembler, where it is installed: only it knows registers, spills and the size of machine code."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.system.processes.programs import run_program
from harness.system.toolchains.nvidia import program
from harness.targets.cuda.multiprocessor import resident_workgroups
from harness.targets.cuda.nvdisasm import counted, disassembled
from harness.targets.cuda.ptx import with_residents
from harness.targets.gpu.kernel_metrics import KernelMetrics
from harness.targets.gpu.launch import GpuKernel

ENTRY = re.compile(r"Compiling entry function '([^']+)'")
USED_REGISTERS = re.compile(r"Used (\d+) registers")
SPILL_STORES = re.compile(r"(\d+) bytes spill stores")
REGISTER_BYTES = 4
TIME_LIMIT_S = 60.0
"""Seconds for assembling a kernel."""


@dataclass(frozen=True)
class Assembled:
    """PTX as machine code."""

    ptx: bytes
    cubin: bytes
    kernels: list[KernelMetrics]
    disassembly: str | None = None
    """As `harness.targets.cuda.nvdisasm` has it; None where there is no disassembler."""

    @property
    def spills(self) -> int:
        """Registers that are spilled, in all kernels."""
        return sum(kernel.spills or 0 for kernel in self.kernels)

    @property
    def instructions(self) -> dict[str, int] | None:
        """Machine instructions by class; None where nothing counts them."""
        return None if self.disassembly is None else counted(self.disassembly)


def assemble(ptx: bytes, chip: str, kernels: Sequence[GpuKernel] = ()) -> Assembled | None:
    """Assemble PTX for a chip; None where there is no ptxas, or it does not know the chip or the PTX.

    ptxas gives up registers for more workgroups on a multiprocessor, also for such as shared memory has no
    room for, and rather spills.  Of those of `kernels` that spill it is told how many workgroups there are.
    """
    assembler = program("ptxas")
    if assembler is None:
        return None
    assembled = machine_code(assembler, ptx, chip)
    if assembled is None:
        return None
    if assembled.spills and kernels:
        counts = _residents_of_spilling(assembled, kernels, chip)
        with_counts = machine_code(assembler, with_residents(ptx.decode(), counts).encode(), chip)
        if with_counts is not None and with_counts.spills < assembled.spills:
            assembled = with_counts
    return replace(assembled, disassembly=disassembled(assembled.cubin))


def _residents_of_spilling(assembled: Assembled, kernels: Sequence[GpuKernel], chip: str) -> dict[str, int]:
    """Return how many workgroups of each kernel that spills a multiprocessor has room for."""
    spilling = {metrics.name: metrics for metrics in assembled.kernels if metrics.spills}
    counts = {}
    for kernel in kernels:
        if kernel.name in spilling:
            registers = spilling[kernel.name].registers or 1
            counts[kernel.name] = max(
                1, resident_workgroups(kernel.threads, registers, kernel.shared_bytes, chip)
            )
    return counts


def machine_code(assembler: str, ptx: bytes, chip: str) -> Assembled | None:
    """Assemble PTX with one ptxas; None where it does not know the chip or the PTX."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_bytes(ptx)
        command = [assembler, "--verbose", f"--gpu-name={chip}", f"--output-file={cubin}", str(source)]
        try:
            done = run_program(command, TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        return Assembled(ptx, cubin.read_bytes(), kernel_metrics(done.stderr))


def kernel_metrics(report: str) -> list[KernelMetrics]:
    """Return the registers and spills of each kernel that ptxas reports on."""
    registers = map(int, USED_REGISTERS.findall(report))
    spilled = map(int, SPILL_STORES.findall(report))
    names = ENTRY.findall(report)
    return [
        KernelMetrics(name=name, registers=used, spills=stored // REGISTER_BYTES)
        for name, used, stored in zip(names, registers, spilled, strict=True)
    ]
