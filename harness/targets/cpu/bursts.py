"""Short bursts of work on several threads at once: how many of them the processor does in a second."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

Work = Callable[[int], object]
"""What a thread does in a burst, given its number from 0."""


def best_bursts_per_second(work: Work, threads: int, bursts: int) -> float:
    """Return the bursts of all threads in a second, the best of so many tries.

    A peak is what the machine can do when nothing disturbs it.
    """
    together = threading.Barrier(threads)
    with ThreadPoolExecutor(threads) as pool:
        return max(bursts_per_second(pool, work, together) for _ in range(bursts))


def bursts_per_second(pool: ThreadPoolExecutor, work: Work, together: threading.Barrier) -> float:
    """Return the bursts of all threads over the time from the first one's start to the last one's end.

    Rates by each thread's own clock do not add up where threads take turns on a core.
    """
    bursts = [pool.submit(burst, work, thread, together) for thread in range(together.parties)]
    starts, ends = zip(*(future.result() for future in bursts), strict=True)
    return together.parties / (max(ends) - min(starts))


def burst(work: Work, thread: int, together: threading.Barrier) -> tuple[float, float]:
    """Return when a thread's burst starts, which is when all threads are there, and when it ends."""
    together.wait()
    started = time.perf_counter()
    work(thread)
    return started, time.perf_counter()
