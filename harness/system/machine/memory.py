"""How much memory processes can still take."""

import re
from pathlib import Path

import psutil

from harness.system.machine.memory_kills import CGROUPS, PROC, group_files

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
    """Return what a control group leaves; None where it is not there, or has no limit."""
    try:
        limit = (folder / limit_name).read_text().strip()
        used = int((folder / use_name).read_text())
        cached = re.search(rf"^{cache_name} (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    if not limit.isdecimal():
        return None
    return max(0, int(limit) - used + (int(cached[1]) if cached else 0))
