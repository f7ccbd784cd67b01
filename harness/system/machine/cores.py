"""How many threads `threads = "all"` means."""

import os
from pathlib import Path

from harness.system.machine.system import cpu_quota

SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


ALLOTTED = "HARNESS_ALLOTTED_CORES"
"""Variable of a worker's environment: how many cores it may keep busy, where several work at a time."""


def allotted_cores() -> int:
    """Return the number of cores that are this process's share: all, where nobody has said otherwise."""
    share = os.environ.get(ALLOTTED, "")
    available = available_cores()
    return min(available, max(1, int(share))) if share.isdigit() else available


def available_cores(siblings: str = SIBLINGS, quota: float | None = None) -> int:
    """Return the number of physical cores that this process, or its container, may keep busy.

    Hyper-threads of one core count once: they share its floating-point units.
    """
    cores = set()
    for processor in os.sched_getaffinity(0):
        try:
            cores.add(Path(siblings.format(processor)).read_text().strip())
        except OSError:
            cores.add(str(processor))
    limit = cpu_quota() if quota is None else quota
    return len(cores) if limit is None else max(1, min(len(cores), int(limit)))
