"""Parts of the tests of many settings: together they are all, and each test is in one."""

import argparse

import pytest
from sweeps import Part, part


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_every_test_is_in_one_part(parts: int) -> None:
    names = [f"tests/test_a.py::test_b[{number}]" for number in range(500)]
    counts = [sum(Part(number, parts).holds(name) for name in names) for number in range(1, parts + 1)]
    assert sum(counts) == len(names)
    assert min(counts) > len(names) / parts / 2


def test_a_part_is_named_by_its_number_and_how_many_there_are() -> None:
    assert part("2/3") == Part(2, 3)
    for text in ("0/3", "4/3", "3", "a/3", "1/0", "/", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="expected K/N"):
            part(text)
