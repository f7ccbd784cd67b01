"""Threads of a program that calls the harness."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

Answer = TypeVar("Answer")


def at_once(call: Callable[[int], Answer], count: int = 4) -> list[Answer]:
    """Return what `call` gives for 0, 1, … on as many threads that begin together; raises what it raises."""
    together = Barrier(count)

    def begin(number: int) -> Answer:
        together.wait()
        return call(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(begin, range(count)))
