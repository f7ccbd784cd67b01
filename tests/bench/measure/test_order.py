from collections import Counter
from itertools import pairwise

import pytest

from harness.bench.measure.order import balanced_orders

COUNTS = [1, 2, 3, 4, 5, 8, 11]


@pytest.mark.parametrize("count", COUNTS)
def test_each_candidate_stands_in_each_place_equally_often(count: int) -> None:
    assert all(sorted(order) == list(range(count)) for order in balanced_orders(count))
    for place in zip(*balanced_orders(count), strict=True):
        assert len(set(Counter(place).values())) == 1


@pytest.mark.parametrize("count", COUNTS[1:])
def test_each_candidate_follows_each_other_one_equally_often(count: int) -> None:
    followed = Counter(pair for order in balanced_orders(count) for pair in pairwise(order))
    assert len(followed) == count * (count - 1)
    assert len(set(followed.values())) == 1
