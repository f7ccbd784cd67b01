"""Conversions between layouts: where each element comes from, and what it takes to bring it there.

A conflict is a value that is held in one layout and wanted in another.  Menon's talk tells three kinds
apart: a conflict of batches is a choice of fragments, one of batches and vectors regroups registers, both
within each lane; a conflict of lanes moves elements between lanes.

Which registers there are is known when code is generated, which lane executes it is not.  So a move is found
for each register by itself, and for all lanes at once by linear algebra over the bits of their numbers.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from harness.codegen.layouts.layout import Layout, Level
from harness.codegen.layouts.layout_map import element_bits, element_numbers, is_linear, layout_map
from harness.codegen.layouts.linear_map import LinearMap


class Conflict(StrEnum):
    """How two layouts of a value differ."""

    NONE = "none"
    BATCH = "batch"
    """Whole fragments are taken, in another order or fewer of them."""
    BATCH_AND_VECTOR = "batch + vector"
    """Registers are regrouped within each lane."""
    LANE = "lane"
    """Elements move between lanes of a warp, by shuffles."""
    SHARED_MEMORY = "lane, through shared memory"
    """Elements move between warps."""


@dataclass(frozen=True)
class Move:
    """A register that a group of lanes takes an element from: each its own, or that of another lane."""

    fragment: int
    register: int
    group: int = 0
    """The group of lanes that take it; all are in group 0 where there is no exchange."""
    offset: int = 0
    """A difference between the numbers of the lane that gives the element and the one that takes it."""


@dataclass(frozen=True)
class Exchange:
    """How elements move between the lanes of a warp: maps of the bits of the taking lane's number."""

    group: LinearMap
    """The group of a lane: those of one group take the same registers."""
    difference: LinearMap
    """By which bits the number of the giving lane differs, besides the offset of a move; zero where shuffles
    by XOR of a constant are enough."""


Row = tuple[tuple[Move, ...], ...]
"""For each register of a fragment the moves that fill it, one for each group of lanes."""


@dataclass(frozen=True)
class Conversion:
    """How a value gets from one layout to another."""

    conflict: Conflict
    moves: tuple[Row, ...] = ()
    """For each fragment of the result how it is filled.  Empty where moves are not enough."""
    exchange: Exchange | None = None
    """How lanes take elements of others; None where each takes its own."""


@functools.lru_cache(maxsize=256)
def convert(source: Layout, result: Layout, axes: tuple[int, ...] | None = None) -> Conversion:
    """Return how to bring a value from one layout to another.

    A warp that has the same part of a value in both layouts holds all that its lanes want.  Between lanes
    elements only move where bits of lane numbers are bits of coordinates, see `is_linear`; fragments and
    registers may be as many as there are.

    Args:
        source: the layout that the value is in.
        result: the layout that it is wanted in.
        axes: which axes of the result are the source's, all if not given: a row statistic, with the one axis
            0, is broadcast along the columns of its result.

    Raises `ValueError` when the shapes do not fit.
    """
    kept = axes if axes is not None else tuple(range(len(result.axes)))
    shape = tuple(result.shape[axis] for axis in kept)
    if source.shape != shape:
        raise ValueError(f"a value of shape {source.shape} cannot be held as {shape}")
    held, wanted = source.coordinate_table, result.coordinate_table[..., list(kept)]
    if held.shape[:2] != wanted.shape[:2] or not np.array_equal(held[:, 0, 0, 0], wanted[:, 0, 0, 0]):
        return Conversion(Conflict.SHARED_MEMORY)
    registers = {
        int(number): (fragment, register)
        for (fragment, register), number in np.ndenumerate(element_numbers(held[0, 0], shape))
    }
    elements = element_numbers(wanted[0, 0], shape).tolist()
    if np.array_equal(held[:, :, 0, 0], wanted[:, :, 0, 0]):
        moves = tuple(tuple((Move(*registers[number]),) for number in row) for row in elements)
        return Conversion(_conflict_within_lanes(source, moves), moves)
    if not (is_linear(source, [Level.LANE]) and is_linear(result, [Level.LANE])):
        return Conversion(Conflict.SHARED_MEMORY)
    lanes = layout_map(source, [Level.LANE]), layout_map(result, [Level.LANE], kept)
    return _between_lanes(registers, elements, *lanes, element_bits(shape))


def _between_lanes(
    registers: Mapping[int, tuple[int, int]],
    elements: Sequence[Sequence[int]],
    held: LinearMap,
    wanted: LinearMap,
    bits: int,
) -> Conversion:
    """Return the conversion by moves between the lanes of a warp.

    Register v of lane l holds the element v ⊕ held(l).  For its register r, lane l wants r ⊕ wanted(l).  Up
    to what other lanes hold, which the quotient leaves out, this is one v for all lanes of a group.  Lane
    l ⊕ d has it where held(d) = (held + wanted)(l) ⊕ v ⊕ r: a section of `held` gives d, 0 where lane l
    itself has it.  What all lanes of a group have in common of d is the offset of the move.

    Args:
        registers: fragment and register of each element that the first lane of the source holds.
        elements: what the first lane of the result wants, `[fragment, register]`.
        held: the map from lanes to elements in the source.
        wanted: the map from lanes to elements in the result.
        bits: number of bits of elements.
    """
    section, quotient = held.section(bits), held.quotient(bits)
    group, difference = quotient @ wanted, section @ (held + wanted)
    common = difference @ group.section(bits)
    by_quotient = {quotient(number): number for number in registers}

    def move(element: int, taking: int) -> Move:
        number = by_quotient[quotient(element) ^ taking]
        return Move(*registers[number], taking, section(number ^ element) ^ common(taking))

    moves = tuple(
        tuple(tuple(move(element, taking) for taking in group.image) for element in row) for row in elements
    )
    return Conversion(Conflict.LANE, moves, Exchange(group, difference + common @ group))


def whole_fragment(row: Row, registers: int) -> int | None:
    """Return which fragment of the source, of so many registers, moves within lanes take as it is, if any."""
    fragment = row[0][0].fragment
    whole = [(Move(fragment, register),) for register in range(registers)]
    return fragment if list(row) == whole else None


def _conflict_within_lanes(source: Layout, moves: Sequence[Row]) -> Conflict:
    fragments = [whole_fragment(row, source.registers) for row in moves]
    if None in fragments:
        return Conflict.BATCH_AND_VECTOR
    return Conflict.NONE if fragments == list(range(source.fragments)) else Conflict.BATCH
