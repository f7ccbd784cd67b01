"""The keys that causal and window masks leave visible in one sequence: a band along the diagonal."""

from dataclasses import dataclass

import numpy as np

Window = tuple[int | None, int | None]
"""Keys that a query sees before and behind the one that it is aligned with; None: all."""


def shortened_window(window: Window | None, queries: int, keys: int) -> Window:
    """Return a window that shows the same keys, with sides no longer than the longest sequence.

    Kernels add a side to a position in 32 bits, where a longer one would have no room.
    """
    left, right = window or (None, None)
    return None if left is None else min(left, keys), None if right is None else min(right, queries)


@dataclass(frozen=True)
class Band:
    """Query i sees keys from i + `first` to before i + `end`, of those that exist.

    Counts are closed forms: their cost does not grow with the lengths.
    """

    queries: int
    keys: int
    first: int | None
    """None: from the first key on."""
    end: int | None
    """None: up to the last key."""

    def visible_range(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return [first, past-the-end) key that each query index sees."""
        first = np.zeros_like(queries) if self.first is None else queries + self.first
        end = np.full_like(queries, self.keys) if self.end is None else queries + self.end
        first = np.clip(first, 0, self.keys)
        return first, np.maximum(np.clip(end, 0, self.keys), first)

    def visible_pairs(self) -> int:
        """Return how many (query, key) pairs are visible."""
        if self._is_empty:
            return 0
        ends = self.queries * self.keys if self.end is None else self._sum_of_keys(self.end)
        return ends - (0 if self.first is None else self._sum_of_keys(self.first))

    def queries_without_keys(self) -> int:
        """Return how many queries see no key."""
        return self.queries if self._is_empty else self._queries_before + self._queries_behind

    def keys_seen(self) -> int:
        """Return how many keys some query sees; they follow each other."""
        if self.queries_without_keys() >= self.queries:
            return 0
        first, last = self._queries_before, self.queries - 1 - self._queries_behind
        begin = 0 if self.first is None else max(first + self.first, 0)
        end = self.keys if self.end is None else min(last + self.end, self.keys)
        return end - begin

    @property
    def _queries_before(self) -> int:
        """How many queries see no key since all that exist lie behind."""
        return 0 if self.end is None else min(max(1 - self.end, 0), self.queries)

    @property
    def _queries_behind(self) -> int:
        """How many queries see no key since all that exist lie before."""
        return 0 if self.first is None else self.queries - min(max(self.keys - self.first, 0), self.queries)

    @property
    def _is_empty(self) -> bool:
        crossed = self.first is not None and self.end is not None and self.end <= self.first
        return self.keys == 0 or crossed

    def _sum_of_keys(self, offset: int) -> int:
        """Return the sum of i + offset over all queries i, each clipped to 0 … keys."""
        return self._sum_below(self.queries + offset) - self._sum_below(offset)

    def _sum_below(self, end: int) -> int:
        """Return the sum of min(j, keys) over 0 ≤ j < end."""
        if end <= self.keys:
            return max(end, 0) * (max(end, 0) - 1) // 2
        return self.keys * (self.keys - 1) // 2 + (end - self.keys) * self.keys
