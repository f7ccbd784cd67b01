"""A simulation of one multiprocessor whose warps repeat a loop, in order, as its instructions say.

Its sub-cores are alike, so one of them is simulated, with its share of the warps, of shared memory and of the
second-level cache.  It issues at most one instruction a cycle: of the warps that could first, the one that
issued last, else the oldest (greedy-then-oldest).  An instruction is issued when its warp's stall is over,
its flags are down, the groups it waits for have arrived, and its pipe is free.  Memories serve in order of
issue.
"""

import itertools
import math
from collections.abc import Sequence

from harness.codegen.bounds.instruction import Instruction, Order
from harness.codegen.bounds.multiprocessor import Multiprocessor

FLAGS = 8
"""More than any instruction names."""
GROUPS_KEPT = 8
WARM_UP = 2
"""Iterations of each warp that are not counted."""
COUNTED = 4
"""Iterations of each warp that are counted."""
COOL_DOWN = 1
"""Iterations after those, in which a warp is still in the way of others."""
ITERATIONS = WARM_UP + COUNTED + 1 + COOL_DOWN
SHARED_QUEUE = 64.0
"""Cycles of work that may wait for shared memory before nothing more is issued to it; assumed."""
OFFSETS = (0.13, 0.37, 0.61)
"""Between the starts of two workgroups, in lengths of an iteration: how they meet changes the result, so
several are averaged."""


def cycles_per_iteration(
    trace: Sequence[Instruction], warps: int, workgroups: int, multiprocessor: Multiprocessor
) -> float:
    """Return the cycles in which a multiprocessor completes one iteration of one workgroup.

    Args:
        trace: what each warp executes in one iteration.
        warps: of a workgroup.
        workgroups: how many are there at a time; while they run together, `workgroups` iterations take
            `workgroups` times the result.
        multiprocessor: what executes them.
    """
    used = min(multiprocessor.sub_cores, warps * workgroups)
    warps_here = -(-warps // multiprocessor.sub_cores)
    workgroups_here = workgroups if warps >= used else -(-warps * workgroups // used)
    length = sum(instruction.stall for instruction in trace)
    offsets = [share * length for share in (OFFSETS if workgroups_here > 1 else OFFSETS[:1])]
    cycles = [
        _SubCore(trace, warps_here, workgroups_here, multiprocessor, used).run(offset) for offset in offsets
    ]
    return sum(cycles) / len(cycles) * workgroups_here / workgroups


class _Step:
    """An instruction of the loop, with what the simulation asks of it in each of thousands of turns."""

    __slots__ = ("following", "instruction", "is_first", "needs_pipe", "needs_shared", "occupies", "waits")

    def __init__(self, instruction: Instruction, pipes: dict[str, int], is_first: bool) -> None:
        self.instruction = instruction
        self.is_first = is_first
        self.following = self
        """What comes after it, of the last one the first."""
        self.occupies = -1 if instruction.pipe is None else pipes.setdefault(instruction.pipe, len(pipes))
        """The number of its pipe; negative: none."""
        self.needs_pipe = -1 if instruction.is_queued else self.occupies
        """The number of the pipe that has to be free before."""
        self.needs_shared = instruction.shared_bytes > 0
        self.waits = bool(instruction.waits) or instruction.order in (
            Order.AWAIT_COPIES,
            Order.AWAIT_PRODUCTS,
        )
        """Whether it waits for more than its turn."""


def _steps(trace: Sequence[Instruction], pipes: dict[str, int]) -> _Step:
    steps = [_Step(instruction, pipes, number == 0) for number, instruction in enumerate(trace)]
    for step, following in zip(steps, [*steps[1:], steps[0]], strict=True):
        step.following = following
    return steps[0]


class _Warp:
    """Where a warp is, and what it waits for; all times are in cycles."""

    __slots__ = (
        "copies_end",
        "copy_groups",
        "flags",
        "marks",
        "product_groups",
        "ready",
        "step",
        "workgroup",
    )

    def __init__(self, workgroup: int, start: float, first: _Step) -> None:
        self.workgroup = workgroup
        self.step = first
        """What it executes next."""
        self.ready = start
        """When it could issue its next instruction if nobody else were there."""
        self.flags = [0.0] * FLAGS
        """When each goes down."""
        self.copies_end = 0.0
        """When the copies that are in no group yet have arrived."""
        self.copy_groups: list[float] = []
        self.product_groups: list[float] = []
        self.marks: list[float] = []
        """When it began each iteration."""


class _SubCore:
    """A sub-core with the warps that it holds."""

    def __init__(
        self,
        trace: Sequence[Instruction],
        warps: int,
        workgroups: int,
        multiprocessor: Multiprocessor,
        sharers: int,
    ) -> None:
        """Prepare a run; `sharers` sub-cores divide the memories among themselves."""
        pipes: dict[str, int] = {}
        self.first = _steps(trace, pipes)
        self.warps_of_workgroup, self.workgroups = warps, workgroups
        self.chip = multiprocessor
        self.shared_rate = multiprocessor.shared_bytes_per_cycle / sharers
        self.l2_rate = multiprocessor.l2_bytes_per_cycle / sharers
        self.pipes = [0.0] * len(pipes)
        """When each pipe takes the next instruction."""
        self.issue = 0.0
        self.shared_free = 0.0
        self.l2_free = 0.0
        self.at_barrier: list[list[_Warp]] = [[] for _ in range(workgroups)]

    def run(self, offset: float) -> float:
        """Simulate until each warp has done its iterations; return the mean cycles of one of a workgroup."""
        every = [
            _Warp(number, number * offset, self.first)
            for number in range(self.workgroups)
            for _ in range(self.warps_of_workgroup)
        ]
        running, last = list(every), every[0]
        time = 0.0
        while running:
            time, warp = self._next(running, last)
            if warp.step.is_first:
                if len(warp.marks) == ITERATIONS:
                    running.remove(warp)
                    continue
                warp.marks.append(time)
            self._issue(warp, time)
            last = warp
        return self._mean_cycles([warp.marks for warp in every], time)

    def _next(self, running: list[_Warp], last: _Warp) -> tuple[float, _Warp]:
        """Return which warp is the next to find the sub-core, its pipe and a queue free, and when."""
        time, chosen = math.inf, last
        pipes, issue, queue_free = self.pipes, self.issue, self.shared_free - SHARED_QUEUE
        for warp in running:
            step, earliest = warp.step, warp.ready
            if earliest < issue:
                earliest = issue
            if step.needs_shared and earliest < queue_free:
                earliest = queue_free
            if step.needs_pipe >= 0 and earliest < (free := pipes[step.needs_pipe] // 1):
                earliest = free
            if earliest < time or (earliest == time and warp is last):
                time, chosen = earliest, warp
        return time, chosen

    def _mean_cycles(self, marks: list[list[float]], end: float) -> float:
        """Return the cycles of one iteration of a workgroup while all were there.

        A workgroup begins an iteration with its last warp.  Where one was nearly done before another had
        warmed up, iterations count from the first on; where it was done before another began, all of them do.
        """
        count = self.warps_of_workgroup
        workgroups = [
            [max(times) for times in zip(*marks[first : first + count], strict=True)]
            for first in range(0, len(marks), count)
        ]
        ended = min(of_warp[WARM_UP + COUNTED] for of_warp in marks)
        for first in (WARM_UP, 0):
            begun = max(of_workgroup[first] for of_workgroup in workgroups)
            if ended > begun:
                done = sum(_iterations(times, begun, ended) for times in workgroups)
                return (ended - begun) / done
        return (end - min(of_warp[0] for of_warp in marks)) / (self.workgroups * ITERATIONS)

    def _issue(self, warp: _Warp, time: float) -> None:
        """Let a warp's instruction take its turns, and find out when the next one is ready."""
        step = warp.step
        instruction = step.instruction
        self.issue = time + 1
        done, read = self._executed(warp, step, time)
        flags, raised = warp.flags, instruction.result_flag
        if raised is not None and flags[raised] < done:
            flags[raised] = done
        raised = instruction.operand_flag
        if raised is not None and flags[raised] < read:
            flags[raised] = read
        if instruction.order is Order.COMMIT_COPIES:
            warp.copy_groups = [*warp.copy_groups[1 - GROUPS_KEPT :], warp.copies_end]
        warp.step = step.following
        warp.ready = time + instruction.stall
        if warp.step.waits:
            warp.ready = max(warp.ready, self._awaited(warp))
        if instruction.order is Order.BARRIER:
            self._arrive(warp, time)

    def _executed(self, warp: _Warp, step: _Step, time: float) -> tuple[float, float]:
        """Occupy pipes and memories; return when the result is there, and when the operands are read."""
        instruction = step.instruction
        begun, read = time, time + self.chip.operand_read_cycles
        if step.occupies >= 0:
            free = max(self.pipes[step.occupies], time) + instruction.pipe_cycles
            self.pipes[step.occupies] = free
            if instruction.is_queued:
                begun = free
        if step.needs_shared:
            self.shared_free = max(self.shared_free, time) + instruction.shared_bytes / self.shared_rate
            begun, read = max(begun, self.shared_free), max(read, self.shared_free)
        if instruction.l2_bytes:
            self.l2_free = max(self.l2_free, time) + instruction.l2_bytes / self.l2_rate
            arrived = self.l2_free + self.chip.l2_latency
            if instruction.is_copy:
                warp.copies_end = max(warp.copies_end, arrived)
            else:
                begun = max(begun, arrived)
        done = begun + instruction.latency
        if instruction.commits_products:
            warp.product_groups = [*warp.product_groups[1 - GROUPS_KEPT :], done]
        return done, read

    def _awaited(self, warp: _Warp) -> float:
        instruction = warp.step.instruction
        latest = 0.0
        for flag in instruction.waits:
            latest = max(latest, warp.flags[flag])
        if instruction.order is Order.AWAIT_COPIES:
            return max(latest, _arrived(warp.copy_groups, instruction.outstanding))
        if instruction.order is Order.AWAIT_PRODUCTS:
            return max(latest, _arrived(warp.product_groups, instruction.outstanding))
        return latest

    def _arrive(self, warp: _Warp, time: float) -> None:
        waiting = self.at_barrier[warp.workgroup]
        waiting.append(warp)
        if len(waiting) < self.warps_of_workgroup:
            warp.ready = math.inf
            return
        for released in waiting:
            released.ready = max(self._awaited(released), time + self.chip.barrier_latency)
        waiting.clear()


def _arrived(groups: list[float], outstanding: int) -> float:
    return max(groups[: max(0, len(groups) - outstanding)], default=0.0)


def _iterations(marks: Sequence[float], begun: float, ended: float) -> float:
    """Return how many iterations, parts included, lie between two times; marks are their beginnings."""
    done = 0.0
    for start, end in itertools.pairwise(marks):
        if end > start:
            done += max(0.0, min(end, ended) - max(start, begun)) / (end - start)
    return done
