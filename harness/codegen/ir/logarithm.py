"""The natural logarithm as arithmetic on a number's bits.

No target has to call a library for each element.
"""

import math

from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.codegen.ir import builder as b

MANTISSA_BITS = 23
"""Of f32."""

ROOT_OF_HALF = 0x3F3504F3
"""The bits of √½ in f32."""

SERIES = (1 / 9, 1 / 7, 1 / 5, 1 / 3)
"""Coefficients of the series of atanh, the last ones first: `ln f = 2·(s + s³/3 + s⁵/5 + …)` with
`s = (f − 1)/(f + 1)`.  From √½ to √2 |s| is at most 0.172, and the terms that are left out are 3e-10 of the
whole."""


def natural_logarithm(x: ir.Value) -> ir.Value:
    """Build ln x of an f32 scalar that is 0, or normal and positive; ln 0 is −∞, NaN and ∞ stay."""
    bits = arith.bitcast(ir.IntegerType.get_signless(32), x)
    above = arith.subi(bits, b.integer(ROOT_OF_HALF))
    exponent = arith.shrsi(above, b.integer(MANTISSA_BITS))
    of_fraction = arith.subi(bits, arith.shli(exponent, b.integer(MANTISSA_BITS)))
    fraction = arith.bitcast(x.type, of_fraction)
    constant_one = b.constant(1.0)
    ratio = arith.divf(arith.subf(fraction, constant_one), arith.addf(fraction, constant_one))
    square = arith.mulf(ratio, ratio)
    series = b.constant(SERIES[0])
    for coefficient in (*SERIES[1:], 1.0):
        series = mlir_math.fma(series, square, b.constant(coefficient))
    of_ratio = arith.mulf(arith.mulf(ratio, b.constant(2.0)), series)
    whole = arith.sitofp(x.type, exponent)
    logarithm = mlir_math.fma(whole, b.constant(math.log(2.0)), of_ratio)
    is_zero = arith.cmpf(arith.CmpFPredicate.OEQ, x, b.constant(0.0))
    is_finite = arith.cmpf(arith.CmpFPredicate.OLT, x, b.constant(math.inf))
    of_any = arith.select(is_finite, logarithm, x)
    return arith.select(is_zero, b.constant(-math.inf), of_any)
