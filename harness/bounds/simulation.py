"""A simulation of one multiprocessor whose warps repeat a loop, in order, as its instructions say.

Each sub-core issues at most one instruction a cycle: of the warps that could, the one that issued last, else
the oldest (greedy-then-oldest).  An instruction is issued when its warp's stall is over, its flags are down,
the groups it waits for have arrived, and its pipe is free.  Shared memory and the second-level cache serve in
order of issue.
"""

import heapq
import itertools
import math
from collections.abc import Sequence

from harness.bounds.instruction import Instruction, Order
from harness.bounds.multiprocessor import Multiprocessor

FLAGS = 8
"""More than any instruction names."""
GROUPS_KEPT = 8
WARM_UP = 2
"""Iterations of each warp that are not counted."""
COUNTED = 6
COOL_DOWN = 1
"""Iterations after those, in which a warp is still in the way of others."""
SHARED_QUEUE = 64.0
"""Cycles of work that may wait for shared memory before nothing more is issued to it; assumed."""
ITERATIONS = WARM_UP + COUNTED + 1 + COOL_DOWN
OFFSETS = (0.13, 0.37)
"""Between the starts of two workgroups, in lengths of an iteration: how they meet changes the result, so several
are averaged."""


def cycles_per_iteration(
    trace: Sequence[Instruction],
    warps: int,
    workgroups: int,
    multiprocessor: Multiprocessor,
) -> float:
    """Return the cycles in which a multiprocessor completes one iteration of one workgroup.

    Args:
        trace: what each warp executes in one iteration.
        warps: of a workgroup.
        workgroups: how many are there at a time; while they run together, `workgroups` iterations take
            `workgroups` times the result.
        multiprocessor: what executes them.
    """
    length = sum(instruction.stall for instruction in trace)
    offsets = [share * length for share in (OFFSETS if workgroups > 1 else OFFSETS[:1])]
    found = [_Simulation(trace, warps, workgroups, multiprocessor, offset).run() for offset in offsets]
    return sum(found) / len(found)


class _Warp:
    """Where a warp is, and what it waits for; all times are in cycles."""

    __slots__ = (
        "copies_end",
        "copy_groups",
        "flags",
        "marks",
        "position",
        "product_groups",
        "ready",
        "sub_core",
        "workgroup",
    )

    def __init__(self, sub_core: int, workgroup: int, start: float) -> None:
        self.sub_core = sub_core
        self.workgroup = workgroup
        self.position = 0
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


class _Simulation:
    """One run from a start with given offsets."""

    def __init__(
        self,
        trace: Sequence[Instruction],
        warps: int,
        workgroups: int,
        multiprocessor: Multiprocessor,
        offset: float,
    ) -> None:
        self.trace = trace
        self.chip = multiprocessor
        self.warps_of_workgroup = warps
        sub_cores = multiprocessor.sub_cores
        self.warps = [
            _Warp((workgroup * warps + warp) % sub_cores, workgroup, workgroup * offset)
            for workgroup in range(workgroups)
            for warp in range(warps)
        ]
        self.pipes: list[dict[str, float]] = [{} for _ in range(sub_cores)]
        """When each pipe of each sub-core takes the next instruction."""
        self.issue = [0.0] * sub_cores
        self.last_issued = [-1] * sub_cores
        self.ended = 0.0
        """When the last warp was done."""
        self.shared_free = 0.0
        self.l2_free = 0.0
        self.at_barrier: list[list[int]] = [[] for _ in range(workgroups)]
        self.queue: list[tuple[float, bool, int]] = []
        """Warps by the earliest time at which they may issue; the one that issued last comes first."""

    def run(self) -> float:
        """Simulate until each warp has done its iterations; return the mean cycles of one of a workgroup."""
        for number, warp in enumerate(self.warps):
            heapq.heappush(self.queue, (warp.ready, True, number))
        while self.queue:
            time, is_other, number = heapq.heappop(self.queue)
            warp = self.warps[number]
            instruction = self.trace[warp.position]
            earliest = self._earliest(warp, instruction)
            is_other_now = self.last_issued[warp.sub_core] != number
            if earliest > time or is_other_now != is_other:
                heapq.heappush(self.queue, (max(earliest, time), is_other_now, number))
                continue
            if warp.position == 0:
                if len(warp.marks) == ITERATIONS:
                    self.ended = time
                    continue
                warp.marks.append(time)
            self._issue(warp, number, instruction, time)
        return self._mean_cycles()

    def _mean_cycles(self) -> float:
        """Return the cycles of one iteration of a workgroup while all warps were there.

        A workgroup begins an iteration with its last warp.  Where some warps were done before others had begun,
        the mean is of all iterations from the first to the last.
        """
        marks = [warp.marks[: WARM_UP + COUNTED + 1] for warp in self.warps]
        if min(of_warp[-1] for of_warp in marks) <= max(of_warp[WARM_UP] for of_warp in marks):
            first = min(of_warp[0] for of_warp in marks)
            return (self.ended - first) / (len(self.at_barrier) * ITERATIONS)
        count = self.warps_of_workgroup
        workgroups = [
            [max(begun) for begun in zip(*marks[first : first + count], strict=True)]
            for first in range(0, len(marks), count)
        ]
        begun = max(of_workgroup[WARM_UP] for of_workgroup in workgroups)
        ended = min(of_workgroup[-1] for of_workgroup in workgroups)
        done = sum(_iterations(of_workgroup, begun, ended) for of_workgroup in workgroups)
        return (ended - begun) / done

    def _earliest(self, warp: _Warp, instruction: Instruction) -> float:
        """Return when a warp that is ready finds its sub-core, the pipe and a queue free."""
        earliest = max(warp.ready, self.issue[warp.sub_core])
        if instruction.shared_bytes:
            earliest = max(earliest, self.shared_free - SHARED_QUEUE)
        if instruction.pipe is None or instruction.is_queued:
            return earliest
        return max(earliest, math.floor(self.pipes[warp.sub_core].get(instruction.pipe, 0.0)))

    def _issue(self, warp: _Warp, number: int, instruction: Instruction, time: float) -> None:
        """Let a warp's instruction take its turns, and put the warp back for its next one."""
        self.issue[warp.sub_core] = time + 1
        self.last_issued[warp.sub_core] = number
        done, read = self._executed(warp, instruction, time)
        if instruction.result_flag is not None:
            warp.flags[instruction.result_flag] = max(warp.flags[instruction.result_flag], done)
        if instruction.operand_flag is not None:
            warp.flags[instruction.operand_flag] = max(warp.flags[instruction.operand_flag], read)
        if instruction.order is Order.COMMIT_COPIES:
            warp.copy_groups = [*warp.copy_groups[1 - GROUPS_KEPT :], warp.copies_end]
        warp.position = (warp.position + 1) % len(self.trace)
        warp.ready = max(time + instruction.stall, self._awaited(warp))
        if instruction.order is Order.BARRIER:
            self._arrive(warp, number, time)
        else:
            heapq.heappush(self.queue, (warp.ready, False, number))

    def _executed(self, warp: _Warp, instruction: Instruction, time: float) -> tuple[float, float]:
        """Occupy pipes and memories; return when the result is there, and when the operands are read."""
        begun = time
        if instruction.pipe is not None:
            pipes = self.pipes[warp.sub_core]
            free = max(pipes.get(instruction.pipe, 0.0), time)
            pipes[instruction.pipe] = free + instruction.pipe_cycles
            if instruction.is_queued:
                begun = pipes[instruction.pipe]
        read = time + self.chip.operand_read_cycles
        if instruction.shared_bytes:
            self.shared_free = max(self.shared_free, time)
            self.shared_free += instruction.shared_bytes / self.chip.shared_bytes_per_cycle
            begun = max(begun, self.shared_free)
            read = max(read, self.shared_free)
        if instruction.l2_bytes:
            self.l2_free = max(self.l2_free, time) + instruction.l2_bytes / self.chip.l2_bytes_per_cycle
            arrived = self.l2_free + self.chip.l2_latency
            if instruction.is_copy:
                warp.copies_end = max(warp.copies_end, arrived)
            else:
                begun = max(begun, arrived)
        if instruction.commits_products:
            warp.product_groups = [
                *warp.product_groups[1 - GROUPS_KEPT :],
                begun + instruction.latency,
            ]
        return begun + instruction.latency, read

    def _awaited(self, warp: _Warp) -> float:
        """Return when all that a warp's next instruction waits for is there."""
        instruction = self.trace[warp.position]
        times = [warp.flags[flag] for flag in instruction.waits]
        if instruction.order is Order.AWAIT_COPIES:
            times += warp.copy_groups[: max(0, len(warp.copy_groups) - instruction.outstanding)]
        elif instruction.order is Order.AWAIT_PRODUCTS:
            times += warp.product_groups[: max(0, len(warp.product_groups) - instruction.outstanding)]
        return max(times, default=0.0)

    def _arrive(self, warp: _Warp, number: int, time: float) -> None:
        """Let a warp wait at the barrier, or all go on if it is the last."""
        waiting = self.at_barrier[warp.workgroup]
        waiting.append(number)
        if len(waiting) < self.warps_of_workgroup:
            return
        for other in waiting:
            released = self.warps[other]
            released.ready = max(released.ready, time + self.chip.barrier_latency)
            heapq.heappush(self.queue, (released.ready, self.last_issued[released.sub_core] != other, other))
        waiting.clear()


def _iterations(marks: Sequence[float], begun: float, ended: float) -> float:
    """Return how many iterations, parts of one included, lie between two times; marks are their beginnings."""
    done = 0.0
    for start, end in itertools.pairwise(marks):
        if end > start:
            done += max(0.0, min(end, ended) - max(start, begun)) / (end - start)
    return done
