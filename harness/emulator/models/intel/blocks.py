"""Builtins that a sub-group reads and writes blocks of a matrix with: cl_intel_subgroup_2d_block_io 1.1."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.emulator.models.intel.mangling import spelled_out
from harness.emulator.models.model import Model, collective


@dataclass(frozen=True)
class BlockShape:
    """A shape that 2-D block builtins exist for, as their names spell it."""

    bits: int
    """Of an element."""
    rows: int
    columns: int
    """Of one block in memory."""
    blocks: int
    """Side by side."""

    def __str__(self) -> str:
        return f"{self.bits}b_{self.rows}r{self.columns}x{self.blocks}c"


def _shapes(bits: int, rows: Iterable[int], columns: int, most_blocks: int = 1) -> list[BlockShape]:
    return [
        BlockShape(bits, count, columns, blocks) for count in rows for blocks in range(1, most_blocks + 1)
    ]


READS = [*_shapes(16, (1, 2, 4, 8, 16, 32), 16, 2), *_shapes(32, (1, 2, 4, 8, 16, 32), 16)]

SHAPES = {
    "read": READS,
    "read_transform": _shapes(16, (16, 32), 16, 2),
    "read_transpose": _shapes(32, (16,), 8),
    "write": [*_shapes(16, (1, 2, 4, 8), 16), *_shapes(32, (1, 2, 4, 8), 16)],
    "prefetch": READS,
}
"""The shapes of 16 columns that each kind of builtin has, for elements of 16 and 32 bits.

Transposing reads of 32 rows exist as well and are not modelled: SPV_INTEL_2d_block_io gives lane l two
neighbouring rows, while the hardware's registers hold rows l and l + 16 there, as Intel's CUTLASS expects.
"""

_SURFACE = "PU3AS1viiiDv2_i"
"""Types of base address, width, height, pitch and coordinate."""


def block_builtin(kind: str, shape: BlockShape) -> str:
    """Return the name of a builtin; the lane's own array, where it has one, is of uint if it is packed."""
    own = "Pt" if shape.bits == 16 and kind != "read_transform" else "Pj"
    name = f"intel_sub_group_2d_block_{kind}_{shape}"
    return spelled_out(name, _SURFACE, "" if kind == "prefetch" else own)


def block_models() -> Iterator[tuple[str, Model]]:
    """Yield the 2-D block builtins with their models."""
    for kind, shapes in SHAPES.items():
        symbol = f"intel_2d_block_{'read' if kind == 'read_transform' else kind}"
        for shape in shapes:
            model = collective(symbol, shape.bits // 8, shape.rows, shape.columns, shape.blocks)
            yield block_builtin(kind, shape), model
