"""The measured peak of the CPU: fused multiply-adds on registers, nothing else."""

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding as llvm
from jinja2 import Template

from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import target_machine

ACCUMULATORS = 12
"""Independent chains: more than two units × four or five cycles of latency need, fewer than registers."""
STEPS = 2_000_000
REPEATS = 5

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
    """Return the f32 multiply-adds per second of this many threads, times two, in FLOP/s.

    The best of several repeats: a peak is what the machine can do when nothing disturbs it.
    """
    host = chip("host")
    length = host.registers.vector_length
    loop_ir = PEAK_LOOP.render(n=length, v=f"<{length} x float>", count=ACCUMULATORS)
    module = llvm.parse_assembly(loop_ir)
    engine = llvm.create_mcjit_compiler(module, target_machine(host))
    engine.finalize_object()
    loop = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)(
        engine.get_function_address("peak")
    )
    operations = threads * STEPS * ACCUMULATORS * length * 2
    with ThreadPoolExecutor(threads) as pool:
        return max(operations / _seconds(pool, loop, threads) for _ in range(REPEATS))


def _seconds(pool: ThreadPoolExecutor, loop: "ctypes._FuncPointer", threads: int) -> float:
    started = time.perf_counter()
    for finished in [pool.submit(loop, STEPS, 0.5) for _ in range(threads)]:
        finished.result()
    return time.perf_counter() - started
