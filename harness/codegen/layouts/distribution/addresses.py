"""Where a tile's elements are in a buffer: what a kernel computes, and constants for each access."""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from mlir import ir
from mlir.dialects import arith, memref

from harness.codegen.ir.walk import producer_of
from harness.codegen.layouts.distribution.lane_coordinates import LaneCoordinates, index
from harness.codegen.layouts.formulas import Formula


class TileAddresses(ABC):
    """Addresses of the elements of a tile in a buffer."""

    buffer: ir.Value
    """What the addresses are indices of."""

    @abstractmethod
    def of(self, offsets: Sequence[int]) -> list[ir.Value]:
        """Return the indices of the element at constant offsets along the tile's axes."""


class AxisIndices(TileAddresses):
    """An index along each axis of the buffer, which can be compared with its size."""

    def __init__(
        self,
        coordinates: LaneCoordinates,
        buffer: ir.Value,
        start: Sequence[ir.Value],
        in_tile: Sequence[Formula],
    ) -> None:
        """Take a buffer, the indices of a tile's first element, and where in the tile lane and warp are.

        `in_tile` has a formula for each axis of the tile, which are the last axes of the buffer.
        """
        self.buffer = buffer
        self._outer = list(start[: -len(in_tile)])
        self._first = [
            arith.addi(position, coordinates.uniform(axis_formula))
            for position, axis_formula in zip(start[-len(in_tile) :], in_tile, strict=True)
        ]

    def of(self, offsets: Sequence[int]) -> list[ir.Value]:
        """Return an index for each axis."""
        return [*self._outer, *map(_moved, self._first, offsets)]


class LinearIndices(TileAddresses):
    """Numbers of elements in the buffer seen as one row.

    Two accesses of a tile differ by a constant, which becomes a part of the instructions.
    """

    def __init__(
        self,
        coordinates: LaneCoordinates,
        buffer: ir.Value,
        start: Sequence[ir.Value],
        in_tile: Sequence[Formula],
    ) -> None:
        """Take what `AxisIndices` takes, for a buffer without gaps, or such a buffer transposed."""
        strides, _ = buffer.type.get_strides_and_offset()
        self.buffer = in_row(_in_memory_order(buffer))
        self._strides = strides[-len(in_tile) :]
        scaled = [
            replace(term, stride=term.stride * stride)
            for axis_formula, stride in zip(in_tile, self._strides, strict=True)
            for term in axis_formula.terms
        ]
        self._first = arith.addi(_number(start, strides), coordinates.uniform(Formula(tuple(scaled))))

    def of(self, offsets: Sequence[int]) -> list[ir.Value]:
        """Return one index."""
        return [_moved(self._first, sum(map(operator.mul, offsets, self._strides)))]


def tile_addresses(
    coordinates: LaneCoordinates, buffer: ir.Value, start: Sequence[ir.Value], in_tile: Sequence[Formula]
) -> TileAddresses:
    """Return indices of one row, or one an axis in a buffer that is a part of another, with gaps."""
    has_gaps = not isinstance(_in_memory_order(buffer).type.layout, ir.AffineMapAttr)
    return (AxisIndices if has_gaps else LinearIndices)(coordinates, buffer, start, in_tile)


def _in_memory_order(buffer: ir.Value) -> ir.Value:
    """Return the buffer of which another is a view with its axes in another order, if it is one."""
    producer = producer_of(buffer)
    is_view = producer is not None and producer.name == "memref.transpose"
    return producer.operands[0] if producer is not None and is_view else buffer


def in_row(buffer: ir.Value) -> ir.Value:
    """Return a buffer as one row of elements, made once, where the buffer is defined."""
    if buffer.type.rank == 1:
        return buffer
    for use in buffer.uses:
        if use.owner.operation.name == "memref.collapse_shape":
            return use.owner.operation.results[0]
    count, space = math.prod(buffer.type.shape), buffer.type.memory_space
    kind = ir.MemRefType.get([count], buffer.type.element_type, memory_space=space)
    with _after(buffer):
        row: ir.Value = memref.collapse_shape(kind, buffer, [list(range(buffer.type.rank))])
    return row


def _after(value: ir.Value) -> ir.InsertionPoint:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(owner)
    return ir.InsertionPoint.after(owner.operation)


def _number(indices: Sequence[ir.Value], strides: Sequence[int]) -> ir.Value:
    total: ir.Value | None = None
    for position, stride in zip(indices, strides, strict=True):
        scaled = position if stride == 1 else arith.muli(position, index(stride))
        total = scaled if total is None else arith.addi(total, scaled)
    return index(0) if total is None else total


def _moved(position: ir.Value, offset: int) -> ir.Value:
    moved: ir.Value = position if offset == 0 else arith.addi(position, index(offset))
    return moved
