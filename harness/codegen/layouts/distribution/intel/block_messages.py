"""2-D block messages: which layouts they give, and how the fragments of a tile are covered by them.

A sub-group names a block of a matrix in memory, and each lane gets its part of it in registers, in a layout
that belongs to the message (SPV_INTEL_2d_block_io, "Mapping Block Data to Invocations", for 16 lanes):

- a plain load gives lane l column l, row after row;
- a transforming load the same of 16-bit elements, with two rows in a register of 32 bits, as dpas takes B;
- a transposing load of 32-bit words gives lane l row l, so that 16-bit elements lie in neighbouring pairs.

What lies beyond the matrix is loaded as 0 and is not stored.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from harness.codegen.layouts.formulas import formula
from harness.codegen.layouts.layout import Layout, Level

LANES = 16
WORD_BYTES = 4
MOST_COMPONENTS = 16
"""Elements of a vector in SPIR-V, which a lane's part of a message is."""
MOST_BLOCKS = 2
"""Blocks of 16-bit elements that a load takes side by side: together as wide as a line of the cache."""
MOST_STORED_ROWS = 8


class Form(Enum):
    """How a message lays out a block."""

    PLAIN = "plain"
    TRANSFORMED = "transformed"
    TRANSPOSED = "transposed"


@dataclass(frozen=True)
class Message:
    """One message, for one fragment or for several side by side."""

    fragments: tuple[int, ...]
    """Those that it fills, or is filled from, in the order of their blocks."""
    row: int
    column: int
    """Where in the tile the block begins, in elements."""


def form_of(layout: Layout, element_bytes: int, *, is_packed: bool) -> Form | None:
    """Return the form of the message that gives a layout, None if none does.

    `is_packed` says that the value is an operand whose columns have two elements in a register.
    """
    if len(layout.axes) != 2 or layout.lanes != LANES:
        return None
    if _counts_lanes(layout, 1) and _counts_registers(layout, 0):
        if element_bytes == WORD_BYTES and not is_packed:
            return Form.PLAIN
        if element_bytes != WORD_BYTES // 2:
            return None
        return Form.TRANSFORMED if is_packed else Form.PLAIN
    is_words = layout.registers * element_bytes in (4, 8, 16, 32) and element_bytes <= WORD_BYTES
    if _counts_lanes(layout, 0) and _counts_registers(layout, 1) and is_words:
        return Form.TRANSPOSED
    return None


@functools.lru_cache(maxsize=256)
def messages(layout: Layout, blocks: int) -> tuple[Message, ...]:
    """Return the messages for all fragments of a tile; so many side by side share one where they can."""
    return tuple(_messages(layout, blocks))


def _messages(layout: Layout, blocks: int) -> Iterator[Message]:
    corners = {
        (layout.constant_part(0, fragment, 0), layout.constant_part(1, fragment, 0)): fragment
        for fragment in range(layout.fragments)
    }
    width = layout.shape[1] // max(1, len({column for _, column in corners}))
    left = dict(corners)
    for row, column in sorted(corners):
        if (row, column) not in left:
            continue
        places = [(row, column + width * number) for number in range(blocks)]
        taken = places if all(place in left for place in places) else places[:1]
        yield Message(tuple(left.pop(place) for place in taken), row, column)


def _counts_lanes(layout: Layout, axis: int) -> bool:
    """Return whether the coordinate along an axis is the lane's number, within a fragment."""
    terms = formula(layout, axis).of_level(Level.LANE, Level.VECTOR).terms
    return [(term.dimension.level, term.stride, term.dimension.size, term.divisor) for term in terms] == [
        (Level.LANE, 1, LANES, 1)
    ]


def _counts_registers(layout: Layout, axis: int) -> bool:
    """Return whether the coordinate along an axis is the register's number, within a fragment."""
    terms = formula(layout, axis).of_level(Level.LANE, Level.VECTOR).terms
    if layout.registers == 1:
        return not terms
    return [(term.dimension.level, term.stride, term.dimension.size, term.divisor) for term in terms] == [
        (Level.VECTOR, 1, layout.registers, 1)
    ]
