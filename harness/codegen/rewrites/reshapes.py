"""Tiles through operations that move or reshape data: expand_shape, collapse_shape, pad, extract_slice.

Each function returns which tile of the source a tile of the result is made of, and how, or the reason why
the one cannot be had from the other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mlir import ir
from mlir.dialects import tensor

from harness.codegen.ir import builder as b
from harness.codegen.ir.slices import kept_dimensions, mixed_values, reassociation
from harness.codegen.ir.walk import terminator_of
from harness.codegen.payloads.arguments import UNDOES_PADDING
from harness.codegen.rewrites.dimensions import size_of
from harness.codegen.rewrites.ranges import (
    Range,
    Ranges,
    add,
    floor_divide,
    is_multiple,
    kept_sizes,
    maximum,
    minimum,
    multiply,
    remainder,
    subtract,
)


@dataclass(frozen=True)
class SourceTile:
    """The tile of the source that a result's tile is made of."""

    source: ir.Value
    ranges: Ranges
    finish: Callable[[ir.Value], ir.Value]
    """Makes the result's tile of the source's tile."""


def source_tile(operation: ir.OpView, ranges: Ranges) -> SourceTile | str | None:
    """Return the source's tile for a tile of the operation's result.

    Returns a reason where the tile does not correspond to one tile of the source, None for operations that
    are not treated here.
    """
    handler = _HANDLERS.get(operation.name)
    return handler(operation, ranges) if handler else None


def _expand_shape(operation: ir.OpView, ranges: Ranges) -> SourceTile | str:
    """Split dimensions: the tile may cut one dimension of a group, single elements before it, all after."""
    shape = list(operation.results[0].type.shape)
    parts: list[Range] = []
    groups: list[list[int]] = []
    for group in reassociation(operation):
        part = _joined([ranges[axis] for axis in group], [shape[axis] for axis in group])
        if part is None:
            return "the tile is not contiguous in the dimension that is expanded"
        kept = [axis for axis in group if not ranges[axis].is_dropped]
        if not kept:
            part = Range(part.offset, part.size, is_dropped=True)
        else:
            groups.append(kept)
        parts.append(part)
    sizes = kept_sizes(ranges)
    return SourceTile(operation.operands[0], tuple(parts), lambda tile: _expanded(tile, groups, sizes))


def _joined(parts: Sequence[Range], shape: Sequence[int]) -> Range | None:
    """Return the contiguous range of a flattened group of dimensions, or None if there is none."""
    if all(part.is_whole for part in parts):
        size = parts[0].size
        for part in parts[1:]:
            if not isinstance(part.size, int):
                return None
            size = multiply(size, part.size)
        return Range(0, size, is_whole=True)
    first = next((axis for axis, part in enumerate(parts) if not part.is_point), len(parts) - 1)
    inner = shape[first + 1 :]
    if not all(part.is_whole for part in parts[first + 1 :]) or any(size < 0 for size in shape[1:]):
        return None
    offset: b.Size = 0
    for axis in range(first + 1):
        offset = add(offset, multiply(parts[axis].offset, math.prod(shape[axis + 1 :])))
    return Range(offset, multiply(parts[first].size, math.prod(inner)))


def _expanded(tile: ir.Value, groups: Sequence[Sequence[int]], sizes: Sequence[b.Size]) -> ir.Value:
    """Give a tile, one dimension a group, the dimensions of its groups."""
    if all(len(group) == 1 for group in groups):
        return tile
    positions = iter(range(len(sizes)))
    nested = [[next(positions) for _ in group] for group in groups]
    dynamic, static = b.split_sizes(sizes)
    result = ir.RankedTensorType.get(static, tile.type.element_type)
    return tensor.ExpandShapeOp(result, tile, nested, dynamic, static).result


def _collapse_shape(operation: ir.OpView, ranges: Ranges) -> SourceTile | str:
    """Join dimensions: the tile must be everything, whole rows of the inner ones, or a part of one row."""
    shape = list(operation.operands[0].type.shape)
    parts: list[Range] = []
    groups: list[list[int]] = []
    for axis, group in enumerate(reassociation(operation)):
        sizes = [shape[source_axis] for source_axis in group]
        split = _split(ranges[axis], sizes)
        if split is None:
            return "the tile is neither whole rows of the dimensions that are collapsed nor a part of one"
        if ranges[axis].is_dropped:
            split = [replace(part, is_dropped=True, is_whole=False) for part in split]
        else:
            groups.append(list(range(len(split))))
        parts += split
    result_sizes = kept_sizes(ranges)
    return SourceTile(
        operation.operands[0], tuple(parts), lambda tile: _collapsed(tile, groups, result_sizes)
    )


def _split(part: Range, sizes: Sequence[int]) -> list[Range] | None:
    """Return the ranges of the dimensions that a range of their flattened group covers, or None."""
    if len(sizes) == 1:
        return [part]
    if ir.ShapedType.get_dynamic_size() in sizes[1:]:
        return None
    inner = math.prod(sizes[1:])
    if part.is_whole:
        outer = floor_divide(part.size, inner)
        return [Range(0, outer, is_whole=True), *(Range(0, size, is_whole=True) for size in sizes[1:])]
    if sizes[0] == 1:
        rest = _split(part, sizes[1:])
        return None if rest is None else [Range(0, 1, is_whole=True), *rest]
    if not isinstance(part.size, int):
        return None
    if part.size % inner == 0 and is_multiple(part.offset, inner):
        rows = Range(floor_divide(part.offset, inner), part.size // inner)
        return [rows, *(Range(0, size, is_whole=True) for size in sizes[1:])]
    if inner % part.size == 0 and is_multiple(part.offset, part.size):
        row = Range(floor_divide(part.offset, inner), 1)
        rest = _split(Range(remainder(part.offset, inner), part.size), sizes[1:])
        return None if rest is None else [row, *rest]
    return None


def _collapsed(tile: ir.Value, groups: Sequence[Sequence[int]], sizes: Sequence[b.Size]) -> ir.Value:
    if all(len(group) == 1 for group in groups):
        return tile
    positions = iter(range(tile.type.rank))
    nested = [[next(positions) for _ in group] for group in groups]
    result = ir.RankedTensorType.get(b.split_sizes(sizes)[1], tile.type.element_type)
    return tensor.CollapseShapeOp(result, tile, nested).result


def _extract_slice(operation: ir.OpView, ranges: Ranges) -> SourceTile | str:
    """Compose two slices; the inner one must have unit strides and keep all dimensions or drop them first."""
    offsets, sizes = mixed_values(operation, "offsets"), mixed_values(operation, "sizes")
    keeps_padding = UNDOES_PADDING in operation.attributes
    if any(stride != 1 for stride in mixed_values(operation, "strides")):
        return "the slice has strides other than 1"
    kept = kept_dimensions(operation, operation.results[0])
    by_axis = dict(zip(kept, ranges, strict=True))
    parts: list[Range] = []
    is_cut = False
    for axis, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if axis in by_axis:
            part = by_axis[axis]
            if keeps_padding and part.is_whole:
                length = size_of(operation.operands[0], axis)
                is_cut |= length != size
                parts.append(Range(0, length, is_whole=True))
                continue
            parts.append(Range(add(offset, part.offset), part.size, is_dropped=part.is_dropped))
        else:
            parts.append(Range(offset, size, is_dropped=True))
    shape = kept_sizes(ranges)

    def finish(tile: ir.Value) -> ir.Value:
        return b.slice_of(tile, [0] * len(shape), shape) if is_cut else tile

    return SourceTile(operation.operands[0], tuple(parts), finish)


def _pad(operation: ir.OpView, ranges: Ranges) -> SourceTile | str:
    """Slice what lies inside the source and pad the rest: the tile's own low and high padding."""
    value = pad_value(operation)
    if value is None:
        return "it pads with values that depend on the position"
    source = operation.operands[0]
    lows, highs = mixed_values(operation, "low"), mixed_values(operation, "high")
    parts, tile_lows, tile_highs = [], [], []
    for axis, part in enumerate(ranges):
        low, high = lows[axis], highs[axis]
        if low == 0 and high == 0:
            parts.append(part)
            padding: tuple[b.Size, b.Size] = (0, 0)
        elif part.is_whole:
            parts.append(Range(0, size_of(source, axis), is_whole=True))
            padding = (low, high)
        elif part.is_dropped:
            return "a tile of single elements may lie wholly in the padding"
        else:
            inside, padding = _clamped(part, low, size_of(source, axis))
            parts.append(inside)
        if not part.is_dropped:
            tile_lows.append(padding[0])
            tile_highs.append(padding[1])
    sizes = kept_sizes(ranges)

    def finish(tile: ir.Value) -> ir.Value:
        is_padded = any(amount != 0 for amount in [*tile_lows, *tile_highs])
        return b.pad(tile, tile_lows, tile_highs, sizes, value) if is_padded else tile

    return SourceTile(source, tuple(parts), finish)


def _clamped(part: Range, low: b.Size, size: b.Size) -> tuple[Range, tuple[b.Size, b.Size]]:
    """Return the range inside the source and how much of the tile lies before and after it."""
    start = minimum(maximum(subtract(part.offset, low), 0), size)
    end = minimum(maximum(subtract(add(part.offset, part.size), low), 0), size)
    before = minimum(maximum(subtract(low, part.offset), 0), part.size)
    inside = subtract(end, start)
    after = subtract(subtract(part.size, before), inside)
    return Range(start, inside), (before, after)


def pad_value(operation: ir.OpView) -> ir.Value | None:
    """Return what a `tensor.pad` pads with; None where that depends on the position."""
    block = operation.regions[0].blocks[0]
    value = terminator_of(block).operands[0]
    if isinstance(value, ir.OpResult) and value.owner.operation.block == block:
        return None
    return None if isinstance(value, ir.BlockArgument) and value.owner == block else value


_HANDLERS: dict[str, Callable[[ir.OpView, Ranges], SourceTile | str]] = {
    "tensor.expand_shape": _expand_shape,
    "tensor.collapse_shape": _collapse_shape,
    "tensor.extract_slice": _extract_slice,
    "tensor.pad": _pad,
}
