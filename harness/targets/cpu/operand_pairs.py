"""Tiles in pairs along the reduction, as matrix instructions take them, and reading and writing of tiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mlir import ir
from mlir.dialects import vector

from harness.codegen.ir import builder as b
from harness.codegen.rewrites.ranges import as_value

PAIR = 2
"""Numbers of a 16-bit type, one after another along the reduction, that fill an element of 32 bits."""


@dataclass(frozen=True)
class Pairs:
    """A tile in pairs along the reduction: an element of 32 bits for each, or two neighbours of 16 bits."""

    tile: ir.Value
    depth_first: bool
    """Whether it has a row for each pair, else a row's pairs lie one after another."""

    @property
    def is_packed(self) -> bool:
        """Whether its elements are pairs."""
        return b.dtype_of(self.tile) == "i32"

    def position(self, row: b.Size, pair: ir.Value) -> list[ir.Value]:
        """Return where a pair of a row lies."""
        if self.depth_first:
            return [pair, as_value(row)]
        column = pair if self.is_packed else b.affine_value(lambda number: number * PAIR, pair)
        return [as_value(row), column]


class Instructions(Protocol):
    """How the instruction of a unit is written, and what it takes."""

    takes_rows: bool
    """Whether A's pairs have to lie one after another in rows."""

    def zero(self) -> ir.Value:
        """Build C without anything."""

    def read(self, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
        """Build C of a part of a tile."""

    def written(self, value: ir.Value, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
        """Build a tile with C as a part of it."""

    def left(self, factor: Pairs, row: b.Size, pair: ir.Value) -> ir.Value:
        """Build A, which begins at a pair of a row."""

    def right(self, factor: ir.Value, pair: ir.Value, column: b.Size) -> ir.Value:
        """Build B, which begins at a pair of a column, of a tile with a row for each pair."""

    def multiplied(self, accumulator: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        """Build C + A·B."""


def integers(*shape: int) -> ir.VectorType:
    """Return the type of a vector of pairs."""
    return ir.VectorType.get(shape, ir.IntegerType.get_signless(32))


def floats(*shape: int) -> ir.VectorType:
    """Return the type of a vector of f32."""
    return ir.VectorType.get(shape, ir.F32Type.get())


def read(kind: ir.VectorType, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
    """Return a vector of a tile's last axes that begins at a position; it lies inside."""
    nothing = b.zero(str(kind.element_type))
    places = [as_value(place) for place in position]
    mapping = ir.AffineMap.get_minor_identity(tile.type.rank, kind.rank)
    return vector.TransferReadOp(kind, tile, places, mapping, nothing, [True] * kind.rank).result


def write(value: ir.Value, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
    """Return a tile with a vector at a position along its last axes; it lies inside."""
    places = [as_value(place) for place in position]
    mapping = ir.AffineMap.get_minor_identity(tile.type.rank, value.type.rank)
    inside = [True] * value.type.rank
    return vector.TransferWriteOp(tile.type, value, tile, places, mapping, in_bounds=inside).result
