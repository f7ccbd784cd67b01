"""Where the time of a call goes: a stamped build of an artifact's kernels runs beside the artifact."""

import ctypes
import errno
import functools
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mlir import ir

from harness.artifact.artifact import Artifact
from harness.artifact.reached_stages import reached_stages
from harness.codegen.bounds.part_times import PartTime, PartTimes
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import operations_within
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError
from harness.targets.base import Stage
from harness.targets.cpu.executable import NativeCall, NativeExecutable, load
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.launch import OBJECT_FILE, Launch
from harness.targets.cpu.object_code import compiled_here
from harness.targets.cpu.peak import FMA_F32, measure_peak, relative_peak
from harness.targets.cpu.stages import STAGES, CpuBuild
from harness.targets.cpu.stamps import SLOTS_OF_A_PART, TOTAL, Part, stamp_parts
from harness.targets.lowering.stage_recorder import StageRecorder

BUFFERIZED = "bufferized"
"""The stage whose output is stamped."""
LEAST_S = 0.3
"""Calls of both builds take turns for so long at least."""
LEAST_CALLS = 7
CALIBRATION_S = 0.02
FLOPS_OF_A_MULTIPLY_ADD = 2

TICKS = """
declare i64 @llvm.readcyclecounter()
define i64 @ticks() {
  %now = call i64 @llvm.readcyclecounter()
  ret i64 %now
}
"""

PERF_EVENT_OPEN = {"x86_64": 298}
"""Number of the system call, by machine."""


def measure_parts(
    artifact: Artifact, folder: Path, empty: Path, unit: str, build_of: Callable[[ir.Module], CpuBuild]
) -> PartTimes:
    """Return cycles of the parts of an artifact's kernels in a folder, by one thread on normal inputs.

    The stamped build is made in an empty folder.  Raises `UnsupportedError` for code that is not of this
    pipeline, or does not run here.
    """
    if BUFFERIZED not in artifact.stage_files or artifact.executor != "native":
        raise UnsupportedError(
            "--time: expected a variant whose kernels are generated, and run on this machine"
        )
    text = (folder / artifact.stage_files[BUFFERIZED]).read_text(encoding="utf-8")
    with mlir_context():
        build, parts = stamped_build(build_of(ir.Module.parse(text)), empty)
    inputs = make_inputs(artifact.case.problem, "normal", 0)
    launch = Launch(kernels=build.kernels, threads=1)
    stamped = NativeExecutable(artifact.case.problem, launch, empty / OBJECT_FILE).bind(inputs)
    alone = artifact.model_copy(update={"launch": {**artifact.launch, "threads": 1}})
    plain = load(alone, folder).bind(inputs)
    sums, peaks, overhead = _calls_in_turns(stamped, plain, SLOTS_OF_A_PART * len(parts))
    unit_rate = 1.0 if unit == FMA_F32 else relative_peak(unit)
    per_cycle = statistics.median(peaks) / FLOPS_OF_A_MULTIPLY_ADD / ticks_per_second()
    exponential = operations_of_exponential(build.chip.registers.vector_length)
    wholes = [SLOTS_OF_A_PART * number for number, part in enumerate(parts) if part.name == TOTAL]
    shortest = min(sums, key=lambda own: own[wholes].sum())
    return PartTimes(
        parts=tuple(
            _part_time(part, shortest[SLOTS_OF_A_PART * number :], per_cycle, exponential, unit_rate)
            for number, part in enumerate(parts)
        ),
        calls=len(sums),
        unit=unit,
        unit_rate=unit_rate,
        operations_per_cycle=per_cycle,
        operations_of_an_exponential=exponential,
        overhead=overhead,
        no_counters=why_no_counters() or "",
    )


def stamped_build(build: CpuBuild, folder: Path) -> tuple[CpuBuild, list[Part]]:
    """Return the build of a bufferized module with stamps, whose files are in a folder, and its parts."""
    parts: list[Part] = []

    def stamp(state: CpuBuild) -> str:
        parts.extend(stamp_parts(state.module))
        state.module.operation.verify()
        return str(state.module)

    names = [stage.name for stage in STAGES]
    later = STAGES[names.index(BUFFERIZED) + 1 :]
    stages = (Stage("stamped", "the cycle counter is read between parts", stamp), *later)
    with reached_stages.left_in(None):
        StageRecorder(folder, stages).run_all(stages, build)
    (folder / OBJECT_FILE).write_bytes(build.code.object_file)
    return build, parts


def _calls_in_turns(
    stamped: NativeCall, plain: NativeCall, slots: int
) -> tuple[list[np.ndarray], list[float], float]:
    """Return the sums of each stamped call, the peaks beside them, and what stamps add to a call."""
    sums: list[np.ndarray] = []
    peaks: list[float] = []
    ratios: list[float] = []
    own = stamped.scratch[: 8 * slots].view(np.int64)
    plain.run()
    stamped.run()
    began = time.perf_counter()
    while len(sums) < LEAST_CALLS or time.perf_counter() - began < LEAST_S:
        own[:] = 0
        with_stamps = _seconds_of(stamped.run)
        sums.append(own.copy())
        ratios.append(with_stamps / _seconds_of(plain.run))
        peaks.append(measure_peak(FMA_F32, threads=1))
    return sums, peaks, statistics.median(ratios) - 1


def _seconds_of(run: Callable[[], None]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _part_time(
    part: Part, sums: np.ndarray, per_cycle: float, exponential: float, unit_rate: float
) -> PartTime:
    """Return a part with the sums of its slots, which are the first of these."""
    cycles, executions = sums[:SLOTS_OF_A_PART]
    ideal = None
    if part.work is not None:
        operations = part.work.operations + exponential * part.work.exponentials
        operations += part.work.unit_products / unit_rate
        ideal = float(executions * operations / per_cycle)
    return PartTime(part.kernel, part.name, int(executions), float(cycles), ideal)


@functools.cache
def ticks_per_second() -> float:
    """Return how fast the cycle counter counts, which need not be the processor's clock."""
    ticks = compiled_here(TICKS, "ticks", ctypes.c_int64)
    began, first = time.perf_counter(), ticks()
    time.sleep(CALIBRATION_S)
    return float(ticks() - first) / (time.perf_counter() - began)


@functools.cache
def operations_of_exponential(vector_length: int) -> float:
    """Return how many operations the stage `exponential` makes of one `math.exp2` of a register."""
    text = f"""
      func.func @one(%x: vector<{vector_length}xf32>) -> vector<{vector_length}xf32> {{
        %y = math.exp2 %x : vector<{vector_length}xf32>
        return %y : vector<{vector_length}xf32>
      }}"""
    with mlir_context():
        module = ir.Module.parse(text)
        expand_exponentials(module, vector_length)
        counted = [each for each in operations_within(module.operation) if _takes_a_turn(each)]
    return float(len(counted))


def _takes_a_turn(operation: ir.OpView) -> bool:
    """Whether an operation keeps a vector unit busy: constants, bit casts and the function itself do not."""
    name = operation.operation.name
    return name.partition(".")[0] in ("arith", "math", "llvm") and name not in (
        "arith.constant",
        "arith.bitcast",
    )


def why_no_counters() -> str | None:
    """Return why the kernel gives no hardware counters to this process; None where it does."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None or platform.system() != "Linux":
        return f"no perf_event_open on {platform.system()} {platform.machine()}"
    attributes = (ctypes.c_uint32 * 32)(0, 128)  # hardware cycles, in a struct of 128 bytes
    attributes[10] = 1 << 5 | 1 << 6  # of user code only: neither kernel nor hypervisor
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 0)
    if descriptor >= 0:
        os.close(descriptor)
        return None
    failure = ctypes.get_errno()
    return f"perf_event_open: {errno.errorcode.get(failure, failure)}, {os.strerror(failure)}"
