"""Lower bounds: how long each part of a multiprocessor is busy with one iteration of one workgroup."""

from collections.abc import Mapping, Sequence

from harness.codegen.bounds.instruction import ISSUE, L2, SHARED, Instruction
from harness.codegen.bounds.multiprocessor import Multiprocessor

LATENCY = "latency"
"""Bounds a loop in which no part is busy for `BUSY` of the time."""
BUSY = 0.5
"""Share of an iteration's time from which on a part that is busy bounds the loop."""


def pipe_cycles(trace: Sequence[Instruction], warps: int, multiprocessor: Multiprocessor) -> dict[str, float]:
    """Return the cycles by pipe, of all warps of a workgroup, spread evenly over the sub-cores.

    No iteration takes less than the most of these.
    """
    per_sub_core: dict[str, float] = {}
    for instruction in trace:
        if instruction.pipe is not None:
            busy = per_sub_core.get(instruction.pipe, 0.0)
            per_sub_core[instruction.pipe] = busy + instruction.pipe_cycles
    per_sub_core[ISSUE] = float(len(trace))
    cycles = {pipe: busy * warps / multiprocessor.sub_cores for pipe, busy in per_sub_core.items()}
    shared = sum(instruction.shared_bytes for instruction in trace)
    l2 = sum(instruction.l2_bytes for instruction in trace)
    return {
        **cycles,
        SHARED: shared * warps / multiprocessor.shared_bytes_per_cycle,
        L2: l2 * warps / multiprocessor.l2_bytes_per_cycle,
    }


def bounding_pipe(cycles: Mapping[str, float], modelled_cycles: float) -> str:
    """Return the pipe that is busy longest, or `LATENCY` where none is busy enough to be the reason."""
    pipe = max(cycles, key=cycles.__getitem__)
    return pipe if cycles[pipe] >= BUSY * modelled_cycles else LATENCY
