"""NVIDIA's arithmetic on 16-bit numbers, against exact fractions (PTX ISA 9.2, section 9.7.4)."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from model_calls import ModelLibrary

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def nearest(exact: Fraction, dtype: type) -> float:
    """Return the number of a 16-bit type nearest to an exact one, ties to even; overflow is not covered."""
    guess = int(np.array(float(abs(exact))).astype(dtype).view(np.uint16))
    candidates = range(max(guess - 2, 0), guess + 3)

    def distance(bits: int) -> tuple[Fraction, int]:
        return abs(abs(exact) - Fraction(float(np.uint16(bits).view(dtype)))), bits & 1

    best = float(np.uint16(min(candidates, key=distance)).view(dtype))
    return -best if exact < 0 else best


def operands(dtype: type, count: int, seed: int) -> np.ndarray:
    """Return triples of numbers whose magnitudes are near and far from one another."""
    random = np.random.default_rng(seed)
    factors = (1 + random.integers(0, 128, (count, 2)) / 128).astype(dtype)
    addends = random.choice([-1, 1, 1.5], count) * np.exp2(random.integers(-22, 4, count))
    return np.concatenate([factors, addends[:, None].astype(dtype)], axis=1)


@pytest.mark.parametrize("element", DTYPES)
def test_fused_multiply_add(nvidia: ModelLibrary, element: str) -> None:
    dtype = DTYPES[element]
    rows = operands(dtype, 1500, 0)
    columns = [column.copy() for column in rows.T]
    found = nvidia.map_lane(f"nvvm_fma_rn_{element}", columns, np.uint16).view(dtype).astype(np.float64)
    exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in rows]
    np.testing.assert_array_equal(found, [nearest(value, dtype) for value in exact])


HALFWAY = [
    # 1536 · 1366 = 0x200400 and 1536 · 1370 = 0x201C00: half way between two halves, which keep 11 bits.
    ("f16", 1536 / 1024, 1366 / 1024, 2**-24, (0x200000, 0x200000, 0x200800)),
    ("f16", 1536 / 1024, 1370 / 1024, 2**-24, (0x201800, 0x202000, 0x202000)),
    # 192 · 174 = 0x8280 and 192 · 178 = 0x8580: half way between two bfloat16, which keep 8 bits.
    ("bf16", 192 / 128, 174 / 128, 2**-100, (0x8200, 0x8200, 0x8300)),
    ("bf16", 192 / 128, 178 / 128, 2**-100, (0x8500, 0x8600, 0x8600)),
]
"""Two factors, something small, and the results (as integers) for that less, nothing, and that more."""


@pytest.mark.parametrize(("element", "a", "b", "small", "results"), HALFWAY)
def test_a_sum_next_to_a_halfway_point_is_rounded_once(
    nvidia: ModelLibrary, element: str, a: float, b: float, small: float, results: tuple[int, int, int]
) -> None:
    dtype = DTYPES[element]
    unit = 2.0**-20 if element == "f16" else 2.0**-14
    for addend, result in zip((-small, 0.0, small), results, strict=True):
        for sign in (1, -1):
            arguments = [np.array(number).astype(dtype)[()] for number in (a, sign * b, sign * addend)]
            call = nvidia.call_lane(f"nvvm_fma_rn_{element}", arguments, np.uint16)
            assert float(call.value.view(dtype)) == sign * result * unit


@pytest.mark.parametrize("element", DTYPES)
def test_special_numbers(nvidia: ModelLibrary, element: str) -> None:
    dtype = DTYPES[element]
    rows = np.array([[np.inf, 1, 0], [np.inf, -1, np.inf], [0, np.inf, 1], [np.nan, 0, 0], [-1, 0, -0.0]])
    columns = [column.copy() for column in rows.astype(dtype).T]
    found = nvidia.map_lane(f"nvvm_fma_rn_{element}", columns, np.uint16).view(dtype).astype(np.float64)
    np.testing.assert_array_equal(found, [np.inf, np.nan, np.nan, np.nan, -0.0])
    assert np.signbit(found[4])


def test_overflow_and_the_smallest_halves(nvidia: ModelLibrary) -> None:
    rows = np.array(
        [[256, 256, 0], [255.875, 256, 0], [2**-12, 2**-13, 0], [2**-12, 2**-13, 2**-24]], np.float16
    )
    columns = [column.copy() for column in rows.T]
    found = nvidia.map_lane("nvvm_fma_rn_f16", columns, np.uint16).view(np.float16)
    np.testing.assert_array_equal(found, np.array([np.inf, 65504, 0, 2**-23], np.float16))


@pytest.mark.parametrize("element", DTYPES)
def test_relu_replaces_negative_numbers(nvidia: ModelLibrary, element: str) -> None:
    dtype = DTYPES[element]
    rows = np.array([[2, 3, -7], [2, 3, -5], [np.nan, 1, 1], [-1, 0, -0.0]]).astype(dtype)
    columns = [column.copy() for column in rows.T]
    found = nvidia.map_lane(f"nvvm_fma_rn_relu_{element}", columns, np.uint16).view(dtype).astype(np.float64)
    np.testing.assert_array_equal(found, [0, 1, np.nan, 0])
    assert not np.signbit(found[3])


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("form", ["", "relu_"])
def test_pairs_are_two_numbers(nvidia: ModelLibrary, element: str, form: str) -> None:
    dtype = DTYPES[element]
    rows = operands(dtype, 64, 1)
    single = nvidia.map_lane(f"nvvm_fma_rn_{form}{element}", [column.copy() for column in rows.T], np.uint16)
    pairs = [column.copy().reshape(-1, 2) for column in rows.T]
    found = nvidia.map_lane(f"nvvm_fma_rn_{form}{element}x2", pairs, np.dtype((np.uint16, 2)))
    np.testing.assert_array_equal(found.ravel(), single)


EXPONENTS = [0, -0.0, 1, -1, 0.5, -24, -25, 15.9, 16, -126, -130, 127, 128, -np.inf, np.inf, np.nan]


@pytest.mark.parametrize(
    ("symbol", "element"), [("nvvm_ex2_approx_f16", "f16"), ("nvvm_ex2_approx_ftz_bf16", "bf16")]
)
def test_powers_of_two(nvidia: ModelLibrary, symbol: str, element: str) -> None:
    dtype = DTYPES[element]
    exponents = np.concatenate([EXPONENTS, np.linspace(-20, 15, 301)]).astype(dtype)
    with np.errstate(over="ignore"):
        exact = np.exp2(exponents.astype(np.float64))
        expected = exact.astype(dtype).astype(np.float64)
    if element == "bf16":
        expected[exact < 2.0**-126] = 0
    found = nvidia.map_lane(symbol, [exponents], np.uint16)
    np.testing.assert_array_equal(found.view(dtype).astype(np.float64), expected)
    pairs = np.stack([exponents, exponents[::-1]], axis=1)
    both = nvidia.map_lane(symbol + "x2", [pairs], np.dtype((np.uint16, 2)))
    np.testing.assert_array_equal(both, np.stack([found, found[::-1]], axis=1))
