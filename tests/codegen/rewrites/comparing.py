"""Comparing what rewritten IR computes with NumPy."""

import numpy as np


def close(result: np.ndarray, expected: np.ndarray) -> None:
    """Assert equality up to rounding in f64."""
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-12)
