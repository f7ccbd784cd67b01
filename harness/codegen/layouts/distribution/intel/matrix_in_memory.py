"""A matrix in memory, as 2-D block messages name it: what its rows have to be like, and where a tile begins.

All matrices of a buffer are one, row below row: its base is the buffer's.  Where a tile may go beyond the
rows of its own matrix, the height ends there, so that what is beyond counts as outside.  Of a packed buffer,
whose heads lie side by side, each head is a matrix of its own, with a base of its own and the buffer's pitch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, memref

from harness.codegen.ir.builder import Size
from harness.codegen.ir.constants import constant_float, constant_index
from harness.codegen.ir.divisors import known_divisor
from harness.codegen.ir.slices import kept_dimensions, mixed_values
from harness.codegen.ir.walk import producer_of
from harness.codegen.layouts.constraints import in_shared_memory
from harness.codegen.layouts.distribution.addresses import AxisIndices
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.intel.block_messages import WORD_BYTES
from harness.codegen.layouts.distribution.lane_coordinates import index
from harness.codegen.layouts.distribution.transfers import bytes_of, open_axes, start_of
from harness.codegen.layouts.formulas import Formula, formula
from harness.codegen.layouts.layout import Layout, Level

LEAST_WIDTH_BYTES, MOST_WIDTH_BYTES = 64, 1 << 24
PITCH_MULTIPLE = 16
"""In bytes, a multiple of what widths are one of (cl_intel_subgroup_2d_block_io, "Restrictions")."""
MOST_ROWS = 1 << 24

BASE_ALIGNMENT = 64
"""Bytes."""

ROW_AXIS = -2
ADDRESS_OF = "memref.extract_aligned_pointer_as_index"


def address_type() -> ir.Type:
    """Return the type of addresses, as descriptors take them."""
    return ir.IntegerType.get_signless(64)


def can_be_named(transfer: ir.OpView, first: int) -> bool:
    """Return whether block messages can name the matrix of a transfer; `first` is as for `start_of`.

    Buffers begin at a multiple of 64 bytes, which drivers of such devices allocate them at.
    """
    operands = list(transfer.operands)
    held, last_index = operands[first - 1], operands[first + operands[first - 1].type.rank - 1]
    element_bytes = bytes_of(ir.MemRefType(held.type).element_type)
    if "mask" in transfer.attributes or known_divisor(last_index) * element_bytes % WORD_BYTES:
        return False
    if _is_side_by_side(held):
        return _can_name_one_of_several(held)
    buffer = _argument_with(held)
    if buffer is None or in_shared_memory(buffer):
        return False
    *outer, columns = ir.MemRefType(buffer.type).shape
    pitch = columns * element_bytes
    return (
        len(outer) > 0
        and LEAST_WIDTH_BYTES <= pitch <= MOST_WIDTH_BYTES
        and pitch % PITCH_MULTIPLE == 0
        and math.prod(outer) <= MOST_ROWS
    )


def is_padded_with_zeros(read: ir.OpView) -> bool:
    """Return whether what a read has out of bounds is 0, or nothing is."""
    if not open_axes(read):
        return True
    padding = list(read.operands)[-1]
    return constant_index(padding) == 0 or constant_float(padding) == 0.0


@dataclass(frozen=True)
class MatrixInMemory:
    """The rows of a buffer, one below the other, and where a sub-group's tile is among them."""

    base: ir.Value
    """Address, 64 bits."""
    rows: ir.Value
    """Up to where there are any, an `index`."""
    columns: int
    pitch: int
    """Elements from one row to the next."""
    tile: AxisIndices
    outer_shape: tuple[int, ...]
    """Sizes of the axes that make up its rows."""

    @classmethod
    def of(
        cls, distributor: Distributor, transfer: ir.OpView, first: int, layout: Layout | None
    ) -> "MatrixInMemory":
        """Return the matrix of a transfer of a value in that layout, or of a prefetch, which has none.

        All sub-groups name the tile of a prefetch alike, and it lies within its rows.
        """
        held, *indices = list(transfer.operands)[first - 1 :]
        if layout is None:
            start, of_warp = distributor.scalars(indices), [Formula(()), Formula(())]
        else:
            start = start_of(distributor, transfer, first, distributor.scalar(held))
            of_warp = [formula(layout, axis).of_level(Level.WARP) for axis in range(2)]
        if _is_side_by_side(held):
            return cls._of_several(distributor, held, start, of_warp)
        buffer, in_buffer, end = _in_argument(distributor, held, start)
        *outer, columns = buffer.type.shape
        has_open_rows = ROW_AXIS in open_axes(transfer)
        return cls(
            base=_address(buffer),
            rows=_number([*in_buffer[:-2], end], outer) if has_open_rows else index(math.prod(outer)),
            columns=columns,
            pitch=columns,
            tile=AxisIndices(distributor.coordinates, buffer, in_buffer, of_warp),
            outer_shape=tuple(outer),
        )

    @classmethod
    def _of_several(
        cls, distributor: Distributor, held: ir.Value, start: list[ir.Value], of_warp: list[Formula]
    ) -> "MatrixInMemory":
        """Return the matrix, of several side by side, that a transfer begins in."""
        view, argument = distributor.scalar(held), distributor.scalar(held.owner.operands[0])
        rows, columns = held.type.shape[-2:]
        strides, _ = held.type.get_strides_and_offset()
        before = index(0)
        for position, stride in zip(start[:-2], strides[:-2], strict=True):
            before = arith.addi(before, arith.muli(position, index(stride)))
        in_bytes = arith.muli(before, index(bytes_of(held.type.element_type)))
        base = arith.addi(_address(argument), arith.index_cast(address_type(), in_bytes))
        tile = AxisIndices(distributor.coordinates, view, start, of_warp)
        return cls(base, index(rows), columns, strides[-2], tile, (rows,))

    def position(self, row: int, column: int) -> tuple[ir.Value, ir.Value]:
        """Return row and column, of all rows of the matrix, of what is there in the tile."""
        *outer, at = self.tile.of((row, column))
        return _number(outer[-len(self.outer_shape) :], self.outer_shape), at


def _is_side_by_side(buffer: ir.Value) -> bool:
    """Return whether a buffer is an argument that is seen transposed, with axes before those of its rows."""
    view = producer_of(buffer)
    return (
        view is not None
        and view.name == "memref.transpose"
        and isinstance(view.operands[0], ir.BlockArgument)
        and isinstance(view.operands[0].type.layout, ir.AffineMapAttr)
    )


def _can_name_one_of_several(buffer: ir.Value) -> bool:
    """Return whether messages can name each of the matrices that lie side by side in a buffer."""
    kind = ir.MemRefType(buffer.type)
    size = bytes_of(kind.element_type)
    strides, _ = kind.get_strides_and_offset()
    *outer, pitch, next_element = (stride * size for stride in strides)
    rows, width = kind.shape[-2], kind.shape[-1] * size
    return (
        next_element == size
        and LEAST_WIDTH_BYTES <= width <= pitch <= MOST_WIDTH_BYTES
        and width % WORD_BYTES == 0
        and pitch % PITCH_MULTIPLE == 0
        and all(stride % BASE_ALIGNMENT == 0 for stride in outer)
        and rows <= MOST_ROWS
    )


def _argument_with(buffer: ir.Value) -> ir.Value | None:
    """Return the kernel's argument that a buffer is, or of which it is whole rows of one matrix."""
    part = producer_of(buffer)
    if part is None:
        return buffer if isinstance(ir.MemRefType(buffer.type).layout, ir.AffineMapAttr) else None
    if part.name != "memref.subview" or not isinstance(part.operands[0], ir.BlockArgument):
        return None
    whole: ir.Value = part.operands[0]
    rank = whole.type.rank
    is_of_rows = (
        kept_dimensions(part, buffer) == [rank - 2, rank - 1]
        and mixed_values(part, "offsets")[-1] == 0
        and mixed_values(part, "strides") == [1] * rank
        and buffer.type.has_static_shape
        and buffer.type.shape[-1] == whole.type.shape[-1]
    )
    return whole if is_of_rows else None


def _in_argument(
    distributor: Distributor, held: ir.Value, start: Sequence[ir.Value]
) -> tuple[ir.Value, list[ir.Value], ir.Value]:
    part = producer_of(held)
    if part is None:
        return distributor.scalar(held), list(start), index(held.type.shape[-2])
    offsets = [_value(distributor, offset) for offset in mixed_values(part, "offsets")]
    end = arith.addi(offsets[-2], index(held.type.shape[-2]))
    moved = [*offsets[:-2], arith.addi(offsets[-2], start[0]), start[1]]
    return distributor.scalar(part.operands[0]), moved, end


def _address(argument: ir.Value) -> ir.Value:
    """Return where a kernel's argument begins, asked for once, where the kernel begins."""
    for use in argument.uses:
        if use.owner.operation.name == ADDRESS_OF:
            (cast,) = use.owner.operation.results[0].uses
            return cast.owner.operation.results[0]
    with ir.InsertionPoint.at_block_begin(argument.owner):
        address: ir.Value = arith.index_cast(
            address_type(), memref.extract_aligned_pointer_as_index(argument)
        )
    return address


def _value(distributor: Distributor, size: Size) -> ir.Value:
    return index(size) if isinstance(size, int) else distributor.scalar(size)


def _number(indices: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """Return how many elements stand before the one at some indices of an array without gaps."""
    total = indices[0]
    for position, size in zip(indices[1:], sizes[1:], strict=True):
        total = arith.addi(arith.muli(total, index(size)), position)
    return total
