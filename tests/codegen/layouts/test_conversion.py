"""Conversions between layouts: what is found, and that it moves the right elements."""

import numpy as np
import pytest
from generated_layouts import layouts, pairs_of_layouts
from hypothesis import given
from hypothesis import strategies as st

from harness.codegen.layouts.conversion import Conflict, Conversion, Move, convert
from harness.codegen.layouts.instructions import nvidia
from harness.codegen.layouts.layout import Layout, lane, tiled, vector

A, B, C = nvidia.A_16_BIT, nvidia.B_16_BIT, nvidia.ACCUMULATOR


def spread(layout: Layout, matrix: np.ndarray) -> np.ndarray:
    """Return what every place holds of a matrix, [warp, lane, fragment, register]."""
    return matrix[tuple(layout.coordinate_table[..., axis] for axis in range(matrix.ndim))]


def moved(source: Layout, result: Layout, held: np.ndarray, axes=None) -> np.ndarray:
    """Return what every place holds after the moves of a conversion; -1 is what no move has filled."""
    out = np.full((result.warps, result.lanes, result.fragments, result.registers), -1)
    conversion = convert(source, result, axes)
    for fragment, row in enumerate(conversion.moves):
        for register, found in enumerate(row):
            for move in found:
                for taker, giver in givers(conversion, move, result.lanes).items():
                    out[:, taker, fragment, register] = held[:, giver, move.fragment, move.register]
    return out


def givers(conversion: Conversion, move: Move, lanes: int) -> dict[int, int]:
    """Return for each lane that takes the element of a move the lane that gives it."""
    exchange = conversion.exchange
    if exchange is None:
        return {number: number for number in range(lanes)}
    takers = [number for number in range(lanes) if exchange.group(number) == move.group]
    return {number: number ^ exchange.difference(number) ^ move.offset for number in takers}


def result_places(layout: Layout) -> tuple[int, int]:
    """Return the numbers of warps and of lanes."""
    return layout.warps, layout.lanes


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


@given(pairs_of_layouts())
def test_elements_move_between_any_two_layouts_of_a_warp(pair: tuple[Layout, Layout]) -> None:
    source, result = pair
    matrix = np.arange(np.prod(source.shape, dtype=int)).reshape(source.shape)
    assert np.array_equal(moved(source, result, spread(source, matrix)), spread(result, matrix))


@given(pairs_of_layouts())
def test_lanes_exchange_elements_only_where_some_lane_lacks_one(pair: tuple[Layout, Layout]) -> None:
    """An enumeration of all registers says whether one of them serves all lanes."""
    source, result = pair
    numbers = np.arange(np.prod(source.shape, dtype=int)).reshape(source.shape)
    held, wanted = (spread(layout, numbers).reshape(*result_places(layout), -1) for layout in pair)
    columns = {held[..., register].tobytes() for register in range(held.shape[-1])}
    is_within_lanes = all(wanted[..., register].tobytes() in columns for register in range(wanted.shape[-1]))
    assert (convert(source, result).conflict is not Conflict.LANE) == is_within_lanes


@given(pairs_of_layouts())
def test_a_lane_takes_an_element_that_it_has_from_itself(pair: tuple[Layout, Layout]) -> None:
    source, result = pair
    conversion = convert(source, result)
    for fragment, row in enumerate(conversion.moves):
        for register, found in enumerate(row):
            wanted = result.coordinate_table[0, :, fragment, register]
            for move in found:
                held = source.coordinate_table[0, :, move.fragment, move.register]
                has_own = (held == wanted).all(axis=1)
                taken = givers(conversion, move, result.lanes)
                assert all(giver == taker for taker, giver in taken.items() if has_own[taker])


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


def test_fragments_in_another_order_are_a_conflict_of_batches() -> None:
    rows_first = tiled(C, (2, 4))
    dims = rows_first.order
    columns_first = Layout(rows_first.axes, (*dims[:2], dims[3], dims[2], *dims[4:]))
    assert convert(rows_first, columns_first).conflict is Conflict.BATCH


def test_other_warps_need_shared_memory() -> None:
    assert convert(tiled(C, (1, 2), (2, 1)), tiled(C, (2, 1), (1, 2))).conflict is Conflict.SHARED_MEMORY
    assert convert(tiled(C, (2, 1)), tiled(C, (1, 1), (2, 1))).conflict is Conflict.SHARED_MEMORY


def test_odd_numbers_of_lanes_that_would_exchange_elements_need_shared_memory() -> None:
    threes = Layout(((lane("x", 3),), (vector("x", 3),)), (lane("x", 3), vector("x", 3)))
    assert convert(threes, threes.transposed()).conflict is Conflict.SHARED_MEMORY


def test_a_value_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(16, 8\) cannot be held as \(16, 16\)"):
        convert(C, A)
