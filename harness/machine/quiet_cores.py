"""The processors on which candidates are compared: those that others leave alone.

Cores differ for milliseconds at a time: by what else runs on them, by a neighbour on the same physical core,
by their clock.  Candidates that wander between cores are compared with what their cores did; on one core they
share it.
"""

import os
import time

import psutil

WINDOW_S = 0.05
"""How long processors are watched: the kernel counts their time in hundredths of a second."""

AS_QUIET_S = 0.02
"""Processors whose busy time differs by no more are equally quiet."""


def quiet_cores(window_s: float = WINDOW_S) -> list[int]:
    """Return the processors of this process that are the quietest while this waits.

    Call it while nothing of one's own runs.
    """
    allowed = sorted(os.sched_getaffinity(0))
    before = _busy_seconds()
    time.sleep(window_s)
    after = _busy_seconds()
    busy = {processor: after[processor] - before[processor] for processor in allowed if processor in after}
    least = min(busy.values(), default=0.0)
    return [processor for processor in busy if busy[processor] <= least + AS_QUIET_S] or allowed


def _busy_seconds() -> dict[int, float]:
    """Return the seconds that each processor has been busy."""
    busy = {}
    for processor, times in enumerate(psutil.cpu_times(percpu=True)):
        seconds = times._asdict()
        idle = seconds["idle"] + seconds.get("iowait", 0.0)
        busy[processor] = sum(value for name, value in seconds.items() if not name.startswith("guest")) - idle
    return busy
