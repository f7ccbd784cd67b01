"""AVX512_BF16's instructions on vectors of pairs: dot products, and pairs of rounded numbers."""

from mlir import ir
from mlir.dialects import llvm, vector

LANES = 16
"""f32 elements of a vector."""

DOT = "x86vector.avx512.dot"
CONVERT = "llvm.x86.avx512bf16.cvtne2ps2bf16.512"


def dot_of_pairs(accumulator: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
    """Build `accumulator + left[0]·right[0] + left[1]·right[1]` in each lane; pairs come as integers.

    Subnormal numbers count as 0, and each sum is rounded to nearest.
    """
    factors = [vector.bitcast(_bf16(), pairs) for pairs in (left, right)]
    return ir.Operation.create(DOT, [accumulator.type], [accumulator, *factors]).results[0]


def rounded_pairs(even: ir.Value, odd: ir.Value) -> ir.Value:
    """Build the pairs of numbers of f32 as integers, the even one in the low bits: rounded to nearest."""
    halves = llvm.call_intrinsic(_bf16(), CONVERT, [odd, even], [], [])
    in_turns = [lane + half for lane in range(LANES) for half in (0, LANES)]
    pairs = vector.shuffle(halves, halves, in_turns)
    return vector.bitcast(ir.VectorType.get([LANES], ir.IntegerType.get_signless(32)), pairs)


def _bf16() -> ir.VectorType:
    return ir.VectorType.get([2 * LANES], ir.BF16Type.get())
