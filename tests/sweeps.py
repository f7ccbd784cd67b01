"""Tests of many settings: a few of them are in every run, all of them in `make test-sweeps`.

Continuous integration runs one part of several of them, another one for another commit.
"""

import argparse
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import pytest


def sweep(values: Iterable[Any], *, but: Collection[Any]) -> list[Any]:
    """Return a parameter's values, or tuples of several, all marked as a sweep but those of every run."""
    return [value if value in but else _marked(value) for value in values]


def _marked(value: Any) -> Any:
    together = value if type(value) is tuple else (value,)
    return pytest.param(*together, marks=pytest.mark.sweep)


@dataclass(frozen=True)
class Part:
    """One of several parts of all tests; a test's name decides in which it is."""

    number: int
    parts: int

    def holds(self, name: str) -> bool:
        """Return whether a test belongs to this part."""
        return zlib.crc32(name.encode()) % self.parts == self.number - 1


def part(text: str) -> Part:
    """Return the part that a text names, `2/3`."""
    number, slash, parts = text.partition("/")
    if not (slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected K/N with K from 1 to N")
    return Part(int(number), int(parts))
