"""The measured bandwidths of the CPU: vectors that are read from each level of memory, nothing else.

They are the slopes of a roofline with a roof for each level (Ilic, Pratas and Sousa, *Cache-aware Roofline
model*, 2014).
"""

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jinja2 import Template

from harness.system.machine.memory import available_bytes
from harness.system.machine.system import cache_sizes
from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import compiled_here

Work = Callable[[int], object]
"""What a thread does in a burst, given its number from 0."""

MEMORY = "memory"
"""What is behind all caches."""
ACCUMULATORS = 8
"""Vectors that a step of the loop reads, each joined to an accumulator of its own."""
BURSTS = 4
"""Bursts of a sample; with all of them it lasts a few milliseconds."""
BURST_OF_CACHE = 8 * 2**20
"""Bytes that each thread reads in a burst from a cache, again and again the same ones."""
BURST_OF_MEMORY = 4 * 2**20
"""Bytes that each thread reads in a burst from memory, always others."""
SHARE_OF_CACHE = 4
"""A cache is read in buffers that take one part of so many: threads of one core may share it."""
CACHES_OF_MEMORY = 4
"""Buffers in memory are so many times as long as the largest cache: what was read is gone when it is read
again."""
LEAST_MEMORY = 64 * 2**20
"""Bytes of the buffers in memory where caches are small, or nothing tells how large they are."""
SHARE_OF_FREE_MEMORY = 4
"""Where the buffers in memory would take more than one part of so many of what is free, none is measured."""

READ_LOOP = Template(
    """
define i32 @read(ptr %first, i64 %bytes, i64 %passes) {
entry:
  %end = getelementptr i8, ptr %first, i64 %bytes
  br label %pass
pass:
  %number = phi i64 [ 0, %entry ], [ %next_number, %passed ]
{%- for i in range(count) %}
  %p{{ i }} = phi {{ v }} [ zeroinitializer, %entry ], [ %b{{ i }}, %passed ]
{%- endfor %}
  br label %loop
loop:
  %place = phi ptr [ %first, %pass ], [ %next, %loop ]
{%- for i in range(count) %}
  %a{{ i }} = phi {{ v }} [ %p{{ i }}, %pass ], [ %b{{ i }}, %loop ]
{%- endfor %}
{%- for i in range(count) %}
  %at{{ i }} = getelementptr {{ v }}, ptr %place, i64 {{ i }}
  %read{{ i }} = load {{ v }}, ptr %at{{ i }}, align 4
  %b{{ i }} = or {{ v }} %a{{ i }}, %read{{ i }}
{%- endfor %}
  %next = getelementptr {{ v }}, ptr %place, i64 {{ count }}
  %more = icmp ult ptr %next, %end
  br i1 %more, label %loop, label %passed
passed:
  %next_number = add i64 %number, 1
  %again = icmp ult i64 %next_number, %passes
  br i1 %again, label %pass, label %exit
exit:
  %s0 = or {{ v }} %b0, %b0
{%- for i in range(1, count) %}
  %s{{ i }} = or {{ v }} %s{{ i - 1 }}, %b{{ i }}
{%- endfor %}
  %result = extractelement {{ v }} %s{{ count - 1 }}, i64 0
  ret i32 %result
}
"""
)


def best_bursts_per_second(work: Work, threads: int, bursts: int) -> float:
    """Return the bursts of all threads in a second, the best of so many tries."""
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


@dataclass(frozen=True)
class Level:
    """A level of memory, and the buffer that a thread reads it by."""

    name: str
    held: int
    """Bytes of each thread's buffer."""
    burst: int
    """Bytes that each thread reads in a burst."""


def measure_bandwidths(threads: int, number: int) -> dict[str, float]:
    """Return the bandwidth of reading from one level of memory, in bytes/s of all threads, by its name."""
    levels = memory_levels(cache_sizes(), threads, available_bytes())
    if not levels:
        return {}
    level = levels[number % len(levels)]
    readers = _readers(level, threads)
    rate = best_bursts_per_second(lambda thread: readers[thread].read(), threads, BURSTS)
    return {level.name: rate * level.burst}


def memory_levels(caches: Mapping[str, int], threads: int, free: int) -> list[Level]:
    """Return the levels that can be told apart, the nearest to the processor first.

    A cache (`L1d`, `L2`, or `L3`, which all threads share) counts where a thread's share of it does not lie
    in the caches before it; memory where `free` bytes have room for buffers that no cache holds.
    """
    levels: list[Level] = []
    nearer = 0
    for name in ("L1d", "L2", "L3"):
        size = caches.get(name, 0)
        held = _whole_steps(size // SHARE_OF_CACHE // (threads if name == "L3" else 1))
        if held > nearer:
            levels.append(Level(name.removesuffix("d"), held, _whole_passes(held)))
        nearer = max(nearer, size)
    whole = max(LEAST_MEMORY, CACHES_OF_MEMORY * nearer)
    if whole <= free // SHARE_OF_FREE_MEMORY:
        bursts = -(-whole // threads // BURST_OF_MEMORY)
        levels.append(Level(MEMORY, max(2, bursts) * BURST_OF_MEMORY, BURST_OF_MEMORY))
    return levels


def _whole_steps(held: int) -> int:
    """Return so many bytes, less what is no whole step of the loop."""
    step = ACCUMULATORS * chip("host").registers.vector_length * 4
    return held - held % step


def _whole_passes(held: int) -> int:
    """Return the bytes of a burst that reads a buffer as a whole, some times."""
    return max(1, BURST_OF_CACHE // held) * held


class _Reader:
    """One thread's buffer."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._buffer = np.ones(level.held // 4, np.int32)  # pages that nobody wrote share one page of zeros
        self._place = 0

    def read(self) -> None:
        """Read a burst: a buffer in a cache some times, of one in memory the next part."""
        length = min(self._level.held, self._level.burst)
        _loop()(self._buffer.ctypes.data + self._place, length, self._level.burst // length)
        self._place = (self._place + length) % self._level.held


@functools.cache
def _readers(level: Level, threads: int) -> tuple[_Reader, ...]:
    return tuple(_Reader(level) for _ in range(threads))


@functools.cache
def _loop() -> Callable[[int, int, int], int]:
    """Return the compiled loop: it reads so many bytes from an address on, so many times."""
    vector = f"<{chip('host').registers.vector_length} x i32>"
    text = READ_LOOP.render(v=vector, count=ACCUMULATORS)
    types = ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    return compiled_here(text, "read", *types)
