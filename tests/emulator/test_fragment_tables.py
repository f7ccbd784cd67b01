"""The printed tables of fragments."""

import pytest
from fragment_tables import assert_placement, lane_table


def by_rows(lane: int, element: int) -> tuple[int, int]:
    return lane // 2, 2 * (lane % 2) + element


def test_a_table_shows_each_elements_owner() -> None:
    expected = """\
       0    1    2    3
  0 0:a0 0:a1 1:a0 1:a1
  1 2:a0 2:a1 3:a0 3:a1"""
    assert lane_table(by_rows, rows=2, columns=4, lanes=4, elements=2, letter="a") == expected


def test_misplaced_elements_show_both_tables() -> None:
    found = {(lane, element): by_rows(lane, 1 - element) for lane in range(4) for element in range(2)}
    with pytest.raises(AssertionError, match=r"(?s)8 of 8 elements.*0:a0 0:a1.*0:a1 0:a0") as caught:
        assert_placement(found, by_rows, rows=2, columns=4, lanes=4, elements=2, letter="a")
    assert "the model has" in str(caught.value)
