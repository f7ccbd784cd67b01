"""Packed keys and values in the pages of a pool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.problem.pages import paging_of
from harness.system.errors import UnsupportedError


def problem_of(lengths: list[int]) -> AttentionProblem:
    starts = tuple(int(start) for start in np.cumsum([0, *lengths]))
    return AttentionProblem(heads=2, head_dim=4, cu_seqlens_q=starts, cu_seqlens_kv=starts)


@given(
    lengths=st.lists(st.integers(0, 70), min_size=1, max_size=6).filter(any),
    page_size=st.sampled_from([1, 7, 16, 64]),
)
def test_the_table_finds_every_key_once(lengths, page_size):
    problem = problem_of(lengths)
    paging, packed = paging_of(problem, page_size), make_inputs(problem).k
    pool = paging.pool(packed)
    assert pool.shape == (paging.pool_tokens, 2, 4)
    found = [
        pool[int(paging.table[position // page_size]) * page_size + position % page_size]
        for start, end in zip(paging.key_starts, paging.key_ends, strict=True)
        for position in range(start, end)
    ]
    assert np.array_equal(np.array(found), packed)
    assert np.isnan(pool).sum() == pool.size - packed.size
    assert len(set(paging.table)) == len(paging.table) < paging.pool_pages


@given(lengths=st.lists(st.integers(0, 70), min_size=1, max_size=6).filter(any))
def test_pages_hold_what_belongs_to_one_sequence(lengths):
    paging = paging_of(problem_of(lengths), 16)
    assert paging.lengths.sum() == sum(lengths)
    assert (paging.lengths > 0).all()
    assert (paging.key_starts % 16 == 0).all()
    assert list(paging.key_ends - paging.key_starts) == lengths
    assert paging.tokens == sum(-(-length // 16) * 16 for length in lengths)


def test_a_pool_that_32_bits_cannot_count_is_refused() -> None:
    problem = problem_of([1] * 30_000)
    assert paging_of(problem, 32768).key_ends.min() > 0
    with pytest.raises(
        UnsupportedError, match=r"page_size 65536: the pool has room for 2,457,665,536 tokens, exp"
    ):
        paging_of(problem, 65536)


@pytest.mark.parametrize("pages", [*range(1, 40), 1000])
def test_no_page_is_in_its_own_place_or_right_after_the_one_before(pages: int) -> None:
    table = paging_of(problem_of([16 * pages]), 16).table
    assert not (table == np.arange(pages)).any()
    assert not (np.diff(table) == 1).any()
