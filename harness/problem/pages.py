"""Keys and values of packed sequences in pages, found through a table, as caches of servers hold them.

A pool holds pages of so many tokens each, in no order; a sequence has as many pages as its keys need, and the
table names them, sequence after sequence (PagedAttention: Kwon et al., Efficient Memory Management for Large
Language Model Serving, 2023).  What kernels are told is what such caches keep: the table, where each sequence
begins and ends among the pages of the table, and how many tokens a page holds.
"""

from dataclasses import dataclass

import numpy as np

from harness.problem.attention_fields import LARGEST_SIZE
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import itemsize
from harness.system.errors import UnsupportedError
from harness.system.machine.placement import GUARD, placement
from harness.system.machine.poison import poison

SPARE_SHARE = 4
"""One page in so many belongs to no sequence."""
SEED = 20231023
"""Of the order in which sequences find their pages."""
INDICES = ("key_starts", "key_ends", "page_table", "page_lengths")
"""Buffers of what kernels read to find keys."""


@dataclass(frozen=True)
class PageRoom:
    """What kernels are built for: as many pages as keys can need, in whatever sequences."""

    page_size: int
    sequences: int
    pages: int
    """Entries of the table."""

    @property
    def tokens(self) -> int:
        """Tokens that the pages of the table have room for."""
        return self.pages * self.page_size

    @property
    def pool_tokens(self) -> int:
        """Tokens that the pool has room for."""
        return _pool_pages(self.pages) * self.page_size

    def indices(self) -> dict[str, int]:
        """Return how many numbers what finds keys has, by the names of its buffers."""
        sizes = (self.sequences, self.sequences, self.pages, self.pages)
        return dict(zip(INDICES, sizes, strict=True))


@dataclass(frozen=True)
class Paging:
    """Where the keys of packed sequences lie."""

    page_size: int
    key_starts: np.ndarray
    """`[batch]`, i32: where each sequence begins, counted in tokens of the pages of the table."""
    key_ends: np.ndarray
    """`[batch]`, i32: where it ends, likewise."""
    table: np.ndarray
    """`[pages]`, i32: the page of the pool that each is."""
    lengths: np.ndarray
    """`[pages]`, i32: tokens that each holds."""
    pool_pages: int

    @property
    def tokens(self) -> int:
        """Tokens that the pages of the table have room for."""
        return len(self.table) * self.page_size

    @property
    def pool_tokens(self) -> int:
        """Tokens that the pool has room for."""
        return self.pool_pages * self.page_size

    def indices(self) -> dict[str, np.ndarray]:
        """Return what kernels read to find keys, by the names of their buffers."""
        arrays = (self.key_starts, self.key_ends, self.table, self.lengths)
        return dict(zip(INDICES, arrays, strict=True))

    def pool(self, packed: np.ndarray) -> np.ndarray:
        """Return packed keys or values `[tokens, heads, width]` as a pool `[pool tokens, heads, width]`.

        What belongs to no sequence is NaN, and so is what lies beside the pool.
        """
        pool = placement.empty((self.pool_tokens, *packed.shape[1:]), packed.dtype, GUARD)
        poison(pool)
        first = 0
        for page, length in zip(self.table, self.lengths, strict=True):
            place = int(page) * self.page_size
            pool[place : place + length] = packed[first : first + length]
            first += int(length)
        return pool


def paging_of(problem: AttentionProblem, page_size: int) -> Paging:
    """Return where pages of this size hold a problem's keys: the same place each time, in no order."""
    lengths, pages = _pages_of_sequences(problem, page_size)
    pool_pages = _pool_pages(int(pages.sum()))
    _require_countable(pool_pages, page_size)
    starts = (np.cumsum(pages) - pages) * page_size
    held = [
        min(page_size, int(length) - page_size * number)
        for length, count in zip(lengths, pages, strict=True)
        for number in range(int(count))
    ]
    order = _scattered(len(held), pool_pages)
    return Paging(
        page_size,
        starts.astype(np.int32),
        (starts + lengths).astype(np.int32),
        order.astype(np.int32),
        np.array(held, np.int32),
        pool_pages,
    )


def room_for(problem: AttentionProblem, page_size: int) -> PageRoom:
    """Return the room that keys need in pages of this size, however they are shared out among sequences."""
    if problem.cu_seqlens_kv is None:
        raise ValueError("pages hold the keys of packed sequences")
    tokens = problem.cu_seqlens_kv[-1]
    begun = min(problem.batch, tokens)  # pages that each sequence may leave almost empty
    pages = (tokens + begun * (page_size - 1)) // page_size
    pages = min(pages, problem.batch * -(-problem.seq_kv // page_size))
    _require_countable(_pool_pages(pages), page_size)
    return PageRoom(page_size, problem.batch, pages)


def _require_countable(pool_pages: int, page_size: int) -> None:
    if pool_pages * page_size > LARGEST_SIZE:
        raise UnsupportedError(
            f"page_size {page_size}: the pool has room for {pool_pages * page_size:,} tokens, "
            f"expected at most {LARGEST_SIZE:,}"
        )


def pool_bytes(problem: AttentionProblem, page_size: int) -> int:
    """Return the bytes of the pools of K and V that pages of this size make; nothing is allocated."""
    _, pages = _pages_of_sequences(problem, page_size)
    tokens = _pool_pages(int(pages.sum())) * page_size
    elements = tokens * problem.kv_heads * (problem.head_dim + problem.head_dim_v)
    return elements * itemsize(problem.dtype)


def _pages_of_sequences(problem: AttentionProblem, page_size: int) -> tuple[np.ndarray, np.ndarray]:
    if problem.cu_seqlens_kv is None:
        raise ValueError("pages hold the keys of packed sequences")
    lengths = np.diff(np.array(problem.cu_seqlens_kv, np.int64))
    return lengths, -(-lengths // page_size)


def _scattered(used: int, pool_pages: int) -> np.ndarray:
    """Return where the pages are that are used: none in its own place, and none right after the one before.

    So code is wrong that looks up no page, or one for several.
    """
    generator = np.random.default_rng(SEED)
    while True:
        places = generator.permutation(pool_pages)[:used]
        if not (places == np.arange(used)).any() and not (np.diff(places) == 1).any():
            return places


def _pool_pages(used: int) -> int:
    """Return how many pages a pool has of which so many belong to sequences."""
    return used + 1 + used // SPARE_SHARE
