"""On which processors a process runs."""

import contextlib
import os
from pathlib import Path

THREADS = Path("/proc/self/task")


def keep_on(processor: int) -> None:
    """Let all threads of this process, and those that they start from now on, run on one processor only."""
    threads = [int(thread.name) for thread in THREADS.iterdir()] if THREADS.is_dir() else [0]
    for thread in threads:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(thread, {processor})
