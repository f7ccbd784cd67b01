"""The fragments of dpas for a sub-group of 16, row and column of a lane's i-th element, from two sources.

SPV_INTEL_subgroup_matrix_multiply_accumulate ("Mapping Matrix Data to Invocations") states them for operands
of 16 bits in words.  CUTLASS (`mma_traits_xe.hpp`) states shape and strides of lane and value, of which the
sum is the number of an element in a matrix that is stored column by column: m×k, n×k and m×n.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fragment_tables import Placement


def column_of_lane(lane: int, element: int) -> tuple[int, int]:
    """A and C: component i of invocation l is row i, column l."""
    return element, lane


def packed_rows(lane: int, element: int) -> tuple[int, int]:
    """B, k×n: component i of invocation l has rows 2i, in its low half, and 2i + 1 of column l."""
    component, half = divmod(element, 2)
    return 2 * component + half, lane


@dataclass(frozen=True)
class CuteLayout:
    """A layout of lanes and values over a matrix of so many rows."""

    lane_stride: int
    value_stride: int
    rows: int

    def placement(self) -> Placement:
        """Return row and column of an element."""

        def place(lane: int, element: int) -> tuple[int, int]:
            column, row = divmod(self.lane_stride * lane + self.value_stride * element, self.rows)
            return row, column

        return place


CUTLASS: dict[str, CuteLayout] = {
    "A": CuteLayout(lane_stride=8, value_stride=1, rows=8),
    "B": CuteLayout(lane_stride=1, value_stride=16, rows=16),
    "C": CuteLayout(lane_stride=8, value_stride=1, rows=8),
}
"""`XE_8x16x16_F32F16F16F32_TT`; B is n×k."""

SPIRV: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "A": column_of_lane,
    "B": packed_rows,
    "C": column_of_lane,
}
"""B is k×n."""


def plain_block(lane: int, element: int) -> tuple[int, int]:
    """A block read: component i of invocation l is row i, column l (SPV_INTEL_2d_block_io, 16 columns)."""
    return element, lane


def transformed_block(lane: int, element: int) -> tuple[int, int]:
    """A transforming read of 16 bits: component i has rows 2i and 2i + 1 of column l, the lower one lower."""
    component, half = divmod(element, 2)
    return 2 * component + half, lane


def transposed_block(lane: int, element: int) -> tuple[int, int]:
    """A transposing read of 32-bit words, of which each is two elements: component i is word i of row l."""
    word, half = divmod(element, 2)
    return lane, 2 * word + half
