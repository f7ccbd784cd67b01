"""Floats as text, many at once, letter by letter as Python writes each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow

SMALLEST_PLAIN = 1e-4
"""Smaller numbers are left to Python, which writes them with an exponent where pyarrow does not."""
LARGEST_WHOLE = 1e9
"""Numbers from here on, of which all digits are wanted, are left to Python, too."""
NEAR_A_TIE = 1e-6
"""A scaled number this near to the middle of two whole ones is left to Python: rounding has moved it."""


def float_text(value: float, digits: int | None = None) -> str:
    """Return a number with so many significant digits, by default as many as tell it from all others."""
    return repr(value) if digits is None else f"{value:.{digits}g}"


def float_texts(values: np.ndarray, digits: int | None = None) -> pyarrow.LargeStringArray:
    """Return `float_text` of each value; the text of what is not a number is empty.

    Each different value is written once, by pyarrow where that writes the same as Python: that takes a
    quarter of the time, and other threads go on meanwhile.
    """
    import numpy as np
    import pandas as pd
    import pyarrow
    from pyarrow import compute

    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    shown, is_alike = _all_digits(distinct) if digits is None else _rounded(distinct, digits)
    by_python = [
        "" if value != value else float_text(value, digits) for value in distinct[~is_alike].tolist()
    ]
    texts = pyarrow.array(by_python, type=pyarrow.large_string())
    if np.any(is_alike):
        by_arrow = pyarrow.array(shown).cast(pyarrow.large_string())
        texts = compute.replace_with_mask(by_arrow, pyarrow.array(~is_alike), texts)
    return texts.take(pyarrow.array(codes))


def _all_digits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers, and which of them pyarrow writes as `repr` does: it writes 2.0 as 2."""
    import numpy as np

    size = np.abs(values)
    return values, (size >= SMALLEST_PLAIN) & (size < LARGEST_WHOLE) & (values != np.rint(values))


def _rounded(values: np.ndarray, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers rounded to at most 9 digits, and which of them pyarrow then writes as Python does.

    Dividing a whole number by a power of ten that a float holds exactly gives the float that is nearest to
    the decimal number, and that has no shorter text.
    """
    import numpy as np

    size = np.abs(values)
    in_range = (size >= SMALLEST_PLAIN) & (size < 10.0 ** (digits - 1))
    safe = np.where(in_range, values, 1.0)
    places = digits - 1 - np.floor(np.log10(np.abs(safe))).astype(np.int64)
    powers = np.array([10.0**place for place in range(places.max(initial=0) + 1)])[places]
    scaled = safe * powers
    whole = np.rint(scaled)
    has_digits = (np.abs(whole) >= 10.0 ** (digits - 1)) & (np.abs(whole) < 10.0**digits)
    is_tie = np.abs(np.abs(scaled - whole) - 0.5) < NEAR_A_TIE
    return whole / powers, in_range & has_digits & ~is_tie
