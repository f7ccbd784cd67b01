"""A program that hears by SIGTERM of its parent's end, however that ends, and may end in an orderly way.

`python -I -S told_of_end.py PARENT PATH ARGUMENT...` becomes the program; PARENT is its parent's process id.
The kernel keeps the wish (prctl(2), PR_SET_PDEATHSIG) when a process becomes another program.  A guardian
would kill the program and all that it started instead.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def command(program: Sequence[str]) -> list[str]:
    """Return the command line with which this process starts a program that hears of its end."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *program]


def main(arguments: Sequence[str]) -> None:
    """Ask for the signal and become the program."""
    parent, *program = arguments
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        os._exit(1)  # it has ended already
    os.execvp(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
