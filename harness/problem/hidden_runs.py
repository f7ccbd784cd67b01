"""Runs of keys that a mask hides, as padding and documents do.

Of pairs that are hidden at random each tile keeps some, so that code which goes wrong where a whole tile is
hidden would be right: it subtracts −inf from −inf, ends its loop early, or lets a maximum be that of keys
which nobody sees.
"""

import numpy as np

ROWS_OF_ONE_KEY = 16
"""One query of so many sees one key at most."""
STRIDE = 7919
"""From one such query's key to the next one's; a prime, so that all places come."""
BLOCK = 256
"""Queries that are looked at together."""


def hide_runs(visible: np.ndarray, first: np.ndarray, end: np.ndarray) -> None:
    """Hide runs of keys in a mask `[…, seq_q, seq_kv]`, in place.

    `first` and `end` say for each query which keys it could see, by causality, windows and lengths.  Of
    these the second quarter of the queries lacks the first half, and the third quarter all from the first
    fourth to the last one; so each query that sees several still sees keys at its end, where causality and
    windows are.  Keys that it could not see anyway stay as they are.
    """
    rows, keys = visible.shape[-2:]
    positions = np.arange(keys)
    for start in range(rows // 4, 3 * rows // 4, BLOCK):
        block = slice(start, min(start + BLOCK, 3 * rows // 4))
        length = (end - first)[block, None]
        place = positions - first[block, None]
        is_padding = np.arange(block.start, block.stop)[:, None] * 4 < 2 * rows
        begin = np.where(is_padding, 0, length // 4)
        stop = np.where(is_padding, length // 2, 3 * length // 4)
        visible[..., block, :] &= (place < begin) | (place >= stop)
    for row in rows_of_one_key(rows):
        length = int(end[row] - first[row])
        if length > 0:
            show_one_key(visible, row, slice(first[row], end[row]), int(first[row]) + row * STRIDE % length)


def hide_one_run(visible: np.ndarray, generator: np.random.Generator) -> None:
    """Hide a quarter of the keys, somewhere, in a mask `[…, 1, seq_kv]` for all queries, in place."""
    keys = visible.shape[-1]
    start = int(generator.integers(0, keys - keys // 4 + 1))
    visible[..., start : start + keys // 4] = False


def rows_of_one_key(rows: int) -> range:
    """Return which queries see one key at most; the last one is none of them."""
    return range(ROWS_OF_ONE_KEY // 2, rows - 1, ROWS_OF_ONE_KEY)


def show_one_key(visible: np.ndarray, row: int, seen: slice, key: int) -> None:
    """Let a query see one key alone of those that it could see, in place."""
    visible[..., row, seen] = False
    visible[..., row, key] = True
