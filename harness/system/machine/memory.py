"""How much memory processes can still take, and how often the kernel has killed one for want of it."""

import re
from pathlib import Path

import psutil

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
FILES = {
    "memory.events": ("memory.max", "memory.current", "inactive_file"),
    "memory.oom_control": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Of each version of control groups: limit, use, and how much of that is a cache of files."""


def available_bytes(proc: Path = PROC, cgroups: Path = CGROUPS) -> int:
    """Return what the machine has free, or what the control group's limit leaves, if that is less."""
    free = [_left_in(file.parent, *FILES[file.name]) for file in group_files(proc, cgroups)]
    return min([psutil.virtual_memory().available, *(left for left in free if left is not None)])


def _left_in(folder: Path, limit_name: str, use_name: str, cache_name: str) -> int | None:
    try:
        limit = (folder / limit_name).read_text().strip()
        used = int((folder / use_name).read_text())
        cached = re.search(rf"^{cache_name} (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    if not limit.isdecimal():
        return None
    return max(0, int(limit) - used + (int(cached[1]) if cached else 0))


class OutOfMemoryCount:
    """Compares the kernel's count now with that of an earlier moment."""

    def __init__(self) -> None:
        """Remember the count as it is now."""
        self._before = memory_kills()

    def has_grown(self) -> bool:
        """Return whether a process has been killed for memory since; False where nothing is counted."""
        now = memory_kills()
        return now is not None and self._before is not None and now > self._before


def memory_kills(proc: Path = PROC, cgroups: Path = CGROUPS) -> int | None:
    """Return the kills for memory in this process's control group, else in the machine; None: not known.

    A control group (version 2: `memory.events`, version 1: `memory.oom_control`) counts the kills of its own
    processes, whatever ran out of memory, so those of other users do not count.
    """
    for file in (*group_files(proc, cgroups), proc / "vmstat"):
        try:
            kill_line = re.search(r"^oom_kill (\d+)$", file.read_text(), re.MULTILINE)
        except (OSError, UnicodeDecodeError):
            continue
        if kill_line:
            return int(kill_line[1])
    return None


def group_files(proc: Path, cgroups: Path) -> list[Path]:
    """Return where the control groups that this process is in may count kills: beside their other figures."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        inside = group.lstrip("/")
        if not controllers:
            files += [cgroups / inside / "memory.events", cgroups / "memory.events"]
        elif "memory" in controllers.split(","):
            root = cgroups / "memory"
            files += [root / inside / "memory.oom_control", root / "memory.oom_control"]
    return files
