"""How large the elements of an array are, read from their bits.

NumPy has no fast loop for the largest f16 or bf16, and warns of NaN among the latter.  Numbers of one sign
are in the order of their bits as integers, those of infinity and NaN behind all others.
"""

import ml_dtypes
import numpy as np

CHUNK = 2**15
"""Elements looked at together where some are not finite: what is made of them stays in a cache."""


def largest_possible(dtype: np.dtype) -> float:
    """Return the largest finite number of a dtype."""
    return float(ml_dtypes.finfo(dtype).max)


def largest_finite(array: np.ndarray) -> float:
    """Return the largest absolute value of the finite elements, 0 where there is none; it copies nothing."""
    width = array.dtype.itemsize
    bits, signed = array.view(f"u{width}"), array.view(f"i{width}")
    magnitude = np.iinfo(signed.dtype).max  # all bits but that of the sign
    infinity = int(np.array(np.inf, array.dtype).view(bits.dtype))
    largest = max(int(signed.max(initial=0)), int(bits.max(initial=0)) & magnitude)
    if largest >= infinity:
        largest = _largest_below(infinity, bits, magnitude)
    return float(np.array(largest, bits.dtype).view(array.dtype))


def _largest_below(infinity: int, bits: np.ndarray, magnitude: int) -> int:
    """Return the largest of these magnitudes below that of infinity."""
    largest = 0
    for chunk in np.nditer(bits, flags=["external_loop", "buffered"], buffersize=CHUNK):
        magnitudes = np.asarray(chunk) & magnitude
        magnitudes[magnitudes >= infinity] = 0
        largest = max(largest, int(magnitudes.max()))
    return largest
