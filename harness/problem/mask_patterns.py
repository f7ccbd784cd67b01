"""Patterns of visible keys, as padding, documents and blocks have them.

Where pairs are hidden at random, each tile keeps some and loses some.  So code would be right that goes wrong
where all of a tile is hidden, or visible: it subtracts −inf from −inf, ends its loop early, leaves an output
unwritten, forgets causality where it looks up no mask, or takes the map of tiles of another head.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

ROWS_OF_ONE_KEY = 16
"""One query of so many sees one key at most, where its pattern is not one of whole tiles."""
STRIDE = 7919
"""From one such query's key to the next one's; a prime, so that all places come."""
BLOCK = 256
"""Queries that are looked at together."""
MANY_QUERIES = 512
"""With so many, a mask has all patterns; with fewer it has half of them, so that tiles fit into each."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of some queries and all keys, of one batch entry and head."""

    visible: np.ndarray
    """Boolean, `[queries, seq_kv]`: those that a mask has left visible at random."""
    query: np.ndarray
    """Number of each query, `[queries, 1]`."""
    place: np.ndarray
    """Of each key, `[queries, seq_kv]`, from the first one on that the query could see."""
    length: np.ndarray
    """How many keys each query could see by causality, windows and lengths, `[queries, 1]`."""


Pattern = Callable[[Pairs], np.ndarray]
"""Returns which pairs are visible (boolean, broadcasts to `[queries, seq_kv]`)."""


def random_pairs(pairs: Pairs) -> np.ndarray:
    """Leave the pairs as they were drawn."""
    return pairs.visible


def all_keys(pairs: Pairs) -> np.ndarray:
    """Show all keys, also those that causality, windows and lengths hide."""
    return np.ones_like(pairs.visible)


def no_keys(pairs: Pairs) -> np.ndarray:
    """Hide all keys."""
    return np.zeros_like(pairs.visible)


def last_half(pairs: Pairs) -> np.ndarray:
    """Hide the first half, as padding on the left does."""
    return pairs.visible & ((pairs.place < 0) | (pairs.place >= pairs.length // 2))


def first_half(pairs: Pairs) -> np.ndarray:
    """Hide the last half, as padding on the right does."""
    return pairs.visible & (pairs.place < pairs.length - pairs.length // 2)


def both_ends(pairs: Pairs) -> np.ndarray:
    """Hide the middle half, and show all others."""
    return (pairs.place < pairs.length // 4) | (pairs.place >= 3 * pairs.length // 4)


def halves_of_every_other_query(pairs: Pairs) -> np.ndarray:
    """Show the first half whole and hide the last, but to every other query.

    Which ones changes every `ROWS_OF_ONE_KEY` queries, so that neither a tile's first query nor its last
    one is as all of them are.
    """
    is_random = (pairs.query + pairs.query // ROWS_OF_ONE_KEY) % 2 == 1
    return np.where(is_random, pairs.visible, pairs.place < pairs.length - pairs.length // 2)


def middle(pairs: Pairs) -> np.ndarray:
    """Hide the first and the last fourth, and show the second one whole."""
    length, place = pairs.length, pairs.place
    is_first_fourth = (place >= 0) & (place < length // 4)
    is_last_fourth = (place >= length - length // 4) & (place < length)
    is_second_fourth = (place >= length // 4) & (place < length // 2)
    return (pairs.visible | is_second_fourth) & ~(is_first_fourth | is_last_fourth)


def first_three_fourths(pairs: Pairs) -> np.ndarray:
    """Hide the last fourth, and show the first half whole."""
    length, place = pairs.length, pairs.place
    return (pairs.visible | (place < length // 2)) & (place < length - length // 4)


def all_but_third_fourth(pairs: Pairs) -> np.ndarray:
    """Hide the third fourth, and show the first half whole."""
    length, place = pairs.length, pairs.place
    is_hidden = (place >= length // 2) & (place < length // 2 + length // 4)
    return (pairs.visible | (place < length // 2)) & ~is_hidden


OF_QUERIES: tuple[tuple[Pattern, ...], ...] = (
    (random_pairs, all_keys, last_half, both_ends),
    (no_keys, first_half, halves_of_every_other_query, last_half),
)
"""Patterns of the fourths of the queries, by turns.

With the first ones, queries see keys at the ends of what they could see, where causality and windows are.
Causality leaves the first queries no tile to hide or show.
"""

OF_QUERIES_WITH_FINITE_SCORES: tuple[tuple[Pattern, ...], ...] = (
    (random_pairs, first_half, last_half, both_ends),
)
"""The same where queries are to see some keys."""

WITH_ROWS_OF_ONE_KEY = (random_pairs, last_half, both_ends, first_half)

OF_KEYS: tuple[tuple[Pattern, ...], ...] = ((middle,), (all_but_third_fourth,))
"""The same of masks that all queries share."""

OF_KEYS_FROM_THE_FIRST: tuple[tuple[Pattern, ...], ...] = ((first_three_fourths,), (all_but_third_fourth,))
"""The same where the first query sees the first key alone."""

OF_QUERIES_ALONE: tuple[tuple[Pattern, ...], ...] = (
    (random_pairs, all_keys, random_pairs, no_keys),
    (random_pairs, no_keys, no_keys, all_keys),
)
"""The same of masks that all keys share."""


def patterns_of(sets: Sequence[Sequence[Pattern]], turn: int, queries: int) -> tuple[Pattern, ...]:
    """Return patterns one after another for as many equal parts of the queries.

    Successive turns have patterns of different sets, or in another order.
    """
    chosen, others = sets[turn % len(sets)], sets[(turn + 1) % len(sets)]
    moved = turn // len(sets) % len(chosen)
    own, further = (tuple(those[moved:]) + tuple(those[:moved]) for those in (chosen, others))
    if queries < MANY_QUERIES:
        return own
    return tuple(pattern for pair in zip(own, further, strict=True) for pattern in pair)


def lay_patterns(
    visible: np.ndarray, first: np.ndarray, end: np.ndarray, patterns: Sequence[Pattern]
) -> None:
    """Lay patterns over the pairs `[seq_q, seq_kv]` of one batch entry and head, in place.

    Each is of an equal part of the queries.  `first` and `end` say for each query which keys it could see, by
    causality, windows and lengths.
    """
    queries, keys = visible.shape
    positions = np.arange(keys)
    for number, pattern in enumerate(patterns):
        part = range(queries * number // len(patterns), queries * (number + 1) // len(patterns))
        for start in range(part.start, part.stop, BLOCK):
            rows = np.arange(start, min(start + BLOCK, part.stop))[:, None]
            block = slice(start, start + len(rows))
            place, length = positions - first[rows], (end - first)[rows]
            visible[block] = pattern(Pairs(visible[block], rows, place, length))
        if pattern in WITH_ROWS_OF_ONE_KEY and keys > 1:
            for row in rows_of_one_key(queries):
                if row in part and first[row] < end[row]:
                    seen = slice(int(first[row]), int(end[row]))
                    show_one_key(visible, row, seen, seen.start + row * STRIDE % (seen.stop - seen.start))


def rows_of_one_key(queries: int) -> range:
    """Return which queries see one key at most, where their pattern is one of `WITH_ROWS_OF_ONE_KEY`."""
    return range(ROWS_OF_ONE_KEY // 2, queries - 1, ROWS_OF_ONE_KEY)


def show_one_key(visible: np.ndarray, row: int, seen: slice, key: int) -> None:
    """Let a query see one key alone of those that it could see, in place."""
    visible[row, seen] = False
    visible[row, key] = True
