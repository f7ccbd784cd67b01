"""Conversions between layouts: where each element comes from, and what it takes to bring it there.

A conflict is a value that is held in one layout and wanted in another.  Source document 002 tells three kinds
apart: a conflict of batches is a choice of fragments, one of batches and vectors regroups registers, both
within each lane; a conflict of lanes moves elements between lanes.
"""

import functools
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from harness.layouts.layout import Layout


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
    """A register of a lane that elements come from, and who takes them."""

    fragment: int
    register: int
    source_lanes: tuple[int | None, ...]
    """For each lane that it takes its element from, None where it takes it from another move."""

    @property
    def is_within_lanes(self) -> bool:
        """Whether every lane takes the element from its own register."""
        return all(source == number for number, source in enumerate(self.source_lanes))


@dataclass(frozen=True)
class Conversion:
    """How a value gets from one layout to another."""

    conflict: Conflict
    moves: tuple[tuple[tuple[Move, ...], ...], ...]
    """For each fragment of the result and each of its registers, where its element comes from: one move, or
    several of which each lane takes one.  Empty where moves are not enough."""


@functools.lru_cache(maxsize=256)
def convert(source: Layout, result: Layout, axes: tuple[int, ...] | None = None) -> Conversion:
    """Return how to bring a value from one layout to another.

    Args:
        source: the layout that the value is in.
        result: the layout that it is wanted in.
        axes: which axes of the result are the source's, all if not given: a row statistic, with the one axis
            0, is broadcast along the columns of its result.

    Raises `ValueError` when the shapes do not fit.
    """
    kept = axes if axes is not None else tuple(range(len(result.axes)))
    wanted_shape = tuple(result.shape[axis] for axis in kept)
    if source.shape != wanted_shape:
        raise ValueError(f"a value of shape {source.shape} cannot be held as {wanted_shape}")
    if (source.warps, source.lanes) != (result.warps, result.lanes):
        return Conversion(Conflict.SHARED_MEMORY, ())
    held = _numbers(source, tuple(range(len(source.axes))), wanted_shape)
    wanted = _numbers(result, kept, wanted_shape)
    moves = tuple(
        tuple(_find(held, wanted[:, :, fragment, register]) for register in range(result.registers))
        for fragment in range(result.fragments)
    )
    if not all(found for row in moves for found in row):
        return Conversion(Conflict.SHARED_MEMORY, ())
    return Conversion(_classify(source, result, moves), moves)


def _numbers(layout: Layout, axes: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Return the number of the element at each place, `[warp, lane, fragment, register]`."""
    return np.ravel_multi_index(tuple(layout.coordinate_table[..., axis] for axis in axes), shape)


def _find(held: np.ndarray, wanted: np.ndarray) -> tuple[Move, ...]:
    """Return moves that give every lane what it wants, `[warp, lane]`; none if warps have to exchange.

    Own elements come first, then whatever register serves most of the lanes that are left.
    """
    own = np.all(held == wanted[:, :, None, None], axis=0)
    everywhere = np.argwhere(own.all(axis=0))
    lanes = held.shape[1]
    if len(everywhere):
        fragment, register = everywhere[0]
        return (Move(int(fragment), int(register), tuple(range(lanes))),)
    # [lane that wants, lane that has, fragment, register]
    has = np.all(held[:, None] == wanted[:, :, None, None, None], axis=0)
    if not has.any(axis=(1, 2, 3)).all():
        return ()
    moves = []
    left = np.ones(lanes, dtype=bool)
    while left.any():
        serves = has.any(axis=1) & left[:, None, None]
        near = (own & left[:, None, None]).sum(axis=0)
        gain = serves.sum(axis=0) + near / (lanes + 1)
        fragment, register = np.unravel_index(int(gain.argmax()), gain.shape)
        sources: list[int | None] = [None] * lanes
        served = np.flatnonzero(serves[:, fragment, register])
        is_near = bool(own[served, fragment, register].all())
        for number in served:
            having = np.flatnonzero(has[number, :, fragment, register])
            sources[number] = int(number if is_near else having[0])
        moves.append(Move(int(fragment), int(register), tuple(sources)))
        left &= ~serves[:, fragment, register]
    return tuple(moves)


def _classify(source: Layout, result: Layout, moves: tuple[tuple[tuple[Move, ...], ...], ...]) -> Conflict:
    if any(not move.is_within_lanes for row in moves for found in row for move in found):
        return Conflict.LANE
    alone = [[found[0] for found in row] for row in moves]
    whole = source.registers == result.registers and all(
        [move.register for move in row] == list(range(result.registers))
        and len({move.fragment for move in row}) == 1
        for row in alone
    )
    if not whole:
        return Conflict.BATCH_AND_VECTOR
    same = source.fragments == result.fragments and all(
        row[0].fragment == fragment for fragment, row in enumerate(alone)
    )
    return Conflict.NONE if same else Conflict.BATCH
