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
    position: np.ndarray
    """Of each key, `[seq_kv]`, from the first one on that any query of the entry could see."""
    total: int
    """How many keys there are from that one to the last one that any could see."""

    @property
    def is_early(self) -> np.ndarray:
        """Which keys are in the first half of those that any query of the entry could see, or before it."""
        return self.position < self.total // 2

    @property
    def is_front(self) -> np.ndarray:
        """The same, with the key in the middle."""
        return self.position < self.total - self.total // 2

    @property
    def is_back(self) -> np.ndarray:
        """Which keys are in the last half, or beyond all that any query could see."""
        return ~((self.position >= 0) & self.is_early)

    @property
    def is_third_fourth(self) -> np.ndarray:
        """Which keys are in the third fourth."""
        half = self.total // 2
        return (self.position >= half) & (self.position < half + self.total // 4)

    @property
    def is_in_first_half(self) -> np.ndarray:
        """Which keys each query could see in the first half of its own."""
        return self.place < self.length - self.length // 2

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
"""Returns which pairs are visible, what broadcasts to `[queries, seq_kv]`."""

Form = tuple[str, ...]
"""Names of patterns of equal parts of the queries, one after another."""


def _middle(pairs: Pairs) -> np.ndarray:
    """Hide the entry's first and last fourth, show the second one whole, and the third to most queries."""
    position, total = pairs.position, pairs.total
    fourth = total // 4
    is_inside = (position >= fourth) & (position < total - fourth)
    is_whole = is_inside & (pairs.is_early | ~pairs.is_other)
    is_beyond = (position < 0) | (position >= total)
    return is_whole | pairs.visible & (is_inside | is_beyond)


def is_in_first_half_of_tile(number: np.ndarray) -> np.ndarray:
    """Return which queries or keys are in the first half of the second tile, for tiles of any power of two.

    The second tile of 2^n is from 2^n to 2^(n + 1): there is one for each n, and none overlaps another.
    """
    mantissa, _ = np.frexp(number)
    return mantissa < 0.75


PATTERNS: dict[str, Pattern] = {
    "random": lambda pairs: pairs.visible,
    "all": lambda pairs: np.ones_like(pairs.visible),  # also those that causality, windows and lengths hide
    "none": lambda pairs: np.zeros_like(pairs.visible),
    # Of the keys that each query could see, as padding on the right leaves them.
    "own first half": lambda pairs: pairs.visible & pairs.is_in_first_half,
    "own ends": lambda pairs: (pairs.place < pairs.length // 4) | (pairs.place >= 3 * pairs.length // 4),
    "own first half, to most": lambda pairs: np.where(pairs.is_other, pairs.visible, pairs.is_in_first_half),
    # Of the keys that any query of the entry could see; whole, where nothing is said.
    "front": lambda pairs: pairs.is_front,
    "front, to most": lambda pairs: np.where(pairs.is_other, pairs.visible, pairs.is_front),
    "back": lambda pairs: pairs.is_back,
    "random back": lambda pairs: pairs.visible & pairs.is_back,
    "middle": _middle,
    "first three fourths": lambda pairs: (
        (pairs.visible | pairs.is_early) & (pairs.position < pairs.total - pairs.total // 4)
    ),
    "all but the third fourth": lambda pairs: (pairs.visible | pairs.is_early) & ~pairs.is_third_fourth,
    # Parts of tiles: what is shown in the first half of the keys is hidden in the last.
    "edges": lambda pairs: pairs.is_edge & pairs.is_early | pairs.visible & ~pairs.is_edge,
    "halves of keys": lambda pairs: is_in_first_half_of_tile(pairs.key),
    "last halves of keys": lambda pairs: ~is_in_first_half_of_tile(pairs.key),
    "every other key": lambda pairs: (pairs.key % 2 == 0) == pairs.is_early,
    "halves of queries": lambda pairs: is_in_first_half_of_tile(pairs.query) == pairs.is_early,
    "last halves of queries": lambda pairs: is_in_first_half_of_tile(pairs.query) != pairs.is_early,
    "every other query": lambda pairs: (pairs.query % 2 == 0) == pairs.is_early,
    "few pairs": lambda pairs: ((FEW_STRIDE * pairs.query + pairs.key) % ONE_OF_PAIRS == 0) != pairs.is_early,
}

WITH_ROWS_OF_ONE_KEY = ("random", "own first half", "random back", "own ends")

OF_QUERIES: tuple[Form, ...] = (
    ("random", "all", "random back", "random back"),
    ("none", "own first half", "own first half, to most", "own ends"),
    ("edges",),
    ("all", "back"),
    ("none", "front"),
    ("front, to most",),
    ("middle",),
    ("all but the third fourth",),
    ("every other key",),
    ("halves of keys",),
    ("halves of queries",),
    ("every other query",),
    ("last halves of keys",),
    ("last halves of queries",),
    ("few pairs",),
)
"""Forms of masks that differ in queries and keys, for tiles small and large.

With the first one, queries see keys at the ends of what they could see, where causality and windows are.
Causality leaves the first queries no tile to hide or show.
"""

_LATER_OF_KEYS: tuple[Form, ...] = (
    ("front",),
    ("all but the third fourth",),
    ("edges",),
    ("halves of keys",),
    ("last halves of keys",),
    ("every other key",),
)

OF_KEYS: tuple[Form, ...] = (("back",), ("middle",), *_LATER_OF_KEYS)
"""The same of a mask that all queries share."""

OF_KEYS_OF_SEVERAL: tuple[Form, ...] = (("middle",), ("back",), *_LATER_OF_KEYS, ("none",))
"""The same where several batch entries or heads have masks of their own."""

OF_QUERIES_ALONE: tuple[Form, ...] = (
    ("random", "all", "none", "none"),
    ("none", "random", "all", "random"),
    ("none", "all"),
)
"""The same of masks that all keys share."""

OF_FINITE_SCORES: tuple[Form, ...] = (
    ("random", "own first half", "random back", "own ends"),
    ("front", "back"),
    ("middle",),
    ("halves of keys",),
    ("last halves of keys",),
)
"""The same as `OF_QUERIES` where queries are to see some keys."""

OF_FINITE_KEYS: tuple[Form, ...] = (
    ("middle",),
    ("back",),
    ("front",),
    ("last halves of keys",),
    ("all but the third fourth",),
    ("halves of keys",),
)
"""The same as `OF_KEYS` where queries are to see some keys."""

OF_FINITE_KEYS_FROM_THE_FIRST: tuple[Form, ...] = (
    ("first three fourths",),
    ("all but the third fourth",),
    ("front",),
    ("halves of keys",),
)
"""The same where the first query sees the first key alone."""


def lay_patterns(visible: np.ndarray, first: np.ndarray, end: np.ndarray, names: Sequence[str]) -> None:
    """Lay patterns over the pairs `[seq_q, seq_kv]` of one batch entry and head, in place.

    Each is of an equal part of the queries.  `first` and `end` say for each query which keys it could see, by
    causality, windows and lengths.
    """
    queries, keys = visible.shape
    key, begin = np.arange(keys), int(first.min())
    total = max(0, int(end.max()) - begin)
    for number, name in enumerate(names):
        part = range(queries * number // len(names), queries * (number + 1) // len(names))
        for start in range(part.start, part.stop, BLOCK):
            rows = np.arange(start, min(start + BLOCK, part.stop))[:, None]
            block = slice(start, start + len(rows))
            place, length = key - first[rows], (end - first)[rows]
            pairs = Pairs(visible[block], rows, place, length, key, key - begin, total)
            visible[block] = PATTERNS[name](pairs)
        if name in WITH_ROWS_OF_ONE_KEY:
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
