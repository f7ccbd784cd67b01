"""The hyperbolic tangent as arithmetic: multiplications, one 2^x of what is not positive, one division.

Targets have their own forms of these, and none has to call a library for each element.
"""

import math

from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.codegen.ir import builder as b

COEFFICIENTS = (
    -0.3333333134651184,
    0.1333320587873459,
    -0.05394676700234413,
    0.02170073427259922,
    -0.008177478797733784,
    0.0021430396009236574,
)
"""Of P in `tanh(x) = x + x³·P(x²)` up to `SMALL`: a weighted least-squares fit with a relative error of
2e-10, before the coefficients are rounded to f32."""

SMALL = 0.625
"""From here on `(1 − e)/(1 + e)` with e = exp(−2|x|) loses nothing: e is at most 0.29."""

MINUS_TWO_LOG2_E = -2.0 / math.log(2.0)


def tanh(x: ir.Value) -> ir.Value:
    """Build tanh of an f32 scalar; NaN stays NaN, and ±∞ becomes ±1."""
    square = arith.mulf(x, x)
    series = b.constant(COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        series = mlir_math.fma(series, square, b.constant(coefficient))
    small = mlir_math.fma(arith.mulf(x, square), series, x)
    is_negative = arith.cmpf(arith.CmpFPredicate.OLT, x, b.constant(0.0))
    size = arith.select(is_negative, arith.mulf(x, b.constant(-1.0)), x)
    decay = mlir_math.exp2(arith.mulf(size, b.constant(MINUS_TWO_LOG2_E)))
    constant_one = b.constant(1.0)
    large = arith.divf(arith.subf(constant_one, decay), arith.addf(constant_one, decay))
    signed = arith.select(is_negative, arith.mulf(large, b.constant(-1.0)), large)
    # An unordered comparison is false: NaN takes the series, which keeps it.
    is_large = arith.cmpf(arith.CmpFPredicate.OGT, size, b.constant(SMALL))
    return arith.select(is_large, signed, small)
