"""PyTorch's number of threads, which is one for a whole process, as it is during a call and after it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

ONE_AT_A_TIME = threading.RLock()
"""Held by the thread that calls PyTorch with a number of threads of its own."""


@contextmanager
def with_threads(count: int) -> Iterator[None]:
    """Let PyTorch compute with so many threads in here, and put back how many there were before.

    Other threads of the process wait meanwhile where they come here, too.
    """
    with ONE_AT_A_TIME:
        before = torch.get_num_threads()
        _set(count, before)
        try:
            yield
        finally:
            _set(before, torch.get_num_threads())


def _set(count: int, present: int) -> None:
    """Set the number where it is another one: PyTorch then also begins new threads."""
    if count != present:
        torch.set_num_threads(count)
