"""tanh as arithmetic, computed by machine code for all kinds of float32."""

import numpy as np
import pytest
from codegen.ir.scalar_functions import compiled

from harness.codegen.ir.tangent import SMALL, tanh


@pytest.fixture(scope="module")
def tangents():
    """The function from a float32 array to tanh of its elements."""
    return compiled(tanh)


def test_is_right_to_two_units_in_the_last_place(tangents) -> None:
    sizes = np.concatenate(
        [
            np.geomspace(1e-37, 100.0, 200_001),
            np.linspace(SMALL * 0.9, SMALL * 1.1, 20_001),
        ]
    ).astype(np.float32)
    x = np.concatenate([sizes, -sizes])
    expected = np.tanh(x.astype(np.float64))
    units = np.abs(tangents(x) - expected) / np.spacing(np.abs(expected).astype(np.float32))
    assert units.max() <= 2.0


def test_what_is_no_ordinary_number(tangents) -> None:
    x = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38]
    expected = [1.0, -1.0, np.nan, 0.0, -0.0, 1e-45, -1e-45, 1.0, -1.0]
    np.testing.assert_array_equal(tangents(x), np.float32(expected))
