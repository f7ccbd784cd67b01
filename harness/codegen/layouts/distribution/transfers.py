"""What reads, writes and copies of a tile share: its bounds, and where its elements lie."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mlir import ir
from mlir.dialects import arith

from harness.codegen.ir.builder import Size
from harness.codegen.ir.divisors import known_divisor
from harness.codegen.ir.slices import mixed_values
from harness.codegen.layouts.alignment import BUFFER_ALIGNMENT, TileAlignment
from harness.codegen.layouts.contiguous_accesses import ContiguousAccess, contiguous_accesses
from harness.codegen.layouts.distribution.addresses import AxisIndices, TileAddresses, tile_addresses
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.lane_coordinates import UNIFORM, index
from harness.codegen.layouts.formulas import formula
from harness.codegen.layouts.layout import Layout
from harness.system.errors import BuildError

LAST_AXIS = -1

BY_STEP = "by_step"
"""Attribute of a read of an operand, of which each load is for one step of a product."""
PREFETCHED_TILE = "tile"
"""Attribute of a `memref.prefetch`: rows and columns of what a workgroup asks for there."""


def bytes_of(element: ir.Type) -> int:
    """Return the bytes of an element."""
    return element.width // 8


def open_axes(transfer: ir.OpView) -> list[int]:
    """Return the axes of a transfer's vector that may go out of bounds, counted from the last one, -1."""
    flags = [ir.BoolAttr(flag).value for flag in transfer.attributes.get("in_bounds", [])]
    return [axis - len(flags) for axis, is_inside in enumerate(flags) if not is_inside]


def accesses_within(layout: Layout, element: ir.Type, axes: list[int]) -> Iterator[ContiguousAccess]:
    """Yield a lane's accesses, each of elements that are all within bounds, or all beyond.

    `axes` are the open ones.  Where the last one is open, every element is an access of its own.
    """
    for access in contiguous_accesses(layout, bytes_of(element)):
        if LAST_AXIS not in axes:
            yield access
            continue
        for offset in range(access.length):
            yield replace(access, register=access.register + offset, length=1)


def is_inside(buffer: ir.Value, indices: list[ir.Value], axes: list[int]) -> ir.Value:
    """Return whether an element exists, as far as these axes of its buffer are concerned."""
    conditions = [
        arith.cmpi(arith.CmpIPredicate.ult, indices[axis], index(buffer.type.shape[axis])) for axis in axes
    ]
    result = conditions[0]
    for condition in conditions[1:]:
        result = arith.andi(result, condition)
    return result


def nearest_inside(buffer: ir.Value, indices: list[ir.Value], axes: list[int]) -> list[ir.Value]:
    """Return indices of an element that exists: those along these axes are cut."""
    cut = list(indices)
    for axis in axes:
        cut[axis] = arith.minui(indices[axis], index(buffer.type.shape[axis] - 1))
    return cut


def start_of(distributor: Distributor, transfer: ir.OpView, first: int, buffer: ir.Value) -> list[ir.Value]:
    """Return where a transfer starts; `first` is the number of its first index operand.

    Raises `BuildError` if it is transposed.
    """
    mapping = ir.AffineMapAttr(transfer.attributes["permutation_map"]).value
    rank = buffer.type.rank
    kept = [ir.AffineDimExpr.get(rank - len(mapping.results) + axis) for axis in range(len(mapping.results))]
    if list(mapping.results) != kept:
        raise BuildError(f"a transfer by {mapping} cannot be distributed to lanes")
    return distributor.scalars(list(transfer.operands)[first : first + rank])


def addresses_of(
    distributor: Distributor,
    buffer: ir.Value,
    start: list[ir.Value],
    layout: Layout,
    *,
    are_compared: bool = False,
) -> TileAddresses:
    """Return where what the lane holds of a tile is in memory, axis by axis if indices are compared."""
    in_tile = [formula(layout, axis).of_level(*UNIFORM) for axis in range(len(layout.axes))]
    choose = AxisIndices if are_compared else tile_addresses
    return choose(distributor.coordinates, buffer, start, in_tile)


def offsets_of(layout: Layout, access: ContiguousAccess) -> list[int]:
    """Return where in the tile an access is, as far as it is the same for all lanes."""
    return [layout.constant_part(axis, access.fragment, access.register) for axis in range(len(layout.axes))]


def alignment_of(transfer: ir.OpView, first: int, layout: Layout) -> TileAlignment:
    """Return what is known of the addresses of a transfer's tile; `first` is as for `start_of`."""
    operands = list(transfer.operands)
    buffer = operands[first - 1]
    strides = _byte_strides(buffer)
    start = math.gcd(
        _alignment_of_buffer(buffer), _divisor_at(operands[first : first + len(strides)], strides)
    )
    return TileAlignment(layout, tuple(strides[-len(layout.axes) :]), start)


def alignment_of_rows(transfer: ir.OpView, first: int) -> int:
    """Return what divides the address of each row of a transfer's tile; `first` is as for `start_of`."""
    operands = list(transfer.operands)
    buffer = operands[first - 1]
    strides = _byte_strides(buffer)
    start = _divisor_at(operands[first : first + len(strides)], strides)
    return math.gcd(_alignment_of_buffer(buffer), start, *strides[:-1])


def _alignment_of_buffer(buffer: ir.Value) -> int:
    if isinstance(buffer.owner, ir.Block) or buffer.owner.name == "memref.alloc":
        return BUFFER_ALIGNMENT
    if buffer.owner.name == "memref.transpose":
        return _alignment_of_buffer(buffer.owner.operands[0])
    if buffer.owner.name != "memref.subview":
        return bytes_of(buffer.type.element_type)
    part = buffer.owner.opview
    whole = part.operands[0]
    return math.gcd(
        _alignment_of_buffer(whole), _divisor_at(mixed_values(part, "offsets"), _byte_strides(whole))
    )


def _divisor_at(indices: Sequence[Size], strides: Sequence[int]) -> int:
    divisors = [abs(index) if isinstance(index, int) else known_divisor(index) for index in indices]
    return math.gcd(*(divisor * stride for divisor, stride in zip(divisors, strides, strict=True)))


def _byte_strides(buffer: ir.Value) -> list[int]:
    """Return the bytes between neighbours along each axis of a buffer, or a number that divides them."""
    strides, _ = buffer.type.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return [bytes_of(buffer.type.element_type) * (1 if stride == unknown else stride) for stride in strides]
