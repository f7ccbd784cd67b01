"""The threads of a process and of all that it has started."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

PROC = Path("/proc")


def tasks_of(pid: int) -> Iterator[int]:
    """Yield the ids of the threads of a process and of those below it, the main ones first."""
    pids = [pid]
    with contextlib.suppress(psutil.Error):
        pids += [child.pid for child in psutil.Process(pid).children(recursive=True)]
    yield from pids
    for one in pids:
        with contextlib.suppress(OSError):  # it has ended, or the system has no such folder
            threads = (int(task.name) for task in (PROC / str(one) / "task").iterdir())
            yield from (thread for thread in threads if thread != one)
