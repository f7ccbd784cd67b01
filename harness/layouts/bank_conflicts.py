"""Bank conflicts: how many extra passes accesses to shared memory take, from their addresses.

Lanes of a phase that access other words of one bank are served one after another.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence

from harness.layouts.contiguous_accesses import contiguous_accesses
from harness.layouts.layout import Layout
from harness.layouts.shared_memory_model import SharedMemoryModel


def conflicts(addresses: Sequence[int], bytes_: int, memory: SharedMemoryModel) -> int:
    """Return the extra passes of one access of a warp: each lane's address, and how many bytes it takes."""
    row_bytes = memory.banks * memory.word_bytes
    row = min(addresses) // row_bytes * row_bytes
    return _conflicts(tuple(address - row for address in addresses), bytes_, memory)


@functools.lru_cache(maxsize=1024)
def _conflicts(addresses: tuple[int, ...], bytes_: int, memory: SharedMemoryModel) -> int:
    """Count for addresses from the first row of banks on; a tile's accesses are much the same otherwise."""
    extra = 0
    for lanes in memory.lanes_at_a_time(bytes_):
        words: dict[int, set[int]] = defaultdict(set)
        for lane in lanes:
            if lane >= len(addresses):
                continue
            first, end = addresses[lane], addresses[lane] + bytes_
            for word in range(first // memory.word_bytes, -(-end // memory.word_bytes)):
                words[word % memory.banks].add(word)
        if words:
            extra += max(len(wanted) for wanted in words.values()) - 1
    return extra


def least_conflicting_pitch(
    layouts_at: Callable[[int], Sequence[Layout]],
    columns: int,
    element_bytes: int,
    memory: SharedMemoryModel,
    step_bytes: int,
) -> int:
    """Return the elements from one row to the next: the fewest with the fewest extra passes of all accesses.

    Args:
        layouts_at: how lanes hold the rows that they write and read there, by the pitch.
        columns: elements of a row, the least that a pitch can be.
        element_bytes: bytes of an element.
        memory: the banks.
        step_bytes: what pitches differ by, so that accesses stay aligned.
    """
    row = memory.banks * memory.word_bytes // element_bytes
    found: dict[int, int] = {}
    for pitch in range(columns, columns + row, step_bytes // element_bytes):
        found[pitch] = sum(
            conflicts_of_accesses(layout, pitch, element_bytes, memory) for layout in layouts_at(pitch)
        )
        if found[pitch] == 0:
            break
    return min(found, key=lambda pitch: found[pitch])


@functools.lru_cache(maxsize=256)
def conflicts_of_accesses(layout: Layout, pitch: int, element_bytes: int, memory: SharedMemoryModel) -> int:
    """Return the extra passes of loads, stores or copies of a row, or of rows `pitch` elements apart."""
    extra = 0
    for warp in range(layout.warps):
        for access in contiguous_accesses(layout, element_bytes):
            coordinates = layout.coordinate_table[warp, :, access.fragment, access.register]
            addresses = [(sum(row) * pitch + column) * element_bytes for *row, column in coordinates.tolist()]
            extra += conflicts(addresses, access.length * element_bytes, memory)
    return extra
