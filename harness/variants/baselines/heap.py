"""Keeps the C heap warm, so that a library's fresh allocations are not what is timed."""

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
LARGEST_INT = 2**31 - 1


def keep_heap_warm() -> bool:
    """Let glibc keep freed memory instead of returning it to the kernel; False where that is impossible.

    A library that allocates its score matrix or output in every call otherwise pays for mapping and
    zeroing fresh pages each time, which costs up to three times the computation.  The setting holds for
    this process from now on: it is for a process that does nothing else (`Executable.take_process`).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, LARGEST_INT))
