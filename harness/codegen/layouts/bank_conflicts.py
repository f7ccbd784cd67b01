"""Bank conflicts: how many extra passes accesses to shared memory take, from their addresses.

Lanes of a phase that access other words of one bank are served one after another.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.codegen.layouts.contiguous_accesses import contiguous_accesses
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.shared_memory_model import Banks


def conflicts(addresses: Sequence[int], bytes_: int, banks: Banks) -> int:
    """Return the extra passes of one access of a warp: each lane's address, and how many bytes it takes."""
    row_bytes = banks.count * banks.word_bytes
    row = min(addresses) // row_bytes * row_bytes
    return _conflicts(tuple(address - row for address in addresses), bytes_, banks)


@functools.lru_cache(maxsize=1024)
def _conflicts(addresses: tuple[int, ...], bytes_: int, banks: Banks) -> int:
    """Count for addresses from the first row of banks on; a tile's accesses are much the same otherwise."""
    extra = 0
    for lanes in banks.lanes_at_a_time(bytes_):
        words: dict[int, set[int]] = defaultdict(set)
        for lane in lanes:
            if lane >= len(addresses):
                continue
            first, end = addresses[lane], addresses[lane] + bytes_
            for word in range(first // banks.word_bytes, -(-end // banks.word_bytes)):
                words[word % banks.count].add(word)
        if words:
            extra += max(len(wanted) for wanted in words.values()) - 1
    return extra


@dataclass(frozen=True)
class TileAccess:
    """How lanes hold a tile that they read from shared memory, or write there."""

    layout: Layout
    banks: Banks


def least_conflicting_pitch(
    accesses_at: Callable[[int], Sequence[TileAccess]], columns: int, element_bytes: int, step_bytes: int
) -> int:
    """Return the elements from one row to the next: the fewest with the fewest extra passes of all accesses.

    Args:
        accesses_at: how lanes write and read the rows there, by the pitch; at least one.
        columns: elements of a row, the least that a pitch can be.
        element_bytes: bytes of an element.
        step_bytes: what pitches differ by, so that accesses stay aligned.
    """
    row = max(access.banks.count * access.banks.word_bytes for access in accesses_at(columns))
    conflicts: dict[int, int] = {}
    for pitch in range(columns, columns + row // element_bytes, step_bytes // element_bytes):
        conflicts[pitch] = conflicts_of_all(accesses_at(pitch), pitch, element_bytes)
        if conflicts[pitch] == 0:
            break
    return min(conflicts, key=lambda pitch: conflicts[pitch])


def conflicts_of_all(accesses: Iterable[TileAccess], pitch: int, element_bytes: int) -> int:
    """Return the extra passes of several accesses to rows `pitch` elements apart."""
    return sum(
        conflicts_of_accesses(access.layout, pitch, element_bytes, access.banks) for access in accesses
    )


@functools.lru_cache(maxsize=256)
def conflicts_of_accesses(layout: Layout, pitch: int, element_bytes: int, banks: Banks) -> int:
    """Return the extra passes of loads, stores or copies of a row, or of rows `pitch` elements apart.

    An access that is wider than it is aligned is done in pieces that are aligned, one after another: 16 bytes
    at a multiple of 8 are two accesses of 8.
    """
    extra = 0
    for warp in range(layout.warps):
        for access in contiguous_accesses(layout, element_bytes):
            coordinates = layout.coordinate_table[warp, :, access.fragment, access.register]
            addresses = [(sum(row) * pitch + column) * element_bytes for *row, column in coordinates.tolist()]
            bytes_ = access.length * element_bytes
            piece = math.gcd(bytes_, *addresses)
            for start in range(0, bytes_, piece):
                extra += conflicts([address + start for address in addresses], piece, banks)
    return extra
