"""The measured peak of a unit of the CPU: operations on registers alone, on all threads, for about 1 ms."""

import ctypes
import functools
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from jinja2 import Template

from harness.targets.cpu.chip import chip
from harness.targets.cpu.matrix_units import VDPBF16PS
from harness.targets.cpu.object_code import compiled_here

FMA_F32 = "fma-f32"
"""Fused multiply-adds of f32 at the host's vector length."""

SAMPLE_S = 1e-3
"""How long a sample lasts about: short enough for a turn among the candidates."""
WARM_UP = 0.1
"""The part of a sample that goes before it, uncounted: units that sleep wake up."""
FIRST_STEPS = 20_000
"""Steps of the loop whose time says how many a sample takes, the shortest of `FIRST_TRIES`."""
FIRST_TRIES = 3


@dataclass(frozen=True)
class PeakLoop:
    """A loop that keeps one unit busy and nothing else."""

    text: str
    """LLVM IR of `float @peak(i64 %steps)`, whose result depends on every operation."""
    flops: int
    """Of one step."""


ACCUMULATORS = 12
"""Independent chains: more than two units × four or five cycles of latency need, fewer than registers."""

LOOP = Template(
    """
declare {{ v }} @{{ function }}({{ v }}, {{ factor }}, {{ factor }})

define float @peak(i64 %steps) {
entry:
  %f0 = insertelement {{ v }} poison, float 0.5, i64 0
  %fs = shufflevector {{ v }} %f0, {{ v }} poison, <{{ n }} x i32> zeroinitializer
  %f = bitcast {{ v }} %fs to {{ factor }}
  br label %loop
loop:
  %step = phi i64 [ 0, %entry ], [ %next, %loop ]
{%- for i in range(count) %}
  %a{{ i }} = phi {{ v }} [ splat (float {{ i }}.0), %entry ], [ %b{{ i }}, %loop ]
{%- endfor %}
{%- for i in range(count) %}
  %b{{ i }} = call {{ v }} @{{ function }}({{ v }} %a{{ i }}, {{ factor }} %f, {{ factor }} %f)
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

TIMED = """
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()

; Warm up, wait until all threads are there, and note when the counted steps begin and end.
define float @timed(ptr %arrived, i64 %threads, i64 %warm, i64 %steps, ptr %stamps) {
  %w = call float @peak(i64 %warm)
  %before = atomicrmw add ptr %arrived, i64 1 seq_cst
  br label %wait
wait:
  %there = load atomic i64, ptr %arrived seq_cst, align 8
  %all = icmp uge i64 %there, %threads
  br i1 %all, label %go, label %yield
yield:
  %y = call i32 @sched_yield()
  br label %wait
go:
  %b = call i32 @clock_gettime(i32 1, ptr %stamps)
  %r = call float @peak(i64 %steps)
  %end = getelementptr i8, ptr %stamps, i64 16
  %e = call i32 @clock_gettime(i32 1, ptr %end)
  %sum = fadd float %w, %r
  ret float %sum
}
"""
"""`CLOCK_MONOTONIC` is 1; a `timespec` is seconds and nanoseconds, 8 bytes each."""


def fma_f32() -> PeakLoop:
    """Return chains of fused multiply-adds of whole vectors of f32."""
    length = chip("host").registers.vector_length
    vector = f"<{length} x float>"
    function = f"llvm.fma.v{length}f32"
    text = LOOP.render(n=length, v=vector, factor=vector, function=function, count=ACCUMULATORS)
    return PeakLoop(text, flops=2 * length * ACCUMULATORS)


def vdpbf16ps() -> PeakLoop:
    """Return chains of dot products of two pairs of bf16 in each lane."""
    function = "llvm.x86.avx512bf16.dpbf16ps.512"
    text = LOOP.render(n=16, v="<16 x float>", factor="<32 x bfloat>", function=function, count=ACCUMULATORS)
    return PeakLoop(text, flops=2 * 2 * 16 * ACCUMULATORS)


LOOPS: dict[str, Callable[[], PeakLoop]] = {FMA_F32: fma_f32, VDPBF16PS.name: vdpbf16ps}
"""The loops of the units that this machine may have, by the name that rows say."""


def relative_peak(unit: str, samples: int = 9) -> float:
    """Return the median of a unit's FLOP/s over those of multiply-adds of f32, sampled in turns."""
    return statistics.median(measure_peak(unit, 1) / measure_peak(FMA_F32, 1) for _ in range(samples))


def measure_peak(unit: str, threads: int) -> float:
    """Return a sample of the FLOP/s that a unit computes on so many threads at once, from registers."""
    return _sampler(unit, threads).sample()


class PeakSampler:
    """The loop of a unit, compiled for this machine, and the threads that run it together."""

    def __init__(self, loop: PeakLoop, threads: int) -> None:
        """Compile the loop, and see how many of its steps a sample takes."""
        self._timed = timed_loop(loop)
        self._flops = loop.flops
        self._threads = threads
        self._pool = ThreadPoolExecutor(max(1, threads - 1))
        first_s = min(self._seconds(FIRST_STEPS) for _ in range(FIRST_TRIES))
        self._steps = max(1, round(FIRST_STEPS * SAMPLE_S / first_s))

    def sample(self) -> float:
        """Return the FLOP/s of all threads; the next sample is longer where this one was short.

        The first steps may have waited for a processor, and say too few for all samples after them.
        """
        seconds = self._seconds(self._steps)
        rate = self._threads * self._steps * self._flops / seconds
        if seconds < SAMPLE_S / 2:
            self._steps = round(self._steps * SAMPLE_S / seconds)
        return rate

    def _seconds(self, steps: int) -> float:
        """Return how long so many steps take on all threads at once."""
        arrived, stamps = np.zeros(1, np.int64), np.zeros((self._threads, 2, 2), np.int64)
        warm = max(1, round(steps * WARM_UP))

        def run(thread: int) -> None:
            self._timed(arrived.ctypes.data, self._threads, warm, steps, stamps[thread].ctypes.data)

        others = []
        try:
            for thread in range(1, self._threads):
                others.append(self._pool.submit(run, thread))
        except RuntimeError:  # the system starts no more threads: those that are there wait for none
            arrived[0] = self._threads
            raise
        run(0)
        wait(others)
        return seconds_of(stamps)


def timed_loop(loop: PeakLoop) -> Callable[..., float]:
    """Return the function `timed` of a loop, compiled for this machine: it takes addresses and numbers."""
    number, address = ctypes.c_int64, ctypes.c_void_p
    return compiled_here(loop.text + TIMED, "timed", ctypes.c_float, address, number, number, number, address)


def seconds_of(stamps: np.ndarray) -> float:
    """Return the time from the first thread's start to the last one's end, of clocks (thread, end, part).

    Rates by each thread's own clock do not add up where threads take turns on a core.
    """
    starts, ends = (stamps @ [1_000_000_000, 1]).T
    return float(ends.max() - starts.min()) / 1e9


@functools.cache
def _sampler(unit: str, threads: int) -> PeakSampler:
    return PeakSampler(LOOPS[unit](), threads)
