"""Bank conflicts: how many extra passes accesses to shared memory take, from their addresses.

Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory").  Lanes that access other
words of one bank at a time are served one after another.  An access of 16 bytes is done for 8 lanes at a
time, one of 8 bytes for 16; `ldmatrix` reads the 8 rows of a matrix at a time.
"""

import functools
from collections import defaultdict
from collections.abc import Sequence

from harness.layouts.distribution.contiguous_accesses import runs
from harness.layouts.distribution.ldmatrix import SIDE, matrix_loads
from harness.layouts.layout import Layout, Level

BANKS, WORD_BYTES = 32, 4
PASS_BYTES = BANKS * WORD_BYTES


def conflicts(addresses: Sequence[int], bytes_: int) -> int:
    """Return the extra passes of one access of a warp: each lane's address, and how many bytes it takes."""
    row = min(addresses) // PASS_BYTES * PASS_BYTES
    return _conflicts(tuple(address - row for address in addresses), bytes_)


@functools.lru_cache(maxsize=1024)
def _conflicts(addresses: tuple[int, ...], bytes_: int) -> int:
    """Count for addresses from the first row of banks on; a tile's accesses are much the same otherwise."""
    lanes_at_a_time = max(1, PASS_BYTES // max(bytes_, WORD_BYTES))
    extra = 0
    for start in range(0, len(addresses), lanes_at_a_time):
        words: dict[int, set[int]] = defaultdict(set)
        for address in addresses[start : start + lanes_at_a_time]:
            for word in range(address // WORD_BYTES, -(-(address + bytes_) // WORD_BYTES)):
                words[word % BANKS].add(word)
        extra += max(len(wanted) for wanted in words.values()) - 1
    return extra


@functools.lru_cache(maxsize=256)
def conflicts_of_accesses(layout: Layout, pitch: int, element_bytes: int) -> int:
    """Return the extra passes of loads, stores or copies of a row, or of rows `pitch` elements apart."""
    extra = 0
    for warp in range(layout.warps):
        for run in runs(layout, element_bytes):
            coordinates = layout.coordinate_table[warp, :, run.fragment, run.register]
            addresses = [(sum(row) * pitch + column) * element_bytes for *row, column in coordinates.tolist()]
            extra += conflicts(addresses, run.length * element_bytes)
    return extra


@functools.lru_cache(maxsize=256)
def conflicts_of_matrix_loads(layout: Layout, pitch: int, element_bytes: int) -> int:
    """Return the extra passes of the `ldmatrix` that read a tile whose rows are `pitch` elements apart.

    Warps read other rows in the same pattern, so that one stands for all.
    """
    extra = 0
    for load in matrix_loads(layout):
        lanes = [{Level.LANE: lane} for lane in range(SIDE * len(load.matrices))]
        addresses = [
            (
                (load.row + load.lane_rows.value(number)) * pitch
                + load.column
                + load.lane_columns.value(number)
            )
            * element_bytes
            for number in lanes
        ]
        extra += conflicts(addresses, SIDE * element_bytes)
    return extra
