"""Runs of keys that a mask hides, as padding, documents and prefixes do.

Of pairs that are hidden at random each tile keeps some, so that code which goes wrong where a whole tile is
hidden would be right: it subtracts −inf from −inf, ends its loop early, or lets a maximum be that of keys
which nobody sees.
"""

import numpy as np

ROWS_OF_ONE_KEY = 16
"""One query of so many sees one key at most."""
STRIDE = 7919
"""From one such query's key to the next one's; a prime, so that all places come."""


def hide_runs(visible: np.ndarray) -> None:
    """Hide runs of keys in a mask `[…, seq_q or 1, seq_kv or 1]`, in place.

    The queries of each quarter have a pattern of their own: none hidden, the first half of the keys, the
    last half, all but the second quarter.  One mask for all queries hides the first quarter and the third.
    """
    rows, keys = visible.shape[-2:]
    quarters = [keys * part // 4 for part in range(5)]
    if rows == 1:
        for start, end in ((0, 1), (2, 3)):
            visible[..., quarters[start] : quarters[end]] = False
        return
    of_rows = np.arange(rows) * 4 // rows
    visible[..., of_rows == 1, : quarters[2]] = False
    visible[..., of_rows == 2, quarters[2] :] = False
    visible[..., of_rows == 3, : quarters[1]] = False
    visible[..., of_rows == 3, quarters[2] :] = False
    for row in rows_of_one_key(rows):
        key = row * STRIDE % keys
        visible[..., row, :key] = False
        visible[..., row, key + 1 :] = False


def rows_of_one_key(rows: int) -> range:
    """Return which queries see one key at most; the last one is none of them."""
    return range(ROWS_OF_ONE_KEY // 2, rows - 1, ROWS_OF_ONE_KEY)


def show_one_key(visible: np.ndarray, row: int, key: int) -> None:
    """Let a query see this key alone, in place."""
    visible[..., row, :] = False
    visible[..., row, key] = True
