"""NVIDIA's minimum and maximum: rules of PTX ISA 9.2, sections 9.7.3 and 9.7.4, min and max."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from model_calls import ModelLibrary

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 2.0**-130, -(2.0**-130), math.inf, -math.inf, math.nan]
CANONICAL_NAN = 0x7FFFFFFF
CANONICAL_NAN_16 = 0x7FFF
FLOAT_FORMS = ["", "nan_", "ftz_", "ftz_nan_", "xorsign_abs_", "nan_xorsign_abs_"]
DTYPES = {"f16": np.float16, "f16x2": np.float16, "bf16": ml_dtypes.bfloat16, "bf16x2": ml_dtypes.bfloat16}


def rank(number: float) -> tuple[float, int]:
    """Order numbers, with +0 above -0."""
    return number, int(math.copysign(1, number))


def extreme(function: str, form: str, a: float, b: float) -> float:
    """Return what the ISA's text gives."""
    if "ftz" in form:
        a, b = (math.copysign(0, number) if abs(number) < 2.0**-126 else number for number in (a, b))
    if math.isnan(a) or math.isnan(b):
        spreads = "nan" in form or (math.isnan(a) and math.isnan(b))
        result = math.nan if spreads else (b if math.isnan(a) else a)
    elif "abs" in form:
        result = (max if function == "fmax" else min)(abs(a), abs(b))
    else:
        result = (max if function == "fmax" else min)(a, b, key=rank)
    if "xorsign" in form and not math.isnan(result):
        result = math.copysign(result, math.copysign(1, a) * math.copysign(1, b))
    return result


@pytest.mark.parametrize("form", FLOAT_FORMS)
@pytest.mark.parametrize("function", ["fmax", "fmin"])
def test_of_floats(nvidia: ModelLibrary, function: str, form: str) -> None:
    pairs = list(itertools.product(NUMBERS, repeat=2))
    first, second = np.array(pairs, np.float32).T
    found = nvidia.map_lane(f"nvvm_{function}_{form}f", [first.copy(), second.copy()], np.uint32)
    expected = np.array([extreme(function, form, a, b) for a, b in pairs], np.float32).view(np.uint32)
    is_nan = np.isnan(expected.view(np.float32))
    expected[is_nan] = CANONICAL_NAN
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("form", ["", "nan_"])
@pytest.mark.parametrize("function", ["fmax", "fmin"])
def test_of_16_bit_numbers(nvidia: ModelLibrary, function: str, form: str, element: str) -> None:
    dtype = DTYPES[element]
    numbers = [
        number if abs(number) > 1e-30 or number == 0 else math.copysign(2**-20, number) for number in NUMBERS
    ]
    pairs = list(itertools.product(numbers, repeat=2))
    if element.endswith("x2"):
        rows = np.array([[*pairs[i], *pairs[-1 - i]] for i in range(len(pairs))]).astype(dtype)
        first, second = rows[:, 0::2].copy(), rows[:, 1::2].copy()
        found = nvidia.map_lane(f"nvvm_{function}_{form}{element}", [first, second], np.dtype((np.uint16, 2)))
    else:
        first, second = (np.array(column).astype(dtype) for column in zip(*pairs, strict=True))
        found = nvidia.map_lane(f"nvvm_{function}_{form}{element}", [first, second], np.uint16)
    results = [
        extreme(function, form, float(a), float(b))
        for a, b in zip(first.ravel(), second.ravel(), strict=True)
    ]
    expected = np.array(results).astype(dtype).view(np.uint16)
    expected[np.isnan(results)] = CANONICAL_NAN_16
    np.testing.assert_array_equal(found.ravel(), expected)
