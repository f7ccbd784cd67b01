"""Descriptors of open files: as many as a run's workers need, and waiting for any number of them."""

import contextlib
import os
import resource
import select
from collections.abc import Callable, Iterable

from harness.system.errors import InputError

RESERVE = 100
"""Descriptors that a run takes besides those of its workers: journals, inputs, libraries that are loaded."""


def readable(descriptors: Iterable[int], patience_s: float) -> set[int]:
    """Wait until one of these can be read, or has ended, at most so long; return those.

    `select.select` knows no descriptor above 1023, which a process with many open files has.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(1000 * patience_s)}


def allow_open_files(count: int, of_what: str) -> Callable[[], None]:
    """Let this process open so many files besides those it has; return what takes that back.

    The soft limit, 1024 on most machines, is raised as far as the hard one lets it.  Raises `InputError` if
    that is not enough, with `of_what`, the words for what needs them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + RESERVE + len(os.listdir("/proc/self/fd"))
    if needed <= soft or soft == resource.RLIM_INFINITY:
        return lambda: None
    if needed > hard != resource.RLIM_INFINITY:
        raise InputError(f"{of_what} needs {needed} open files, {hard} are allowed: raise ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))

    def take_back() -> None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    return take_back
