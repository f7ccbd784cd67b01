"""ln as arithmetic, computed by machine code for all kinds of float32."""

import numpy as np
import pytest
from codegen.ir.scalar_functions import compiled

from harness.codegen.ir.logarithm import natural_logarithm


@pytest.fixture(scope="module")
def logarithms():
    """The function from a float32 array to ln of its elements."""
    return compiled(natural_logarithm)


def test_is_right_to_two_units_in_the_last_place_of_itself_or_of_one(logarithms) -> None:
    x = np.concatenate([np.geomspace(1.2e-38, 3e38, 400_001), np.linspace(0.5, 4.0, 100_001)])
    x = x.astype(np.float32)
    expected = np.log(x.astype(np.float64))
    units = np.spacing(np.maximum(1.0, np.abs(expected)).astype(np.float32))
    assert (np.abs(logarithms(x) - expected) / units).max() <= 2.0


def test_near_one_is_as_exact_as_the_number(logarithms) -> None:
    x = (1 + np.arange(-2000, 2000) * 2.0**-23).astype(np.float32)
    expected = np.log(x.astype(np.float64))
    np.testing.assert_allclose(logarithms(x), expected, rtol=3e-7, atol=0)


def test_what_is_no_ordinary_number(logarithms) -> None:
    x = [0.0, -0.0, 1.0, np.inf, np.nan]
    np.testing.assert_array_equal(logarithms(x), np.float32([-np.inf, -np.inf, 0.0, np.inf, np.nan]))
