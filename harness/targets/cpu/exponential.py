"""The `exponential` stage: 2^x as arithmetic that vectorises.

No pass of MLIR or LLVM turns `math.exp2` on vectors into anything but one library call per element.
"""

from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.codegen.ir import builder as b
from harness.targets.lowering.transforms import replace_operations

COEFFICIENTS = (1.0, 0.6931470037, 0.2402224243, 0.0555073358, 0.0096715130, 0.0013264727)
"""Minimax polynomial of 2^r on [−½, ½] with 2^0 exact; see `tests/targets/cpu/test_exponential.py`."""

BIAS = 127
"""Of an f32's exponent."""

ROUNDING = 12582912.0 + BIAS
"""1.5 · 2²³ and the bias: adding it leaves the nearest integer, biased, in the low bits of an f32."""

MANTISSA_BITS = 23
"""Of an f32."""

LOWEST_EXPONENT = -float(BIAS)
"""2^x is 0 from here down: all bits of the power of two become 0."""


def expand_exponentials(module: ir.Module) -> None:
    """Replace every scalar f32 `math.exp2` in the module, in place.

    Valid for x ≤ 127.5: attention only exponentiates differences to a maximum, which are ≤ 0.
    Keeps every NaN; −inf gives exactly 0; results below 2^−126 lose precision or become 0.
    """
    replace_operations(module, {"math.exp2": lambda operation: exp2(operation.operands[0])})


def exp2(exponent: ir.Value) -> ir.Value:
    """Build 2^exponent: split into integer n and remainder r, polynomial for 2^r, times 2^n.

    NaN takes no branch and costs nothing: its payload spoils the bits of 2^n, but its remainder is NaN, and a
    product with NaN is, too.  Added to the exponent of 2^r as an integer, n would turn NaN into a number.
    """
    lowest = b.constant(LOWEST_EXPONENT)
    too_small = arith.cmpf(arith.CmpFPredicate.OLT, exponent, lowest)
    limited = arith.select(too_small, lowest, exponent)
    shifted = arith.addf(limited, b.constant(ROUNDING))
    remainder = arith.subf(limited, arith.subf(shifted, b.constant(ROUNDING)))
    fraction = b.constant(COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        fraction = mlir_math.fma(fraction, remainder, b.constant(coefficient))
    i32 = ir.IntegerType.get_signless(32)
    whole_bits = arith.shli(arith.bitcast(i32, shifted), b.integer(MANTISSA_BITS))
    return arith.mulf(fraction, arith.bitcast(ir.F32Type.get(), whole_bits))
