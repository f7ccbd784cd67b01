"""What the model says of a kernel's loop: kept with an artifact, columns of a row."""

from collections import Counter
from dataclasses import dataclass

from harness.codegen.bounds.instruction import Instruction
from harness.codegen.bounds.multiprocessor import Multiprocessor
from harness.codegen.bounds.pipe_cycles import bounding_pipe, pipe_cycles
from harness.codegen.bounds.simulation import cycles_per_iteration
from harness.system.errors import HarnessError
from harness.system.numbers import Count, Positive, Share
from harness.system.validation import FrozenModel


class Unmodelled(HarnessError):  # noqa: N818 - an outcome, not an error
    """The model says nothing of this code; the message is the reason."""


class Residency(FrozenModel):
    """What decides how many workgroups a multiprocessor holds at a time."""

    registers: Count
    """Of a thread."""
    shared_bytes: Count
    """Of a workgroup."""
    limits: dict[str, Count]
    """Workgroups that each resource is enough for."""

    @property
    def workgroups(self) -> int:
        """Those that all resources are enough for."""
        return min(self.limits.values())


class LoopModel(FrozenModel):
    """What bounds a kernel in the steady state of its loop.  All of it is modelled, nothing is measured."""

    kernel: str
    lanes: Count
    """Of a warp."""
    warps: Count
    """Of a workgroup."""
    residency: Residency
    cycles: Positive
    """Simulated cycles in which a multiprocessor completes one iteration of one workgroup."""
    fraction_of_peak: Share
    """Cycles that the loop's matrix products take at the chip's dense peak, over `cycles`."""
    grid_fraction_of_peak: Share | None = None
    """The same of a whole call whose workgroups all do equal work: a small grid fills no chip."""
    bound: str
    """The part of the multiprocessor that is busy longest, or `latency`."""
    pipe_cycles: dict[str, float]
    """How long each part is busy with one iteration of one workgroup."""
    instructions: dict[str, Count]
    """Instructions of a warp in one iteration, by class."""
    scores: Positive | None = None
    """Scores that a workgroup computes in one iteration; None where that is not known."""
    shared_bytes_per_mma: float | None = None
    """Bytes that warps read from shared memory for one matrix instruction, on average."""
    peak_flops_per_cycle: Positive | None = None
    """FLOPs, as `Metrics.flops_executed` counts them, that the whole chip does in a cycle of its clock at the
    dense peak of the loop's matrix products."""

    def per_score(self, count: float) -> float | None:
        """Return how many instructions of lanes there are for each score, of so many of a warp."""
        return None if self.scores is None else count * self.warps * self.lanes / self.scores

    def columns(self) -> dict[str, float | str]:
        """Return the columns `model.*` of a row by the name behind the point; what is not known has none."""
        every = sum(self.instructions.values())
        cells: dict[str, float | str | None] = {
            "fraction_of_peak": self.fraction_of_peak,
            "grid_fraction_of_peak": self.grid_fraction_of_peak,
            "bound": self.bound,
            "workgroups": float(self.residency.workgroups),
            "cycles": self.cycles,
            "scores": self.scores,
            "shared_bytes_per_mma": self.shared_bytes_per_mma,
            "peak_flops_per_cycle": self.peak_flops_per_cycle,
            **{f"{pipe}_cycles": cycles for pipe, cycles in self.pipe_cycles.items()},
            "instructions_per_score": self.per_score(every),
            **{f"{name}_per_score": self.per_score(count) for name, count in self.instructions.items()},
        }
        return {name: value for name, value in cells.items() if value is not None}


@dataclass(frozen=True)
class KernelLoop:
    """A kernel's loop, and how the kernel is launched."""

    kernel: str
    trace: tuple[Instruction, ...]
    """What a warp executes in one iteration, in order."""
    classes: tuple[str, ...]
    """The class that each of these instructions is counted in."""
    warps: int
    """Of a workgroup."""
    residency: Residency
    grid: int | None = None
    """How many workgroups a call has, where that is known."""
    multiply_adds_per_score: float | None = None
    """Of matrix products, by which scores are counted; None where it is not known."""
    flops_per_score: float | None = None
    """What each score counts as, however many products it is made of."""


def model_loop(loop: KernelLoop, multiprocessor: Multiprocessor) -> LoopModel:
    """Return what a multiprocessor that executes the loop is busy with.

    Raises:
        Unmodelled: there is no room for a workgroup.
    """
    residency = loop.residency
    if residency.workgroups == 0:
        least = min(residency.limits, key=residency.limits.__getitem__)
        raise Unmodelled(f"{loop.kernel}: a multiprocessor has not enough {least} for one workgroup")
    busy = pipe_cycles(loop.trace, loop.warps, multiprocessor)
    cycles = cycles_per_iteration(loop.trace, loop.warps, residency.workgroups, multiprocessor)
    products = [instruction for instruction in loop.trace if instruction.multiply_adds]
    operand_bytes = sum(instruction.operand_bytes for instruction in loop.trace)
    return LoopModel(
        kernel=loop.kernel,
        lanes=multiprocessor.lanes,
        warps=loop.warps,
        residency=residency,
        cycles=cycles,
        fraction_of_peak=min(1.0, _peak_cycles(loop, multiprocessor) / cycles),
        grid_fraction_of_peak=_of_grid(loop, multiprocessor, cycles),
        bound=bounding_pipe(busy, cycles),
        pipe_cycles=busy,
        instructions=dict(Counter(loop.classes)),
        scores=_scores(loop),
        shared_bytes_per_mma=operand_bytes / len(products) if products else None,
        peak_flops_per_cycle=_peak_flops_per_cycle(loop, multiprocessor),
    )


def _peak_cycles(loop: KernelLoop, multiprocessor: Multiprocessor) -> float:
    of_warp = sum(instruction.peak_cycles for instruction in loop.trace)
    return of_warp * loop.warps / multiprocessor.sub_cores


def _scores(loop: KernelLoop) -> float | None:
    multiply_adds = loop.warps * sum(instruction.multiply_adds for instruction in loop.trace)
    if not (multiply_adds and loop.multiply_adds_per_score):
        return None
    return multiply_adds / loop.multiply_adds_per_score


def _peak_flops_per_cycle(loop: KernelLoop, multiprocessor: Multiprocessor) -> float | None:
    scores, peak_cycles = _scores(loop), _peak_cycles(loop, multiprocessor)
    if scores is None or loop.flops_per_score is None or not peak_cycles:
        return None
    return multiprocessor.count * scores * loop.flops_per_score / peak_cycles


def _of_grid(loop: KernelLoop, multiprocessor: Multiprocessor, cycles: float) -> float | None:
    """Return the fraction of the whole chip's peak until the busiest multiprocessor is done."""
    if loop.grid is None:
        return None
    most = -(-loop.grid // multiprocessor.count)
    if most < loop.residency.workgroups:
        cycles = cycles_per_iteration(loop.trace, loop.warps, most, multiprocessor)
    filled = loop.grid / (multiprocessor.count * most)
    return min(1.0, _peak_cycles(loop, multiprocessor) / cycles * filled)
