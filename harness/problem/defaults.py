"""What fields of a problem default to, as far as it follows from other fields."""

import itertools
from typing import Any

LARGEST_SIZE = 2**31 - 1
"""Largest size of a dimension: kernels count in 32-bit integers (`cu_seqlens`, grids)."""


def size_or_one(value: Any) -> int:
    """Return what other fields default to: 1 for a bad or missing value, so that only its own error shows."""
    return value if type(value) is int and 0 < value <= LARGEST_SIZE else 1


def set_default(data: dict[str, Any], key: str, value: Any) -> None:
    """Set a field that is not given."""
    if data.get(key) is None:
        data[key] = value


def lengths_from_cumulative(data: dict[str, Any]) -> None:
    """Derive `batch`, `seq_q` and `seq_kv` of packed sequences from their cumulative lengths."""
    for key, seq in (("cu_seqlens_q", "seq_q"), ("cu_seqlens_kv", "seq_kv")):
        values = data.get(key)
        if values is None:
            continue
        steps = [1]
        if are_cumulative(values):
            steps = [after - before for before, after in itertools.pairwise(values)]
        set_default(data, "batch", len(steps))
        set_default(data, seq, max(1, *steps))


def are_cumulative(values: Any) -> bool:
    """Whether values are lengths added up: at least two integers, from 0 and never falling."""
    if not isinstance(values, tuple) or len(values) < 2 or any(type(value) is not int for value in values):
        return False
    return values[0] == 0 and all(before <= after for before, after in itertools.pairwise(values))
