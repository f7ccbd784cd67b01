"""Conversions between layouts: what is found, and that it moves the right elements."""

import numpy as np
import pytest
from generated_layouts import layouts
from hypothesis import given
from hypothesis import strategies as st

from harness.layouts.conversion import Conflict, convert
from harness.layouts.instructions import nvidia
from harness.layouts.layout import Layout, lane, tiled, vector

A, B, C = nvidia.A_16_BIT, nvidia.B_16_BIT, nvidia.ACCUMULATOR


def spread(layout: Layout, matrix: np.ndarray) -> np.ndarray:
    """Return what every place holds of a matrix, [warp, lane, fragment, register]."""
    return matrix[tuple(layout.coordinate_table[..., axis] for axis in range(matrix.ndim))]


def moved(source: Layout, result: Layout, held: np.ndarray, axes=None) -> np.ndarray:
    """Return what every place holds after the moves of a conversion; -1 is what no move has filled."""
    out = np.full((result.warps, result.lanes, result.fragments, result.registers), -1)
    for fragment, row in enumerate(convert(source, result, axes).moves):
        for register, found in enumerate(row):
            for move in found:
                for lane_number, origin in enumerate(move.source_lanes):
                    if origin is not None:
                        taken = held[:, origin, move.fragment, move.register]
                        out[:, lane_number, fragment, register] = taken
    return out


def permuted(layout: Layout, draw_order: list[int]) -> Layout:
    """Return a layout of the same shape with its dimensions counted in another order."""
    return Layout(layout.axes, tuple(layout.order[position] for position in draw_order))


@given(layouts(), st.data())
def test_moves_bring_every_element_where_it_is_wanted(source: Layout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(source.order))))
    result = permuted(source, order)
    conversion = convert(source, result)
    if conversion.conflict is Conflict.SHARED_MEMORY:
        assert conversion.moves == ()
        return
    matrix = np.arange(np.prod(source.shape, dtype=int)).reshape(source.shape)
    assert np.array_equal(moved(source, result, spread(source, matrix)), spread(result, matrix))


@given(layouts())
def test_a_layout_has_no_conflict_with_itself(layout: Layout) -> None:
    assert convert(layout, layout).conflict is Conflict.NONE


@given(layouts())
def test_row_statistics_are_broadcast_within_lanes(layout: Layout) -> None:
    rows = layout.slice(1)
    conversion = convert(rows, layout, axes=(0,))
    assert conversion.conflict in (Conflict.NONE, Conflict.BATCH, Conflict.BATCH_AND_VECTOR)
    held = spread(rows, np.arange(rows.shape[0]))
    wanted = layout.coordinate_table[..., 0]
    assert np.array_equal(moved(rows, layout, held, axes=(0,)), wanted)


def test_an_accumulator_becomes_the_next_operand_by_moves_of_registers() -> None:
    """Conflict #1 of the document: 2x16x2x2 of the first product is wanted as 2x8x4x2."""
    scores, operand = tiled(C, (2, 16)), tiled(A, (2, 8))
    conversion = convert(scores, operand)
    assert conversion.conflict is Conflict.BATCH_AND_VECTOR
    first = conversion.moves[0]
    assert [(move.fragment, move.register) for (move,) in first] == [
        (0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)
    ]  # fmt: skip


def test_fewer_columns_of_a_broadcast_statistic_are_a_conflict_of_batches() -> None:
    """Conflict #2 of the document: the first 8 of 16 fragments, of a value whose columns are all alike."""
    statistic = tiled(C, (2, 16)).slice(1)
    assert statistic.is_equivalent(tiled(C, (2, 8)).slice(1))


def test_fragments_in_another_order_are_a_conflict_of_batches() -> None:
    rows_first = tiled(C, (2, 4))
    dims = rows_first.order
    columns_first = Layout(rows_first.axes, (*dims[:2], dims[3], dims[2], *dims[4:]))
    assert convert(rows_first, columns_first).conflict is Conflict.BATCH


def test_lanes_that_hold_other_columns_exchange_them() -> None:
    """Lane pairs hold columns 0, 1 and 2, 3; wanted are the even and the odd columns."""
    pair = lane("x", 2)
    blocked = Layout(((), (pair, vector("x", 2))), (pair, vector("x", 2)))
    cyclic = Layout(((), (vector("x", 2), pair)), (pair, vector("x", 2)))
    conversion = convert(blocked, cyclic)
    assert conversion.conflict is Conflict.LANE
    even, odd = conversion.moves[0]
    assert [(move.register, move.source_lanes) for move in even] == [(0, (0, None)), (1, (None, 0))]
    assert [(move.register, move.source_lanes) for move in odd] == [(1, (None, 1)), (0, (1, None))]


def test_a_transposed_operand_is_exchanged_within_the_warp() -> None:
    square = tiled(C, (1, 2))
    assert convert(square, square.transposed()).conflict is Conflict.LANE


def test_other_warps_need_shared_memory() -> None:
    assert convert(tiled(C, (1, 2), (2, 1)), tiled(C, (2, 1), (1, 2))).conflict is Conflict.SHARED_MEMORY
    assert convert(tiled(C, (2, 1)), tiled(C, (1, 1), (2, 1))).conflict is Conflict.SHARED_MEMORY


def test_a_replicated_value_is_found_in_the_own_lane() -> None:
    low, high = lane("x", 2), lane("y", 2)
    replicated = Layout(((low,),), (high, low))
    conversion = convert(replicated, replicated)
    assert all(move.is_within_lanes for row in conversion.moves for (move,) in row)


def test_a_value_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(16, 8\) cannot be held as \(16, 16\)"):
        convert(C, A)
