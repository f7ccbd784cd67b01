"""Counts of what a band leaves visible: closed forms against the ranges themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.problem.attention_problem import AttentionProblem
from harness.problem.band import Band, shortened_window

offsets = st.none() | st.integers(-20, 20)


@given(queries=st.integers(1, 12), keys=st.integers(0, 12), first=offsets, end=offsets)
def test_counts_are_those_of_the_ranges(queries: int, keys: int, first: int | None, end: int | None) -> None:
    band = Band(queries, keys, first, end)
    starts, stops = band.visible_range(np.arange(queries))
    assert band.visible_pairs() == int((stops - starts).sum())
    assert band.queries_without_keys() == int((stops == starts).sum())
    seen = {key for start, stop in zip(starts, stops, strict=True) for key in range(start, stop)}
    assert band.keys_seen() == len(seen)


def test_counting_does_not_grow_with_the_lengths() -> None:
    problem = AttentionProblem(
        batch=2**20, heads=1, seq_q=2**20, seq_kv=2**20 + 1, head_dim=1, causal=True, window=(2**19, None)
    )
    assert len(problem.different_lengths()) == 1
    assert problem.visible_pairs() == 2**20 * sum(min(i + 2, 2**19 + 1) for i in range(2**20))
    assert problem.queries_without_keys() == 0


@given(
    window=st.tuples(*[st.none() | st.integers(0, 12) | st.integers(2**31 - 40, 2**31 - 1)] * 2),
    longest=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    data=st.data(),
)
def test_a_shortened_window_shows_the_same_keys(
    window: tuple[int | None, int | None], longest: tuple[int, int], data: st.DataObject
) -> None:
    queries, keys = (data.draw(st.integers(0, most)) for most in longest)
    shift, aligned = keys - queries, np.arange(queries)
    ranges = [
        Band(
            queries,
            keys,
            None if left is None else shift - left,
            None if right is None else shift + right + 1,
        ).visible_range(aligned)
        for left, right in (window, shortened_window(window, *longest))
    ]
    assert np.array_equal(*ranges)


@given(lengths=st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1)))
def test_a_shortened_window_leaves_room_in_32_bits(lengths: tuple[int, int]) -> None:
    left, right = shortened_window((2**31 - 1, 2**31 - 1), *lengths)
    assert (left, right) == (lengths[1], lengths[0])
    assert shortened_window(None, *lengths) == shortened_window((None, None), *lengths) == (None, None)
