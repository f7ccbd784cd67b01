"""The `exponential` stage: 2^x as arithmetic on vectors.

No pass of MLIR or LLVM turns `math.exp2` on vectors into anything but one library call per element.
"""

from mlir import ir
from mlir.dialects import arith, llvm
from mlir.dialects import math as mlir_math

from harness.targets.lowering.transforms import replace_operations

NEAREST_COEFFICIENTS = (1.0, 0.6931470037, 0.2402224243, 0.0555073358, 0.0096715130, 0.0013264727)
"""Minimax polynomial of 2^r on [−½, ½] with 2^0 exact; see `tests/targets/cpu/test_exponential.py`."""

FLOOR_COEFFICIENTS = (1.0, 0.69315131, 0.24016445, 0.05579991, 0.00901703, 0.00186713)
"""The same on [0, 1): what remains of a number above the integer below it."""

BIAS = 127
"""Of an f32's exponent."""

ROUNDING = 12582912.0 + BIAS
"""1.5 · 2²³ and the bias: adding it leaves the nearest integer, biased, in the low bits of an f32."""

MANTISSA_BITS = 23
"""Of an f32."""

LOWEST_EXPONENT = -float(BIAS)
"""2^x is 0 from here down: all bits of the power of two become 0."""

SCALING_LANES = 16
"""f32 elements of the vectors that AVX-512 reduces to their fractions and scales by powers of two."""

TO_FLOOR = 1
"""What `vreduceps` subtracts: the integer below."""

CURRENT_ROUNDING = 4
"""The rounding mode of the processor, not one of the instruction's own."""


def expand_exponentials(module: ir.Module, vector_length: int) -> None:
    """Replace every f32 `math.exp2` in the module, of scalars and vectors, in place.

    Valid for x ≤ 127.5: attention only exponentiates differences to a maximum, which are ≤ 0.
    Keeps every NaN; −inf gives exactly 0; results below 2^−126 lose precision or become 0.
    """
    scaled = ir.VectorType.get([SCALING_LANES], ir.F32Type.get())

    def expanded(operation: ir.OpView) -> ir.Value:
        exponent = operation.operands[0]
        scales = vector_length == SCALING_LANES and exponent.type == scaled
        return scaled_exp2(exponent) if scales else exp2(exponent)

    replace_operations(module, {"math.exp2": expanded})


def exp2(exponent: ir.Value) -> ir.Value:
    """Build 2^exponent: split into integer n and remainder r, polynomial for 2^r, times 2^n.

    NaN takes no branch and costs nothing: its payload spoils the bits of 2^n, but its remainder is NaN, and a
    product with NaN is, too.  Added to the exponent of 2^r as an integer, n would turn NaN into a number.
    """
    kind = exponent.type
    lowest, rounding = _like(kind, LOWEST_EXPONENT), _like(kind, ROUNDING)
    too_small = arith.cmpf(arith.CmpFPredicate.OLT, exponent, lowest)
    limited = arith.select(too_small, lowest, exponent)
    shifted = arith.addf(limited, rounding)
    remainder = arith.subf(limited, arith.subf(shifted, rounding))
    fraction = _polynomial(remainder, NEAREST_COEFFICIENTS)
    bits = _of_element(kind, ir.IntegerType.get_signless(32))
    whole_bits = arith.shli(arith.bitcast(bits, shifted), _like(bits, MANTISSA_BITS))
    return arith.mulf(fraction, arith.bitcast(kind, whole_bits))


def scaled_exp2(exponent: ir.Value) -> ir.Value:
    """Build 2^exponent of a vector by AVX-512's instructions for fractions and for scaling: 7 instead of 12.

    They take −inf, NaN and what underflows as they should be.
    """
    kind = exponent.type
    i32, i16 = (ir.IntegerType.get_signless(bits) for bits in (32, 16))
    every_lane = arith.constant(i16, -1)
    mode, floor = arith.constant(i32, CURRENT_ROUNDING), arith.constant(i32, TO_FLOOR)
    remainder = _intrinsic("reduce", kind, exponent, floor, exponent, every_lane, mode)
    fraction = _polynomial(remainder, FLOOR_COEFFICIENTS)
    return _intrinsic("scalef", kind, fraction, exponent, fraction, every_lane, mode)


def _intrinsic(name: str, kind: ir.Type, *operands: ir.Value) -> ir.Value:
    return llvm.call_intrinsic(kind, f"llvm.x86.avx512.mask.{name}.ps.512", list(operands), [], [])


def _polynomial(argument: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
    value = _like(argument.type, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = mlir_math.fma(value, argument, _like(argument.type, coefficient))
    return value


def _like(kind: ir.Type, number: float) -> ir.Value:
    """Return a constant of a type: of a vector, the number in each element."""
    element = kind.element_type if isinstance(kind, ir.VectorType) else kind
    make = ir.IntegerAttr if isinstance(element, ir.IntegerType) else ir.FloatAttr
    value = make.get(element, number)
    if isinstance(kind, ir.VectorType):
        value = ir.DenseElementsAttr.get_splat(kind, value)
    return arith.constant(kind, value)


def _of_element(kind: ir.Type, element: ir.Type) -> ir.Type:
    return ir.VectorType.get(kind.shape, element) if isinstance(kind, ir.VectorType) else element
