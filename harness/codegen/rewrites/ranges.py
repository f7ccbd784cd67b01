"""Which part of a dimension a tile covers, and slices made of such parts."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import tensor

from harness.codegen.ir import builder as b
from harness.codegen.ir.builder import Size
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.divisors import known_divisor


@dataclass(frozen=True)
class Range:
    """Elements `offset … offset + size` of one dimension."""

    offset: Size
    size: Size
    is_whole: bool = False
    """Whether it is the whole dimension."""
    is_dropped: bool = False
    """Whether the tile has no dimension for it; its size is 1."""
    unshifted: Size | None = None
    """Where the range would start had it not been moved back to end with the dimension; elements before
    that belong to the previous tile."""

    @property
    def is_point(self) -> bool:
        """Whether it is a single element, statically."""
        return self.size == 1

    def key(self) -> tuple[Hashable, ...]:
        """Return what makes two ranges of one dimension the same."""
        if self.is_whole:
            return "whole", self.is_dropped
        return identity(self.offset), identity(self.size), self.is_dropped


Ranges = tuple[Range, ...]


def is_whole(ranges: Ranges) -> bool:
    """Whether the ranges cover a tensor and keep its rank."""
    return all(part.is_whole and not part.is_dropped for part in ranges)


def kept_axes(ranges: Ranges) -> list[int]:
    """Return the axes that the tile has."""
    return [axis for axis, part in enumerate(ranges) if not part.is_dropped]


def kept_sizes(ranges: Ranges) -> list[Size]:
    """Return the tile's shape."""
    return [part.size for part in ranges if not part.is_dropped]


def extract(source: ir.Value, ranges: Ranges) -> ir.Value:
    """Return the tile of a tensor; the tensor itself if the ranges cover it."""
    if is_whole(ranges):
        return source
    offsets, sizes = [part.offset for part in ranges], [part.size for part in ranges]
    return b.slice_of(source, offsets, sizes, kept_axes(ranges))


def insert(tile: ir.Value, destination: ir.Value, ranges: Ranges) -> ir.Value:
    """Return the destination with its tile replaced; the tile itself if the ranges cover it."""
    if is_whole(ranges):
        return tile if tile.type == destination.type else tensor.cast(destination.type, tile)
    return b.insert(tile, destination, [part.offset for part in ranges], [part.size for part in ranges])


def add(left: Size, right: Size) -> Size:
    """Return the sum of two index values."""
    left, right = folded(left), folded(right)
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        constant = right
        return left if constant == 0 else b.affine_value(lambda x: x + constant, left)
    return b.affine_value(lambda x, y: x + y, left, right)


def subtract(left: Size, right: Size) -> Size:
    """Return the difference of two index values."""
    if isinstance(right, int):
        return add(left, -right)
    if isinstance(left, int):
        constant = left
        return b.affine_value(lambda x: constant - x, right)
    return b.affine_value(lambda x, y: x - y, left, right)


def multiply(left: Size, right: int) -> Size:
    """Return an index value times a constant."""
    if isinstance(left, int):
        return left * right
    return left if right == 1 else b.affine_value(lambda x: x * right, left)


def floor_divide(left: Size, right: int) -> Size:
    """Return an index value divided by a constant, rounded down."""
    if isinstance(left, int):
        return left // right
    return left if right == 1 else b.affine_value(lambda x: ir.AffineExpr.get_floor_div(x, right), left)


def ceil_divide(left: Size, right: int) -> Size:
    """Return an index value divided by a constant, rounded up."""
    if isinstance(left, int):
        return -(-left // right)
    return left if right == 1 else b.affine_value(lambda x: ir.AffineExpr.get_ceil_div(x, right), left)


def round_down(left: Size, right: int) -> Size:
    """Return the largest multiple of a constant that is no larger than an index value."""
    return multiply(floor_divide(left, right), right)


def remainder(left: Size, right: int) -> Size:
    """Return an index value modulo a constant."""
    if isinstance(left, int):
        return left % right
    return 0 if right == 1 else b.affine_value(lambda x: ir.AffineExpr.get_mod(x, right), left)


def minimum(*values: Size) -> Size:
    """Return the least of several index values."""
    return _extreme(values, min, b.affine_minimum)


def maximum(*values: Size) -> Size:
    """Return the largest of several index values."""
    return _extreme(values, max, b.affine_maximum)


def as_value(size: Size) -> ir.Value:
    """Return an index value as SSA value."""
    return b.index(size) if isinstance(size, int) else size


def identity(size: Size) -> Hashable:
    """Return what index values that are computed alike have in common."""
    size = folded(size)
    if isinstance(size, int) or not isinstance(size, ir.OpResult):
        return size
    owner = size.owner
    if owner.name in ("affine.apply", "affine.min", "affine.max"):
        return owner.name, str(owner.attributes["map"]), *(identity(operand) for operand in owner.operands)
    if owner.name == "tensor.dim":
        return owner.name, owner.operands[0], identity(owner.operands[1])
    return size


def is_multiple(size: Size, factor: int) -> bool:
    """Whether an index value is known to be a multiple of a number."""
    return (size if isinstance(size, int) else known_divisor(size)) % factor == 0


def folded(size: Size) -> Size:
    """Return the integer behind a constant."""
    constant = None if isinstance(size, int) else constant_index(size)
    return size if constant is None else constant


def _extreme(
    values: Sequence[Size],
    of_integers: Callable[[list[int]], int],
    of_values: Callable[..., ir.Value],
) -> Size:
    constants = [value for value in values if isinstance(value, int)]
    others = [value for value in values if not isinstance(value, int)]
    if not others:
        return of_integers(constants)
    return of_values(lambda *dims: [*dims, *([of_integers(constants)] if constants else [])], *others)
