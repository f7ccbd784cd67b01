"""Asking Linux for AMX's tiles, which a process has to before its threads use them."""

import ctypes
import os

from harness.system.errors import UnsupportedError

ARCH_PRCTL = 158
"""The number of the system call on x86-64."""
REQUEST_PERMISSION = 0x1023
"""`ARCH_REQ_XCOMP_PERM`."""
TILE_DATA = 18
"""The number of the state of tiles."""


def ask_for_tiles() -> None:
    """Ask for this process and the threads that it starts from now on; raises `UnsupportedError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise UnsupportedError(f"Linux gives this process no AMX tiles: {reason}")
