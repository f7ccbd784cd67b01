"""The rule for prefetches of a tile: the sub-groups of a workgroup share its blocks."""

from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.intel.block_messages import LANES, MOST_BLOCKS, WORD_BYTES
from harness.codegen.layouts.distribution.intel.matrix_in_memory import MatrixInMemory, can_be_named
from harness.codegen.layouts.distribution.intel.xegpu_operations import Block, descriptor, prefetch
from harness.codegen.layouts.distribution.lane_coordinates import index
from harness.codegen.layouts.distribution.transfers import PREFETCHED_TILE, bytes_of

INDEX = 1
"""Number of the first index operand of a `memref.prefetch`."""
BLOCK_ROWS = (32, 16, 8, 4, 2, 1)
"""Rows that a message may name (cl_intel_subgroup_2d_block_io)."""


@dataclass(frozen=True)
class SharedBlocks:
    """How sub-groups share a tile: blocks of equal size, numbered row by row."""

    rows: int
    """Of a block, like the columns."""
    columns: int
    across: int
    """Blocks side by side."""
    count: int
    sub_groups: int

    @property
    def rounds(self) -> range:
        """Messages of each sub-group."""
        return range(-(-self.count // self.sub_groups))

    @property
    def is_even(self) -> bool:
        """Whether all sub-groups have a block of their own in every round; else some have one twice."""
        return self.count % self.sub_groups == 0


def shared_blocks(rows: int, columns: int, element_bytes: int, sub_groups: int) -> SharedBlocks:
    """Return the largest blocks of which there is one for each sub-group, as far as rows can be divided."""
    is_pair = element_bytes < WORD_BYTES and columns % (MOST_BLOCKS * LANES) == 0
    width = MOST_BLOCKS * LANES if is_pair else LANES
    across = -(-columns // width)
    fitting = [height for height in BLOCK_ROWS if rows % height == 0]
    enough = [height for height in fitting if rows // height * across >= sub_groups]
    height = enough[0] if enough else fitting[-1]
    return SharedBlocks(height, width, across, rows // height * across, sub_groups)


def is_prefetch(distributor: Distributor, operation: ir.OpView) -> bool:
    """Return whether a prefetch is one of a tile."""
    return PREFETCHED_TILE in operation.attributes


def distribute_prefetch(distributor: Distributor, operation: ir.OpView) -> None:
    """Ask for the blocks of a tile; for nothing where messages cannot name its matrix."""
    if not can_be_named(operation, INDEX):
        return
    rows, columns = ir.DenseI64ArrayAttr(operation.attributes[PREFETCHED_TILE])
    matrix = MatrixInMemory.of(distributor, operation, INDEX, None)
    element = ir.MemRefType(operation.operands[0].type).element_type
    blocks = shared_blocks(rows, columns, bytes_of(element), distributor.analysis.tiling.warps)
    block = Block(blocks.rows, LANES, element, blocks.columns // LANES)
    described = descriptor(matrix.base, matrix.rows, matrix.columns, matrix.pitch, block)
    first_row, first_column = matrix.position(0, 0)
    for row, column in places(blocks, distributor.coordinates.warp):
        prefetch(described, arith.addi(first_row, row), arith.addi(first_column, column))


def places(blocks: SharedBlocks, warp: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Yield row and column of each block of a sub-group in the tile."""
    warp = arith.remui(warp, index(blocks.sub_groups))
    for round_ in blocks.rounds:
        number = arith.addi(warp, index(round_ * blocks.sub_groups))
        if not blocks.is_even:
            number = arith.remui(number, index(blocks.count))
        row, column = arith.divui(number, index(blocks.across)), arith.remui(number, index(blocks.across))
        yield arith.muli(row, index(blocks.rows)), arith.muli(column, index(blocks.columns))
