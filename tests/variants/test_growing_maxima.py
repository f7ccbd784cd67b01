"""Rows whose maximum grows from tile to tile, of scores so large that a multiple of it is rounded much."""

import numpy as np
import pytest
from sweeps import sweep

import harness

KEYS, LARGE = 512, 1100.0


@pytest.mark.parametrize("splits", sweep([1, 4], but=[4]))
def test_earlier_tiles_are_corrected_by_what_their_exponents_had(splits: int) -> None:
    """A maximum of 1100 times log₂ e has an error of 2⁻¹⁴, which one tile has and another one has not."""
    query, key = np.zeros((1, 1, 32, 64), np.float32), np.zeros((1, 1, KEYS, 64), np.float32)
    query[..., 0] = 1 + np.arange(32) * 1e-3
    key[..., 0] = 8 * (LARGE + np.linspace(0, 3, KEYS))
    value = np.random.default_rng(0).uniform(0.5, 1.5, key.shape).astype(np.float32)
    value[:, :, : KEYS // 2] += 4
    params = {"tile_kv": 64, "kv_splits": splits}
    output = harness.attention(query, key, value, variant="flash", target="cpu", params=params)
    scores = (query[0, 0] @ key[0, 0].T).astype(np.float64) / 8  # as f32 has them
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    exact = weights / weights.sum(axis=1, keepdims=True) @ value[0, 0].astype(np.float64)
    assert np.abs(output[0, 0] - exact).max() < 4e-6 * np.abs(exact).max()
