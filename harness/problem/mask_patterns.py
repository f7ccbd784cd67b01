"""Patterns of visible keys, as padding, documents and blocks have them.

Where pairs are hidden at random, each tile keeps some and loses some.  So code would be right that goes wrong
where all of a tile is hidden, or visible: it subtracts −inf from −inf, ends its loop early, leaves an output
unwritten, forgets causality where it looks up no mask, or takes the map of tiles of another head.  So would
code be that tells by a part of a tile whether all of it is visible or hidden, as where one warp votes for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

ROWS_OF_ONE_KEY = 16
"""One query of so many sees one key at most, where its pattern is not one of whole tiles."""
STRIDE = 7919
"""From one such query's key to the next one's; a prime, so that all places come."""
ONE_OF_PAIRS = 1021
"""One pair of so many is another than all around it; a prime, so that each query has it elsewhere."""
FEW_STRIDE = 389
"""From one query's such pair to the next one's, so that tiles of a thousand pairs have about one each."""
BLOCK = 256
"""Queries that are looked at together."""


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
    key: np.ndarray
    """Number of each key, `[seq_kv]`."""
    begin: int
    """The first key that any query of the entry could see."""
    total: int
    """How many keys there are from that one to the last one that any could see."""

    @property
    def position(self) -> np.ndarray:
        """Of each key, `[seq_kv]`, from the first one on that any query of the entry could see."""
        return self.key - self.begin

    @property
    def is_in_front(self) -> np.ndarray:
        """Which keys are in the first half, `[seq_kv]`, of those that any query of the entry could see."""
        return self.position < self.total // 2

    @property
    def is_other(self) -> np.ndarray:
        """Which queries are not as those beside them, `[queries, 1]`.

        One of four, and neither the first nor the last one of a tile of four, or of as many times that.
        """
        return self.query % 4 == 1

    @property
    def is_edge(self) -> np.ndarray:
        """Which keys are the first or last one of eight, `[seq_kv]`, or of as many times that, or of all."""
        return (self.key % 8 == 0) | (self.key % 8 == 7) | (self.position == self.total - 1)


Pattern = Callable[[Pairs], np.ndarray]
"""Returns which pairs are visible (boolean, `[queries, seq_kv]`)."""

Form = tuple[Pattern, ...]
"""Patterns of equal parts of the queries, one after another."""


def random_pairs(pairs: Pairs) -> np.ndarray:
    """Leave the pairs as they were drawn."""
    return pairs.visible


def all_keys(pairs: Pairs) -> np.ndarray:
    """Show all keys, also those that causality, windows and lengths hide."""
    return np.ones_like(pairs.visible)


def no_keys(pairs: Pairs) -> np.ndarray:
    """Hide all keys."""
    return np.zeros_like(pairs.visible)


def first_half(pairs: Pairs) -> np.ndarray:
    """Hide the last half, as padding on the right does."""
    return pairs.visible & (pairs.place < pairs.length - pairs.length // 2)


def both_ends(pairs: Pairs) -> np.ndarray:
    """Hide the middle half, and show all others."""
    return (pairs.place < pairs.length // 4) | (pairs.place >= 3 * pairs.length // 4)


def halves_of_most_queries(pairs: Pairs) -> np.ndarray:
    """Show the first half whole and hide the last, but to one query of four."""
    shown = pairs.place < pairs.length - pairs.length // 2
    return np.where(pairs.is_other, pairs.visible, shown)


def front(pairs: Pairs) -> np.ndarray:
    """Show the first half of the entry's keys whole, and no others."""
    return np.broadcast_to(pairs.position < pairs.total - pairs.total // 2, pairs.visible.shape)


def back(pairs: Pairs) -> np.ndarray:
    """Show the last half of the entry's keys whole, and no others of them."""
    is_hidden = (pairs.position >= 0) & (pairs.position < pairs.total // 2)
    return np.broadcast_to(~is_hidden, pairs.visible.shape)


def random_back(pairs: Pairs) -> np.ndarray:
    """Hide the first half of the entry's keys."""
    return pairs.visible & back(pairs)


def middle(pairs: Pairs) -> np.ndarray:
    """Hide the entry's first and last fourth, show the second one whole, and the third to most queries."""
    position, total = pairs.position, pairs.total
    fourth = total // 4
    is_inside = (position >= fourth) & (position < total - fourth)
    is_whole = is_inside & ((position < total // 2) | ~pairs.is_other)
    is_beyond = (position < 0) | (position >= total)
    return is_whole | pairs.visible & (is_inside | is_beyond)


def first_three_fourths(pairs: Pairs) -> np.ndarray:
    """Hide the entry's last fourth, and show the first half whole."""
    position, total = pairs.position, pairs.total
    return (pairs.visible | (position < total // 2)) & (position < total - total // 4)


def all_but_third_fourth(pairs: Pairs) -> np.ndarray:
    """Hide the entry's third fourth, and show the first half whole."""
    position, total = pairs.position, pairs.total
    is_hidden = (position >= total // 2) & (position < total // 2 + total // 4)
    return (pairs.visible | (position < total // 2)) & ~is_hidden


def edges_apart(pairs: Pairs) -> np.ndarray:
    """Show tiles' first and last keys in the entry's first half, and hide them in the last."""
    is_shown = pairs.is_edge & pairs.is_in_front
    return is_shown | pairs.visible & ~pairs.is_edge


def front_and_more(pairs: Pairs) -> np.ndarray:
    """Show the first half of the entry's keys whole, and hide the last, but to one query of four."""
    return np.where(pairs.is_other, pairs.visible, front(pairs))


def halves_of_keys(pairs: Pairs) -> np.ndarray:
    """Show the first half of tiles' keys whole, and no others, see `is_in_first_half_of_tile`."""
    return np.broadcast_to(is_in_first_half_of_tile(pairs.key), pairs.visible.shape)


def last_halves_of_keys(pairs: Pairs) -> np.ndarray:
    """Show the last half of tiles' keys whole, and no others."""
    return ~halves_of_keys(pairs)


def other_keys(pairs: Pairs) -> np.ndarray:
    """Show every other key: even ones of the entry's first half, and odd ones of the last."""
    return np.broadcast_to((pairs.key % 2 == 0) == pairs.is_in_front, pairs.visible.shape)


def halves_of_queries(pairs: Pairs) -> np.ndarray:
    """Show the first half of tiles' queries the first half of the entry's keys whole, and others the last."""
    return is_in_first_half_of_tile(pairs.query) == pairs.is_in_front


def last_halves_of_queries(pairs: Pairs) -> np.ndarray:
    """Show the last half of tiles' queries the first half of the entry's keys whole, and others the last."""
    return ~halves_of_queries(pairs)


def other_queries(pairs: Pairs) -> np.ndarray:
    """Show even queries the first half of the entry's keys whole, and odd ones the last."""
    return (pairs.query % 2 == 0) == pairs.is_in_front


def few_pairs(pairs: Pairs) -> np.ndarray:
    """Hide one pair of a thousand of the entry's first half of the keys, and show one of the last half's."""
    return ((FEW_STRIDE * pairs.query + pairs.key) % ONE_OF_PAIRS == 0) != pairs.is_in_front


def is_in_first_half_of_tile(number: np.ndarray) -> np.ndarray:
    """Return which queries or keys are in the first half of the second tile, for tiles of any power of two.

    The second tile of 2^n is from 2^n to 2^(n + 1): there is one for each n, and none overlaps another.
    """
    mantissa, _ = np.frexp(number)
    return mantissa < 0.75


OF_QUERIES: tuple[Form, ...] = (
    (random_pairs, all_keys, random_back, random_back),
    (no_keys, first_half, halves_of_most_queries, both_ends),
    (edges_apart,),
    (all_keys, back),
    (no_keys, front),
    (front_and_more,),
    (middle,),
    (all_but_third_fourth,),
    (other_keys,),
    (halves_of_keys,),
    (halves_of_queries,),
    (other_queries,),
    (last_halves_of_keys,),
    (last_halves_of_queries,),
    (few_pairs,),
)
"""Forms of masks that differ in queries and keys, for tiles small and large.

With the first one, queries see keys at the ends of what they could see, where causality and windows are.
Causality leaves the first queries no tile to hide or show.
"""

OF_KEYS: tuple[Form, ...] = (
    (back,),
    (middle,),
    (front,),
    (all_but_third_fourth,),
    (edges_apart,),
    (halves_of_keys,),
    (last_halves_of_keys,),
    (other_keys,),
)
"""The same of a mask that all queries share."""

OF_KEYS_OF_SEVERAL: tuple[Form, ...] = (
    (middle,),
    (back,),
    (front,),
    (all_but_third_fourth,),
    (edges_apart,),
    (halves_of_keys,),
    (last_halves_of_keys,),
    (other_keys,),
    (no_keys,),
)
"""The same where several batch entries or heads have masks of their own."""

OF_QUERIES_ALONE: tuple[Form, ...] = (
    (random_pairs, all_keys, no_keys, no_keys),
    (no_keys, random_pairs, all_keys, random_pairs),
    (no_keys, all_keys),
)
"""The same of masks that all keys share."""

OF_FINITE_SCORES: tuple[Form, ...] = (
    (random_pairs, first_half, random_back, both_ends),
    (front, back),
    (middle,),
    (halves_of_keys,),
    (last_halves_of_keys,),
)
"""The same as `OF_QUERIES` where queries are to see some keys."""

OF_FINITE_KEYS: tuple[Form, ...] = (
    (middle,),
    (back,),
    (front,),
    (last_halves_of_keys,),
    (all_but_third_fourth,),
    (halves_of_keys,),
)
"""The same as `OF_KEYS` where queries are to see some keys."""

OF_FINITE_KEYS_FROM_THE_FIRST: tuple[Form, ...] = (
    (first_three_fourths,),
    (all_but_third_fourth,),
    (front,),
    (halves_of_keys,),
)
"""The same where the first query sees the first key alone."""

WITH_ROWS_OF_ONE_KEY = (random_pairs, first_half, random_back, both_ends)


def lay_patterns(
    visible: np.ndarray, first: np.ndarray, end: np.ndarray, patterns: Sequence[Pattern]
) -> None:
    """Lay patterns over the pairs `[seq_q, seq_kv]` of one batch entry and head, in place.

    Each is of an equal part of the queries.  `first` and `end` say for each query which keys it could see, by
    causality, windows and lengths.
    """
    queries, keys = visible.shape
    keys_of_all, begin = np.arange(keys), int(first.min())
    total = max(0, int(end.max()) - begin)
    for number, pattern in enumerate(patterns):
        part = range(queries * number // len(patterns), queries * (number + 1) // len(patterns))
        for start in range(part.start, part.stop, BLOCK):
            rows = np.arange(start, min(start + BLOCK, part.stop))[:, None]
            block = slice(start, start + len(rows))
            place, length = keys_of_all - first[rows], (end - first)[rows]
            pairs = Pairs(visible[block], rows, place, length, keys_of_all, begin, total)
            visible[block] = pattern(pairs)
        if pattern in WITH_ROWS_OF_ONE_KEY:
            for row in rows_of_one_key(queries):
                if row in part:
                    seen = slice(int(first[row]), int(end[row]))
                    show_one_key(visible[row, seen], row * STRIDE)


def rows_of_one_key(queries: int) -> range:
    """Return which queries see one key at most, where their pattern is one of `WITH_ROWS_OF_ONE_KEY`."""
    return range(ROWS_OF_ONE_KEY // 2, queries - 1, ROWS_OF_ONE_KEY)


def show_one_key(visible: np.ndarray, number: int) -> None:
    """Let a query see one of the keys alone that it sees, in place; which one the number says."""
    shown = np.flatnonzero(visible)
    visible[:] = False
    if len(shown):
        visible[shown[number % len(shown)]] = True
