"""What `ldmatrix` reads: which layouts it gives, and in which steps.

`ldmatrix` (PTX ISA 9.2, section 9.7.14.5.15) loads up to four matrices of 8×8 elements of 16 bits.  Lane l
gives the address of row l % 8 of matrix l / 8, and gets two neighbours of row l / 4 of each, or with `.trans`
of column l / 4.
"""

import functools
from dataclasses import dataclass

from harness.codegen.layouts.formulas import Formula, Term, formula
from harness.codegen.layouts.layout import Layout, Level, lane
from harness.codegen.layouts.register_pairs import PAIR

SIDE = 8
ELEMENT_BITS = 16
MOST_MATRICES = 4
"""Matrices of 8 × 8 elements that one `ldmatrix` reads."""

ROW_LANES = (1, 8, 4)
"""Stride, size and divisor of the lanes along the rows of a matrix: lane / 4."""
PAIR_LANES = (2, 4, 1)
"""Those of the lanes along its columns, two apart: lane % 4."""


@dataclass(frozen=True)
class MatrixLoad:
    """One `ldmatrix`."""

    matrices: tuple[tuple[int, int], ...]
    """The fragment and the pair of registers that each matrix goes to."""
    row: int
    column: int
    """Where the first matrix begins, in the tile."""
    lane_rows: Formula
    lane_columns: Formula
    """Where the row is whose address a lane gives, from there."""


def is_transposed(layout: Layout, element_bits: int) -> bool | None:
    """Return whether `ldmatrix` gives a layout with `.trans` or without; None if it does not give it."""
    if element_bits != ELEMENT_BITS or len(layout.axes) != 2 or layout.registers % PAIR:
        return None
    for transposed, pair_axis in ((False, 1), (True, 0)):
        if (
            _lane_terms(layout, 1 - pair_axis) == {ROW_LANES}
            and _lane_terms(layout, pair_axis) == {PAIR_LANES}
            and _pairs_are_neighbours(layout, pair_axis)
        ):
            return transposed
    return None


@functools.lru_cache(maxsize=256)
def matrix_loads(layout: Layout, *, by_step: bool = False) -> tuple[MatrixLoad, ...]:
    """Return the loads that fill the registers of a layout, each of as many matrices as can be.

    They take fragments in the order of their numbers; `by_step` those of one step of the depth after those of
    another, so that a load has what one step of a product needs, where there is enough of it.
    """
    places = [
        (fragment, pair) for fragment in range(layout.fragments) for pair in range(layout.registers // PAIR)
    ]
    if by_step:
        depth = 0 if is_transposed(layout, ELEMENT_BITS) else 1
        places.sort(key=lambda place: layout.constant_part(depth, place[0], 0))
    count = MOST_MATRICES
    while count > 1:
        groups = [tuple(places[at : at + count]) for at in range(0, len(places), count)]
        loads = [_load(layout, group) for group in groups if len(group) == count]
        if len(places) % count == 0 and all(load is not None for load in loads):
            return tuple(load for load in loads if load is not None)
        count //= 2
    return tuple(load for place in places if (load := _load(layout, (place,))) is not None)


def _load(layout: Layout, matrices: tuple[tuple[int, int], ...]) -> MatrixLoad | None:
    """Return the load of matrices, if their places follow from the number of the matrix bit by bit."""
    corners = [
        tuple(layout.constant_part(axis, fragment, PAIR * pair) for axis in range(2))
        for fragment, pair in matrices
    ]
    strides = []
    for axis in range(2):
        steps = [corners[1 << bit][axis] - corners[0][axis] for bit in range(len(matrices).bit_length() - 1)]
        for number, corner in enumerate(corners):
            moved = sum(step for bit, step in enumerate(steps) if number >> bit & 1)
            if corner[axis] - corners[0][axis] != moved:
                return None
        strides.append(steps)
    row_in_matrix = Term(lane("address_row", SIDE), 1, 1)
    by_axis = [
        tuple(Term(lane(f"matrix_{bit}", 2), step, SIDE << bit) for bit, step in enumerate(steps) if step)
        for steps in strides
    ]
    return MatrixLoad(
        matrices, corners[0][0], corners[0][1], Formula((row_in_matrix, *by_axis[0])), Formula(by_axis[1])
    )


def _lane_terms(layout: Layout, axis: int) -> set[tuple[int, int, int]]:
    terms = formula(layout, axis).of_level(Level.LANE).terms
    return {(term.stride, term.dimension.size, term.divisor) for term in terms}


def _pairs_are_neighbours(layout: Layout, axis: int) -> bool:
    for pair in range(layout.registers // PAIR):
        for other in range(2):
            first, second = (layout.constant_part(other, 0, PAIR * pair + at) for at in range(PAIR))
            if second - first != (1 if other == axis else 0):
                return False
    return True
