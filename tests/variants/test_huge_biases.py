"""A bias can be any number: what is far below the scores of a row hides a pair as −∞ does, and a row that has
it for all keys is their mean, as in plain f32."""

import numpy as np
import pytest
from sweeps import sweep

import harness
from harness.problem.dtypes import numpy_dtype

VALUES = [-np.inf, float(np.finfo(np.float32).min), -1e29, -1e12, 1e10, 3e38]


def plain_f32(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return attention of f32 arrays and its log-sum-exp; a row that sees no key is 0."""
    scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5) + bias
    peak = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(peak), np.float32(0), peak))
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_sum_exp = peak + np.log(total)
    return weights / np.where(total > 0, total, np.float32(1)) @ v, log_sum_exp[..., 0]


def arrays(dtype: str, value: float) -> list[np.ndarray]:
    """Return Q, K, V, and a bias of that value for all keys of the first query, and some of the others."""
    draw = np.random.default_rng(0).standard_normal
    operands = [draw((1, 2, length, 16)).astype(numpy_dtype(dtype)) for length in (9, 20, 20)]
    bias = np.zeros((9, 20), np.float32)
    bias[0], bias[:, 1::3] = value, value
    return [*operands, bias.astype(numpy_dtype(dtype))]


@pytest.mark.parametrize(
    ("variant", "params"),
    sweep(
        [("flash", {}), ("flash", {"tile_kv": 4}), ("unfused", {}), ("naive", {}), ("naive", {"tile_kv": 4})],
        but=[("flash", {"tile_kv": 4}), ("unfused", {})],
    ),
)
@pytest.mark.parametrize("value", sweep(VALUES, but=[-1e12, 3e38]))
@pytest.mark.parametrize("dtype", sweep(["f32", "bf16"], but=["f32"]))
def test_a_huge_bias_gives_what_plain_f32_gives(
    dtype: str, value: float, variant: str, params: dict[str, int]
) -> None:
    q, k, v, bias = arrays(dtype, value)
    output, log_sum = harness.attention(q, k, v, bias=bias, variant=variant, params=params, log_sum_exp=True)
    expected, expected_sum = plain_f32(*(array.astype(np.float32) for array in (q, k, v, bias)))
    np.testing.assert_allclose(output.astype(np.float32), expected, atol=2e-2 if dtype == "bf16" else 3e-6)
    np.testing.assert_allclose(log_sum, expected_sum, rtol=1e-5)


@pytest.mark.parametrize("value", sweep([-3e38, 1e10], but=[-3e38]))
@pytest.mark.parametrize("target", sweep(["cuda:sm_80", "rocm:gfx942", "xegpu:pvc"], but=["cuda:sm_80"]))
def test_so_it_does_on_gpus(target: str, value: float) -> None:
    q, k, v, bias = arrays("bf16", value)
    output = harness.attention(q, k, v, bias=bias, variant="flash", target=target, executor="emulator")
    expected, _ = plain_f32(*(array.astype(np.float32) for array in (q, k, v, bias)))
    np.testing.assert_allclose(output.astype(np.float32), expected, atol=2e-2)
