"""Points of a grid, numbered with the last dimension fastest."""

from mlir import ir
from mlir.dialects import arith


def coordinates_of(point: ir.Value, sizes: list[int]) -> list[ir.Value]:
    """Split a point's number into one coordinate for each dimension of the grid."""
    if not sizes:
        return []
    index = ir.IndexType.get()
    coordinates: list[ir.Value] = []
    rest = point
    for size in reversed(sizes[1:]):
        extent = arith.constant(index, size)
        coordinates.insert(0, arith.remui(rest, extent))
        rest = arith.divui(rest, extent)
    return [rest, *coordinates]
