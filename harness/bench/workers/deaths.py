"""What a process died of, as its exit code and its log tell it."""

import re
import signal

from harness.system.processes.programs import SENT_FROM_OUTSIDE
from harness.system.status import Status

TELLING_WORDS = ("Assertion", "LLVM ERROR", "what():", "terminate called", "fatal error", "error:")
"""What a compiler's or a runtime's last words contain, most telling first."""

DIED_WITHOUT_MEMORY = re.compile(
    r"""
    LLVM\ ERROR:\ out\ of\ memory
    | terminate\ called\ after\ throwing\ an\ instance\ of\ '[\w:]*bad_alloc'
    | libc\+\+abi:\ terminating\ .*\ exception\ of\ type\ [\w:]*bad_alloc
    | ^Traceback\ \(most\ recent\ call\ last\):\n(?:[ ].*\n)+[\w.]*MemoryError(?::|$)
    | ^MemoryError\s*\Z
    """,
    re.MULTILINE | re.VERBOSE,
)
"""The last words of a process that got no memory: LLVM's, C++'s and Python's, with a traceback or without.

The words alone may stand in any note or line of source."""


def explain_death(code: int, log: str, ran_out_of_memory: bool = False) -> tuple[Status, str]:
    """Return status and reason of a process that ended with this exit code (negative: signal).

    `ran_out_of_memory` says whether the kernel has killed a process for memory meanwhile.  A memory limit of
    the process's own (`RLIMIT_DATA`) never ends in SIGKILL: an allocation fails, which the log tells.
    """
    last_words = telling_line(log)
    suffix = f": {last_words}" if last_words else ""
    if DIED_WITHOUT_MEMORY.search(log):
        return Status.OUT_OF_MEMORY, f"out of memory{suffix}"
    if code == -signal.SIGKILL and ran_out_of_memory:
        return Status.OUT_OF_MEMORY, "killed by the kernel, which was out of memory (SIGKILL)"
    if -code in SENT_FROM_OUTSIDE:
        return Status.CRASHED, f"the worker was killed from outside ({signal_name(-code)})"
    if code < 0:
        return Status.CRASHED, f"{signal_name(-code)}{suffix}"
    return Status.CRASHED, f"the worker ended with exit status {code}{suffix}"


def signal_name(number: int) -> str:
    """Return a signal's name, `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def telling_line(log: str) -> str:
    """Return the line of a log that says most about a death, at most 300 characters, or an empty string."""
    lines = [line.strip() for line in log.split("Fatal Python error")[0].splitlines() if line.strip()]
    for words in TELLING_WORDS:
        for line in lines:
            if words in line:
                return line[:300]
    return lines[-1][:300] if lines else ""
