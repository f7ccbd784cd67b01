"""Hardware counters of a case, read by NVIDIA's Nsight Compute (`ncu`).

Counters are of what the model of a main loop predicts (`harness.codegen.bounds`): how busy each part of a
multiprocessor is, instructions, conflicts in shared memory, traffic.  Nothing here was seen on a device yet.

Source: Nsight Compute CLI and Profiling Guide, "Metrics Reference".
"""

import io
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from harness.problem.case import Case
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


def counters(case: Case, folder: Path, timeout_s: float) -> dict[str, float]:
    """Return the counters of one call of a case's artifact, by the names of `SHARES` and `SUMS`.

    Shares are from 0 to 1.  Raises `UnsupportedError` where `ncu` refuses, with its words, and what
    `run_program` raises.
    """
    with tempfile.TemporaryDirectory() as scratch:
        case_file = Path(scratch) / "case.json"
        case_file.write_text(case.model_dump_json(), encoding="utf-8")
        done = run_program(command(case_file, folder), timeout_s)
    counted = counters_of(done.stdout)
    if done.returncode != 0 or not counted:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise UnsupportedError(f"{PROGRAM}: {(said or ['it counted nothing'])[0].strip('= ')}")
    return counted


def command(case_file: Path, folder: Path) -> list[str]:
    """Return the command line that counts one call of a case's artifact, after a first one.

    The clock stays as it is: `ncu` would set it to its base by itself.
    """
    metrics = [name for names in (*SHARES.values(), *SUMS.values()) for name in names]
    return [
        *(PROGRAM, "--csv", "--page", "raw", "--print-units", "base"),
        *("--clock-control", "none", "--profile-from-start", "off"),
        *("--metrics", ",".join([DURATION, *metrics])),
        *(sys.executable, "-m", "harness.targets.cuda.device.counted_call", str(case_file), str(folder)),
    ]


def counters_of(printed: str) -> dict[str, float]:
    """Return the counters of a call of several kernels: sums, and shares weighed by how long each takes.

    A counter that is not known of one of them, `n/a`, is not known of the call.
    """
    lines = [line for line in printed.splitlines() if line.startswith('"')]
    if not lines:
        return {}
    units = 1  # the line below the names
    kernels = pd.read_csv(io.StringIO("\n".join(lines)), thousands=",", na_values="n/a", skiprows=[units])
    totals: dict[str, float] = {}
    for name, spellings in {**SUMS, **SHARES}.items():
        values = kernels.reindex(columns=list(spellings)).bfill(axis="columns").iloc[:, 0]
        if values.notna().all():
            weights = kernels[DURATION] / kernels[DURATION].sum()
            totals[name] = float(values.sum() if name in SUMS else np.dot(values, weights) / 100)
    return totals
