"""Conversions between float and the 16-bit formats (`runtime/numbers.c`), against NumPy and ml_dtypes."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
from model_calls import ModelLibrary

EVERY_16_BITS = np.arange(1 << 16, dtype=np.uint16)
HARD_FLOATS = np.array(
    [0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000],
    np.uint32,
).view(np.float32)
"""Zeros, the subnormal numbers' ends, the smallest normal and the largest number, infinities."""
NANS = np.array([0x7F800001, 0x7FC00000, 0xFF800001, 0xFFFFFFFF, 0x7FBFFFFF], np.uint32).view(np.float32)


def convert(library: ModelLibrary, name: str, values: np.ndarray, result: type) -> np.ndarray:
    """Call a conversion for each value."""
    function = library.loaded[name]
    to_float = name.startswith("float_of")
    function.argtypes = [ctypes.c_uint16 if to_float else ctypes.c_float]
    function.restype = ctypes.c_float if to_float else ctypes.c_uint16
    return np.array([function(value) for value in values.tolist()], result)


def around(values: np.ndarray) -> np.ndarray:
    """Return floats with their neighbours on both sides."""
    return np.concatenate(
        [values, np.nextafter(values, np.float32(np.inf)), np.nextafter(values, np.float32(0))]
    )


def with_halfway_points(bits: np.ndarray, dtype: type) -> np.ndarray:
    """Return the numbers of a 16-bit type, the points half way to the next, and the neighbours of both."""
    numbers = bits.view(dtype).astype(np.float32)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    halfway = ((numbers[1:].astype(np.float64) + numbers[:-1].astype(np.float64)) / 2).astype(np.float32)
    return around(np.concatenate([numbers, halfway]))


def test_every_half_converts_exactly(nvidia: ModelLibrary) -> None:
    expected = EVERY_16_BITS.view(np.float16).astype(np.float32)
    found = convert(nvidia, "float_of_half", EVERY_16_BITS, np.float32)
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    np.testing.assert_array_equal(found[~is_nan].view(np.uint32), expected[~is_nan].view(np.uint32))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize(
    ("name", "dtype", "sample"),
    [
        ("half_of_float", np.float16, EVERY_16_BITS),
        ("bfloat16_of_float", ml_dtypes.bfloat16, EVERY_16_BITS[::3]),
    ],
)
def test_floats_round_to_nearest_even(
    nvidia: ModelLibrary, name: str, dtype: type, sample: np.ndarray
) -> None:
    random = np.random.default_rng(0).integers(0, 1 << 32, 20000, np.uint32).view(np.float32)
    overflowing = np.array([65519.996, 65520.0, 3.3961775e38, -65520.0], np.float32)
    values = np.concatenate([with_halfway_points(sample, dtype), HARD_FLOATS, around(overflowing), random])
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        expected = values.astype(dtype).view(np.uint16)
    found = convert(nvidia, name, values, np.uint16)
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, [(values[i], hex(found[i]), hex(expected[i])) for i in wrong[:5]]


@pytest.mark.parametrize(
    ("name", "dtype"), [("half_of_float", np.float16), ("bfloat16_of_float", ml_dtypes.bfloat16)]
)
def test_nan_stays_nan_of_the_same_sign(nvidia: ModelLibrary, name: str, dtype: type) -> None:
    found = nvidia.loaded[name]
    found.argtypes, found.restype = [ctypes.c_float], ctypes.c_uint16
    bits = np.array([found(value) for value in NANS.tolist()], np.uint16)
    assert np.isnan(bits.view(dtype).astype(np.float32)).all()
    np.testing.assert_array_equal(bits >> 15, np.signbit(NANS))
