"""Tests of many settings: a few of them are in every run, all of them in `make test-sweeps`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sweep(values: Iterable[Any], *, but: Collection[Any]) -> list[Any]:
    """Return a parameter's values, or tuples of several, all marked as a sweep but those of every run."""
    return [value if value in but else _marked(value) for value in values]


def _marked(value: Any) -> Any:
    together = value if type(value) is tuple else (value,)
    return pytest.param(*together, marks=pytest.mark.sweep)
