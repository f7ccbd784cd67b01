"""Several lives of one process: each is a fork of it, as it was before the first.

A program that takes long to import and is to start anew often imports once, and then lives in forks.  What a
life has loaded, allocated and started ends with it.  The process itself only waits, and ends as its last
life did.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from typing import NoReturn

from harness.system.processes.guardian import PR_SET_PDEATHSIG, end_as

NEXT_LIFE = 94
"""The exit status by which a life asks for another."""


def live(life: Callable[[], None]) -> NoReturn:
    """Run `life` in a process of its own, again for as long as it ends by `begin_anew`, and end as it did.

    A life ends with this process, whatever it does then.  Call this before the process has threads.
    """
    system = ctypes.CDLL(None)
    waiting = os.getpid()
    while True:
        child = os.fork()
        if child == 0:
            system.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != waiting:
                os._exit(1)
            life()
            raise SystemExit
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != NEXT_LIFE:
            end_as(status)


def begin_anew() -> NoReturn:
    """End this life at once, without any cleaning up, for another one to begin."""
    os._exit(NEXT_LIFE)
