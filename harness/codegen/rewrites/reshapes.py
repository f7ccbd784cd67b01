"""Tiles through operations that move or reshape data: expand_shape, collapse_shape, pad, extract_slice.

Each function returns which tile of the source a tile of the result is made of, and how, or None where the one
cannot be had from the other.
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


def source_tile(operation: ir.OpView, ranges: Ranges) -> SourceTile | None:
    """Return the source's tile for a tile of the operation's result, None where there is no such tile."""
    handler = _HANDLERS.get(operation.name)
    return handler(operation, ranges) if handler else None


def _expand_shape(operation: ir.OpView, ranges: Ranges) -> SourceTile | None:
    """Split dimensions: the tile may cut one dimension of a group, single elements before it, all after."""
    shape = list(operation.results[0].type.shape)
    parts: list[Range] = []
    groups: list[list[int]] = []
    for group in reassociation(operation):
        part = _joined([ranges[axis] for axis in group], [shape[axis] for axis in group])
        if part is None:
            return None
        kept = [axis for axis in group if not ranges[axis].is_dropped]
        if not kept:
            part = Range(part.offset, part.size, is_dropped=True)
        else:
            groups.append(kept)
        parts.append(part)
    sizes = kept_sizes(ranges)

    def expanded(tile: ir.Value) -> ir.Value:
        if all(len(group) == 1 for group in groups):
            return tile
        dynamic, static = b.split_sizes(sizes)
        result = ir.RankedTensorType.get(static, tile.type.element_type)
        return tensor.ExpandShapeOp(result, tile, _numbered(groups), dynamic, static).result

    return SourceTile(operation.operands[0], tuple(parts), expanded)


def _joined(parts: Sequence[Range], shape: Sequence[int]) -> Range | None:
    """Return the contiguous range of a flattened group of dimensions, or None if there is none."""
    if all(part.is_whole for part in parts):
        return Range(0, multiply(parts[0].size, math.prod(shape[1:])), is_whole=True)
    first = next((axis for axis, part in enumerate(parts) if not part.is_point), len(parts) - 1)
    if not all(part.is_whole for part in parts[first + 1 :]):
        return None
    offset: b.Size = 0
    for axis in range(first + 1):
        offset = add(offset, multiply(parts[axis].offset, math.prod(shape[axis + 1 :])))
    return Range(offset, multiply(parts[first].size, math.prod(shape[first + 1 :])))


def _numbered(groups: Sequence[Sequence[object]]) -> list[list[int]]:
    positions = iter(range(sum(map(len, groups))))
    return [[next(positions) for _ in group] for group in groups]


def _collapse_shape(operation: ir.OpView, ranges: Ranges) -> SourceTile | None:
    """Join dimensions: the tile must be everything, whole rows of the inner ones, or a part of one row."""
    shape = list(operation.operands[0].type.shape)
    parts: list[Range] = []
    groups: list[list[Range]] = []
    for axis, group in enumerate(reassociation(operation)):
        split = _split(ranges[axis], [shape[source_axis] for source_axis in group])
        if split is None:
            return None
        if ranges[axis].is_dropped:
            split = [replace(part, is_dropped=True, is_whole=False) for part in split]
        else:
            groups.append(split)
        parts += split
    sizes = kept_sizes(ranges)

    def collapsed(tile: ir.Value) -> ir.Value:
        if all(len(group) == 1 for group in groups):
            return tile
        result = ir.RankedTensorType.get(b.split_sizes(sizes)[1], tile.type.element_type)
        return tensor.CollapseShapeOp(result, tile, _numbered(groups)).result

    return SourceTile(operation.operands[0], tuple(parts), collapsed)


def _split(part: Range, sizes: Sequence[int]) -> list[Range] | None:
    """Return the ranges of the dimensions that a range of their flattened group covers, or None."""
    if len(sizes) == 1:
        return [part]
    inner = math.prod(sizes[1:])
    whole_inner = [Range(0, size, is_whole=True) for size in sizes[1:]]
    if part.is_whole:
        return [Range(0, floor_divide(part.size, inner), is_whole=True), *whole_inner]
    if sizes[0] == 1:
        rest = _split(part, sizes[1:])
        return None if rest is None else [Range(0, 1, is_whole=True), *rest]
    if not isinstance(part.size, int):
        return None
    if part.size % inner == 0 and is_multiple(part.offset, inner):
        return [Range(floor_divide(part.offset, inner), part.size // inner), *whole_inner]
    if inner % part.size == 0 and is_multiple(part.offset, part.size):
        row = Range(floor_divide(part.offset, inner), 1)
        rest = _split(Range(remainder(part.offset, inner), part.size), sizes[1:])
        return None if rest is None else [row, *rest]
    return None


def _extract_slice(operation: ir.OpView, ranges: Ranges) -> SourceTile | None:
    """Compose two slices; the inner one must have unit strides and keep all dimensions or drop them first."""
    source, shape = operation.operands[0], kept_sizes(ranges)
    if any(stride != 1 for stride in mixed_values(operation, "strides")):
        return None
    by_axis = dict(zip(kept_dimensions(operation, operation.results[0]), ranges, strict=True))
    parts: list[Range] = []
    is_cut = False
    places = zip(mixed_values(operation, "offsets"), mixed_values(operation, "sizes"), strict=True)
    for axis, (offset, size) in enumerate(places):
        part = by_axis.get(axis)
        if part is None:
            parts.append(Range(offset, size, is_dropped=True))
        elif part.is_whole and UNDOES_PADDING in operation.attributes:
            is_cut |= source.type.shape[axis] != size
            parts.append(Range(0, source.type.shape[axis], is_whole=True))
        else:
            parts.append(Range(add(offset, part.offset), part.size, is_dropped=part.is_dropped))

    def cut(tile: ir.Value) -> ir.Value:
        return b.slice_of(tile, [0] * len(shape), shape) if is_cut else tile

    return SourceTile(source, tuple(parts), cut)


def _pad(operation: ir.OpView, ranges: Ranges) -> SourceTile | None:
    """Slice what lies inside the source and pad the rest: the tile's own low and high padding.

    A tile of single elements may lie wholly in the padding: it has no dimension to be padded along.
    """
    value, source = pad_value(operation), operation.operands[0]
    if value is None:
        return None
    parts, tile_lows, tile_highs = [], [], []
    paddings = zip(mixed_values(operation, "low"), mixed_values(operation, "high"), strict=True)
    for axis, (part, (low, high)) in enumerate(zip(ranges, paddings, strict=True)):
        size, padding = b.size_of(source, axis), (low, high)
        if low == 0 and high == 0:
            parts.append(part)
        elif part.is_whole:
            parts.append(Range(0, size, is_whole=True))
        elif part.is_dropped:
            return None
        else:
            inside, padding = _clamped(part, low, size)
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


_HANDLERS: dict[str, Callable[[ir.OpView, Ranges], SourceTile | None]] = {
    "tensor.expand_shape": _expand_shape,
    "tensor.collapse_shape": _collapse_shape,
    "tensor.extract_slice": _extract_slice,
    "tensor.pad": _pad,
}
