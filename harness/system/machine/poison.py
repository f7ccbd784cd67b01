"""What memory holds that no kernel is to read: NaN, of another kind each time.

Code may lose NaNs of one kind, by arithmetic on their bits or by a conversion that cuts their payload off.
"""

import random

import numpy as np

_draw = random.Random(0)


def poison(memory: np.ndarray) -> None:
    """Fill an array of floating-point numbers with one kind of NaN; one of flags with 0 or with all bits."""
    bits = memory.view(np.dtype(f"u{memory.dtype.itemsize}"))
    all_bits = int(np.iinfo(bits.dtype).max)
    bits.fill(_draw.choice([0, all_bits] if memory.dtype.kind == "b" else [*_nans(memory.dtype), all_bits]))


def _nans(dtype: np.dtype) -> list[int]:
    """Return the bits of a quiet NaN without a payload, and of a signalling one of the least payload."""
    infinity = int(np.array(np.inf, dtype).view(np.dtype(f"u{dtype.itemsize}")))
    lowest_of_exponent = infinity & -infinity
    return [infinity + lowest_of_exponent // 2, infinity + 1]
