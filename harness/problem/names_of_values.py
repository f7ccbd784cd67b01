"""Values of a problem in few letters, such that different values have different names."""

from __future__ import annotations

from harness.system.digest import digest

LONGEST_LIST = 24
"""Letters of a list that a name holds whole; of a longer one it says the ends, how many, and a digest."""


def name_of_list(text: str) -> str:
    """Return a list such as `12,96` as it is, or of a long one `12…96 (8 values, 3fa2c1d0)`."""
    if len(text) <= LONGEST_LIST:
        return text
    values = text.split(",")
    ends = sorted(values, key=lambda value: (len(value), value))  # whole numbers by their sizes
    return f"{ends[0][:LONGEST_LIST]}…{ends[-1][:LONGEST_LIST]} ({len(values)} values, {digest(text)[:8]})"


def name_of_float(value: float) -> str:
    """Return a number with six digits, or with as many as tell it from all others."""
    text = f"{value:g}"
    return text if float(text) == value else repr(value)
