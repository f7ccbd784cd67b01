"""The measured peak of the CPU: fused multiply-adds on registers, in short bursts on several threads."""

import ctypes
import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from jinja2 import Template

from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import compiled_here

Work = Callable[[int], object]
"""What a thread does in a burst, given its number from 0."""


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


ACCUMULATORS = 12
"""Independent chains: more than two units × four or five cycles of latency need, fewer than registers."""
STEPS = 400_000
"""Steps of a burst, about a millisecond: short enough to fit between two disturbances."""
BURSTS = 8
"""Bursts of a sample, which together last as long as a candidate's sample about."""

PEAK_LOOP = Template(
    """
declare {{ v }} @llvm.fma.v{{ n }}f32({{ v }}, {{ v }}, {{ v }})

define float @peak(i64 %steps, float %factor) {
entry:
  %f0 = insertelement {{ v }} poison, float %factor, i64 0
  %f = shufflevector {{ v }} %f0, {{ v }} poison, <{{ n }} x i32> zeroinitializer
  br label %loop
loop:
  %step = phi i64 [ 0, %entry ], [ %next, %loop ]
{%- for i in range(count) %}
  %a{{ i }} = phi {{ v }} [ splat (float {{ i }}.0), %entry ], [ %b{{ i }}, %loop ]
{%- endfor %}
{%- for i in range(count) %}
  %b{{ i }} = call {{ v }} @llvm.fma.v{{ n }}f32({{ v }} %a{{ i }}, {{ v }} %f, {{ v }} %f)
{%- endfor %}
  %next = add i64 %step, 1
  %more = icmp ult i64 %next, %steps
  br i1 %more, label %loop, label %exit
exit:
  %s0 = fadd {{ v }} %b0, %b0
{%- for i in range(1, count) %}
  %s{{ i }} = fadd {{ v }} %s{{ i - 1 }}, %b{{ i }}
{%- endfor %}
  %result = extractelement {{ v }} %s{{ count - 1 }}, i64 0
  ret float %result
}
"""
)


def measure_peak(threads: int) -> float:
    """Return the f32 multiply-adds per second of this many threads, times two, in FLOP/s."""
    loop, length = _loop(), chip("host").registers.vector_length
    operations = STEPS * ACCUMULATORS * length * 2
    return operations * best_bursts_per_second(lambda thread: loop(STEPS, 0.5), threads, BURSTS)


@functools.cache
def _loop() -> Callable[[int, float], float]:
    length = chip("host").registers.vector_length
    text = PEAK_LOOP.render(n=length, v=f"<{length} x float>", count=ACCUMULATORS)
    return compiled_here(text, "peak", ctypes.c_float, ctypes.c_int64, ctypes.c_float)
