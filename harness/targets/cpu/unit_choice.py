"""Which unit of a processor multiplies the numbers of a case."""

import ctypes
import functools
import time
from collections.abc import Callable

from jinja2 import Template

from harness.system.errors import UnsupportedError
from harness.targets.cpu.chip import Chip
from harness.targets.cpu.matrix_units import UNITS, VDPBF16PS, MatrixUnit

FMA = "fma"
"""Multiply-adds of f32, which every chip here has."""

WORTH_IT = 1.5
"""Products while multiply-adds make one, from which on a unit is taken.  AVX512_BF16 has two on some
processors, a half on others."""


def unit_for(target: Chip, dtype: str, asked: str | None) -> MatrixUnit | None:
    """Return what multiplies numbers of a type on a chip: the unit that is asked for, else the fastest.

    None stands for multiply-adds of f32.  On this machine a unit also has to be worth it, as measured.
    Raises `UnsupportedError` for one that the chip does not have for the type.
    """
    if asked == FMA:
        return None
    own = [unit for unit in UNITS if unit.dtype == dtype and target.features.issuperset(unit.features)]
    if asked is None:
        return next((unit for unit in own if not target.is_host or _is_worth_it(unit)), None)
    for unit in own:
        if unit.name == asked:
            return unit
    raise UnsupportedError(f"unit={asked}: {target.name} multiplies no {dtype} by it")


def _is_worth_it(unit: MatrixUnit) -> bool:
    """Whether this machine is faster by a unit: with numbers split into terms nobody has measured it."""
    if unit.terms > 1:
        return False
    return not unit.is_measured or products_per_fma(unit) >= WORTH_IT


CHAINS = 12
STEPS = 20_000
"""Some 0.1 ms."""
TURNS = 9

LOOP = Template(
    """
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)

define float @rate(i64 %steps, float %factor) {
entry:
  %f0 = insertelement <16 x float> poison, float %factor, i64 0
  %f = shufflevector <16 x float> %f0, <16 x float> poison, <16 x i32> zeroinitializer
  %h = bitcast <16 x float> %f to <32 x bfloat>
  br label %loop
loop:
  %step = phi i64 [ 0, %entry ], [ %next, %loop ]
{%- for i in range(count) %}
  %a{{ i }} = phi <16 x float> [ splat (float {{ i }}.0), %entry ], [ %b{{ i }}, %loop ]
{%- endfor %}
{%- for i in range(count) %}
  %b{{ i }} = call <16 x float> {{ call.format("%a" ~ i) }}
{%- endfor %}
  %next = add i64 %step, 1
  %more = icmp ult i64 %next, %steps
  br i1 %more, label %loop, label %exit
exit:
  %s0 = fadd <16 x float> %b0, %b0
{%- for i in range(1, count) %}
  %s{{ i }} = fadd <16 x float> %s{{ i - 1 }}, %b{{ i }}
{%- endfor %}
  %result = extractelement <16 x float> %s{{ count - 1 }}, i64 0
  ret float %result
}
"""
)

CALLS = {
    FMA: "@llvm.fma.v16f32(<16 x float> {}, <16 x float> %f, <16 x float> %f)",
    VDPBF16PS.name: "@llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {}, <32 x bfloat> %h, <32 x bfloat> %h)",
}


@functools.cache
def products_per_fma(unit: MatrixUnit) -> float:
    """Return how many products a unit of this machine makes while multiply-adds of f32 make one, measured."""
    loops = [_loop(FMA), _loop(unit.name)]
    seconds = [min(times) for times in zip(*(map(_seconds, loops) for _ in range(TURNS)), strict=True)]
    return unit.k * seconds[0] / seconds[1]


def _loop(name: str) -> Callable[[int, float], float]:
    from harness.targets.cpu.object_code import compiled_here

    text = LOOP.render(count=CHAINS, call=CALLS[name])
    return compiled_here(text, "rate", ctypes.c_float, ctypes.c_int64, ctypes.c_float)


def _seconds(loop: Callable[[int, float], float]) -> float:
    started = time.perf_counter()
    loop(STEPS, 0.5)
    return time.perf_counter() - started
