"""The processor on which candidates are compared: one that others leave alone, and that is fast just now.

Cores differ for seconds at a time: by what else runs on them, by a neighbour on the same physical core, by
their clock.  Candidates that wander between cores are compared with what their cores did; on one core they
share it.  A virtual machine does not see its neighbours: on a shared host the same loop took 0.30 ms at one
time and 0.45 ms at another, on each of two cores independently, and codes differed in how they suffered.
"""

import os
import time
from collections.abc import Sequence

import psutil

WINDOW_S = 0.05
"""How long processors are watched: the kernel counts their time in hundredths of a second."""

AS_QUIET_S = 0.02
"""Processors whose busy time differs by no more are equally quiet."""


LOOPS = 3
STEPS_OF_A_LOOP = 20_000
"""Of a loop that does nothing: some tenths of a millisecond."""
MOST_PROBED = 8
"""Processors that are tried before a start, any of those that are quiet."""


def quiet_cores(window_s: float = WINDOW_S) -> list[int]:
    """Return the processors of this process that are the quietest while this waits."""
    allowed = sorted(os.sched_getaffinity(0))
    before = _busy_seconds()
    time.sleep(window_s)
    after = _busy_seconds()
    busy = {processor: after[processor] - before[processor] for processor in allowed if processor in after}
    least = min(busy.values(), default=0.0)
    return [processor for processor in busy if busy[processor] <= least + AS_QUIET_S] or allowed


def fastest_core(processors: Sequence[int]) -> int:
    """Return the one of some processors on which a short loop takes the least time now."""
    allowed = os.sched_getaffinity(0)
    try:
        times = {processor: _seconds_of_loops(processor) for processor in processors}
    finally:
        os.sched_setaffinity(0, allowed)
    return min(times, key=times.__getitem__)


def _seconds_of_loops(processor: int) -> float:
    """Return the seconds of the quickest of some short loops on a processor, where this thread then stays."""
    os.sched_setaffinity(0, {processor})
    times = []
    for _ in range(LOOPS):
        began = time.perf_counter()
        for _ in range(STEPS_OF_A_LOOP):
            pass
        times.append(time.perf_counter() - began)
    return min(times)


def _busy_seconds() -> dict[int, float]:
    busy = {}
    for processor, times in enumerate(psutil.cpu_times(percpu=True)):
        seconds = times._asdict()
        idle = seconds["idle"] + seconds.get("iowait", 0.0)
        busy[processor] = sum(value for name, value in seconds.items() if not name.startswith("guest")) - idle
    return busy
