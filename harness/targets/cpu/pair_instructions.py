"""AVX512_BF16's instructions: dot products of pairs in each lane of a vector, and rounded pairs."""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, llvm, tensor, vector

from harness.codegen.ir import builder as b
from harness.targets.cpu.operand_pairs import PAIR, Pairs, floats, integers, read, write

LANES = 16
"""f32 elements of a vector."""

DOT = "x86vector.avx512.dot"
CONVERT = "llvm.x86.avx512bf16.cvtne2ps2bf16.512"


class PairInstructions:
    """`vdpbf16ps`: a pair of A in all lanes, times a row of B's pairs."""

    takes_rows = False

    def zero(self) -> ir.Value:
        """Build a vector of 0."""
        kind = floats(LANES)
        return arith.constant(kind, ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get_f32(0.0)))

    def read(self, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
        """Build a vector of a row."""
        return read(floats(LANES), tile, position)

    def written(self, value: ir.Value, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
        """Build a tile with a vector in a row."""
        return write(value, tile, position)

    def left(self, factor: Pairs, row: b.Size, pair: ir.Value) -> ir.Value:
        """Build a vector of one pair."""
        position = factor.position(row, pair)
        if factor.is_packed:
            number = tensor.extract(factor.tile, position)
        else:
            kind = ir.VectorType.get([PAIR], factor.tile.type.element_type)
            number = vector.extract(vector.bitcast(integers(1), read(kind, factor.tile, position)), [], [0])
        return vector.broadcast(integers(LANES), number)

    def right(self, factor: ir.Value, pair: ir.Value, column: b.Size) -> ir.Value:
        """Build a row of pairs."""
        return read(integers(LANES), factor, [pair, column])

    def multiplied(self, accumulator: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        """Build `accumulator + left[0]·right[0] + left[1]·right[1]` in each lane.

        Subnormal numbers count as 0, and each sum is rounded to nearest.
        """
        factors = [vector.bitcast(_bf16(), pairs) for pairs in (left, right)]
        return ir.Operation.create(DOT, [accumulator.type], [accumulator, *factors]).results[0]


def rounded_pairs(even: ir.Value, odd: ir.Value) -> ir.Value:
    """Build the pairs of numbers of f32 as integers, the even one in the low bits: rounded to nearest."""
    halves = llvm.call_intrinsic(_bf16(), CONVERT, [odd, even], [], [])
    in_turns = [lane + half for lane in range(LANES) for half in (0, LANES)]
    return vector.bitcast(integers(LANES), vector.shuffle(halves, halves, in_turns))


def _bf16() -> ir.VectorType:
    return ir.VectorType.get([PAIR * LANES], ir.BF16Type.get())
