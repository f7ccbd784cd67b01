"""The memory of this process: how much it had at most, and how much it may have."""

import resource
from pathlib import Path


def reset_peak_bytes() -> None:
    """Let the kernel's high-water mark of resident memory start anew, where it allows that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_bytes() -> int:
    """Return the largest resident memory since the last reset.

    Not `ru_maxrss` where it can be avoided: a new process starts with its parent's.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_memory(gigabytes: float) -> None:
    """Limit this process's data; address space that is only reserved (JITs, CUDA) does not count."""
    limit = int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
