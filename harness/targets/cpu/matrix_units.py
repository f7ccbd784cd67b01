"""What a processor says of an instruction that multiplies matrices: a descriptor, as GPUs' vendors have.

Nothing in here needs MLIR: what emits IR is imported when it is asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir

PAIR = 2
"""Numbers of a 16-bit type, one after another along k, that fill an element of 32 bits."""


@dataclass(frozen=True)
class MatrixUnit:
    """An instruction that computes C + A·B: A is m×k, B is k×n, C is m×n.

    n runs over queries, in vector lanes.  Both operands are packed in pairs along k: an element of 32 bits
    holds two numbers.  A's rows have their pairs one after another, as K lies in memory; B has a row of n
    pairs for every two of k.
    """

    name: str
    m: int
    n: int
    k: int
    operand: str
    """Element type of A and B."""
    accumulator: str
    """Element type of C."""
    features: tuple[str, ...]
    """What a processor needs to have, by LLVM's names."""
    instruction: str
    """As assembly spells it."""
    queries: int
    """Of a tile, at least: V is packed for each tile of queries (measured)."""
    multiply: "Callable[[ir.Value, ir.Value, ir.Value], ir.Value]"
    """Emits C + A·B of vectors: of f32, of A's pairs as integers, of B's."""
    pair: "Callable[[ir.Value, ir.Value], ir.Value]"
    """Emits the pairs of two vectors of f32, rounded: as many integers of 32 bits as each has elements."""


def _multiply(accumulator: "ir.Value", left: "ir.Value", right: "ir.Value") -> "ir.Value":
    from harness.targets.cpu.pair_instructions import dot_of_pairs

    return dot_of_pairs(accumulator, left, right)


def _pair(even: "ir.Value", odd: "ir.Value") -> "ir.Value":
    from harness.targets.cpu.pair_instructions import rounded_pairs

    return rounded_pairs(even, odd)


VDPBF16PS = MatrixUnit(
    name="vdpbf16ps",
    m=1,
    n=16,
    k=PAIR,
    operand="bf16",
    accumulator="f32",
    features=("avx512bf16",),
    instruction="vdpbf16ps",
    queries=64,
    multiply=_multiply,
    pair=_pair,
)
"""AVX512_BF16: the dot product of two pairs in each lane of a vector."""
