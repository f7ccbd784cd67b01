"""What a processor says of an instruction that multiplies matrices: a descriptor, as GPUs' vendors have.

Nothing in here needs MLIR: what emits IR is imported when it is asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.targets.cpu.operand_pairs import Instructions


@dataclass(frozen=True)
class MatrixUnit:
    """An instruction that computes C + A·B: A is m×k, B is k×n, C is m×n.

    n runs over queries, in vector lanes.  Both operands are packed in pairs along k: an element of 32 bits
    holds two numbers.  B has a row of n pairs for every two of k.
    """

    name: str
    m: int
    n: int
    k: int
    dtype: str
    """Type of the stored numbers that it is for."""
    operand: str
    """Element type of A and B."""
    accumulator: str
    """Element type of C."""
    features: tuple[str, ...]
    """What a processor needs to have, by LLVM's names."""
    instruction: str
    """As assembly spells it."""
    queries: int
    """Of a tile, at least: V is packed for each tile of queries."""
    instructions: "Callable[[], Instructions]"
    """How it is emitted."""
    accumulators: tuple[int, int] | None = None
    """Rows and columns of C that registers hold at once, of m×n each; None: in vector registers, as for
    multiply-adds."""
    has_tiles: bool = False
    """Whether operands and C are in registers of their own, whose use a process has to ask for."""
    terms: int = 1
    """Numbers of type `operand` that stand for one that is stored, whose sum it is."""
    is_measured: bool = False
    """Whether some processors make fewer products by it than by multiply-adds."""


def _pair_instructions() -> "Instructions":
    from harness.targets.cpu.pair_instructions import PairInstructions

    return PairInstructions()


def _tile_instructions() -> "Instructions":
    from harness.targets.cpu.tile_instructions import TileInstructions

    return TileInstructions()


VDPBF16PS = MatrixUnit(
    name="vdpbf16ps",
    m=1,
    n=16,
    k=2,
    dtype="bf16",
    operand="bf16",
    accumulator="f32",
    features=("avx512bf16",),
    instruction="vdpbf16ps",
    queries=64,
    instructions=_pair_instructions,
    is_measured=True,
)
"""AVX512_BF16: the dot product of two pairs in each lane of a vector.  Tiles of 64 queries are measured."""

AMX = MatrixUnit(
    name="amx",
    m=16,
    n=16,
    k=32,
    dtype="bf16",
    operand="bf16",
    accumulator="f32",
    features=("amx-tile", "amx-bf16", "avx512bf16"),
    instruction="tdpbf16ps",
    queries=64,
    instructions=_tile_instructions,
    accumulators=(2, 2),
    has_tiles=True,
)
"""AMX: a product of tiles of 16 rows of 64 bytes each, of which there are eight registers."""

AMX_F16 = replace(AMX, dtype="f16", terms=2)
"""The same for f16, whose 11 bits two numbers of bf16 hold: three products, without that of both rests."""

UNITS = (AMX, AMX_F16, VDPBF16PS)
"""The fastest first."""
