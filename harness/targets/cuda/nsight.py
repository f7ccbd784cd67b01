"""Hardware counters of a case, read by NVIDIA's Nsight Compute (`ncu`).

Counters are of what the model of a main loop predicts (`harness.codegen.bounds`): how busy each part of a
multiprocessor is, instructions, conflicts in shared memory, traffic.  Nothing here was seen on a device yet.

Source: Nsight Compute CLI and Profiling Guide, "Metrics Reference".
"""

import csv
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.system.errors import UnsupportedError
from harness.system.processes.programs import run_program

PROGRAM = "ncu"
MISSING = "install NVIDIA's Nsight Compute (ncu)"

DURATION = "gpu__time_duration.sum"
"""Weighs the shares of several kernels.  Kernels are run again and again here: it is no time of theirs."""

SHARES: Mapping[str, tuple[str, ...]] = {
    "matrix_busy": (
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    ),
    "special_busy": ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",),
    "float_busy": ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",),
    "integer_busy": ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active",),
    "shared_busy": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active",),
    "issue_busy": ("smsp__issue_active.avg.pct_of_peak_sustained_active",),
    "warps_active": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
}
"""Shares of a part's cycles, in percent, each by the names that generations of chips have for it."""

SUMS: Mapping[str, tuple[str, ...]] = {
    "instructions": ("smsp__inst_executed.sum",),
    "bank_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
    "memory_read_bytes": ("dram__bytes_read.sum",),
    "memory_written_bytes": ("dram__bytes_write.sum",),
    "local_loads": ("smsp__inst_executed_op_local_ld.sum",),
}
"""What all kernels of a call have together."""


def why_missing() -> str | None:
    """Return what to install, or None where `ncu` is on the search path."""
    return MISSING if shutil.which(PROGRAM) is None else None


def counters(folder: Path, timeout_s: float) -> dict[str, float]:
    """Return the counters of one call of an artifact, by the names of `SHARES` and `SUMS`.

    Shares are from 0 to 1.  Raises `UnsupportedError` where `ncu` refuses, with its words, and what
    `run_program` raises.
    """
    done = run_program(command(folder), timeout_s)
    kernels = list(kernels_of(done.stdout))
    if done.returncode != 0 or not kernels:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise UnsupportedError(f"{PROGRAM}: {(said or ['it counted nothing'])[0].strip('= ')}")
    return together(kernels)


def command(folder: Path) -> list[str]:
    """Return the command line that counts one call of an artifact, after a first one.

    The clock stays as it is: `ncu` would set it to its base by itself.
    """
    metrics = [name for names in (*SHARES.values(), *SUMS.values()) for name in names]
    return [
        *(PROGRAM, "--csv", "--page", "raw", "--print-units", "base"),
        *("--clock-control", "none", "--profile-from-start", "off"),
        *("--metrics", ",".join([DURATION, *metrics])),
        *(sys.executable, "-m", "harness.targets.cuda.device.counted_call", str(folder)),
    ]


def kernels_of(output: str) -> Iterable[Mapping[str, float]]:
    """Yield the metrics of each kernel in what `ncu` prints; those that are not known there are left out."""
    lines = [line for line in output.splitlines() if line.startswith('"')]
    for row in csv.DictReader(lines):
        values = {name: _number(text) for name, text in row.items() if name is not None and "__" in name}
        numbers = {name: value for name, value in values.items() if value is not None}
        if numbers:  # the line below the names has units
            yield numbers


def together(kernels: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the counters of a call of several kernels: sums, and shares weighed by how long each takes."""
    each = [_by_own_names(kernel) for kernel in kernels]
    weights = [kernel.get(DURATION, 1.0) for kernel in each]
    totals: dict[str, float] = {}
    for name in SUMS:
        if all(name in kernel for kernel in each):
            totals[name] = sum(kernel[name] for kernel in each)
    for name in SHARES:
        if all(name in kernel for kernel in each) and sum(weights) > 0:
            weighed = sum(kernel[name] * weight for kernel, weight in zip(each, weights, strict=True))
            totals[name] = weighed / sum(weights) / 100
    return totals


def _by_own_names(kernel: Mapping[str, float]) -> dict[str, float]:
    own = {DURATION: kernel[DURATION]} if DURATION in kernel else {}
    for name, spellings in {**SHARES, **SUMS}.items():
        value = next((kernel[spelling] for spelling in spellings if spelling in kernel), None)
        if value is not None:
            own[name] = value
    return own


def _number(text: str | None) -> float | None:
    """Return a number as `ncu` prints it, `1,234.5`; None for a unit, or for `n/a`."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None
