"""Counts and durations in words."""

import pytest

from harness.system.plurals import about


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (46, "about 46 s"),
        (3000, "about 50 min"),
        (7200, "about 120 min"),
        (10482, "about 3 hours"),
        (5433848, "about 63 days"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert about(seconds) == words
