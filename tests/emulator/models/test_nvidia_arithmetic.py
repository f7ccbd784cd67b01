"""NVIDIA's arithmetic on f32: rules of PTX ISA 9.2, section 9.7.3, against NumPy in double precision."""

from collections.abc import Callable

import numpy as np
import pytest
from model_calls import ModelLibrary

Function = Callable[..., np.ndarray]

TINY = float(np.finfo(np.float32).tiny)
"""The smallest normal number, 2^-126: `.ftz` makes what is below it zero."""
ROUND = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    0.4999999,
    1.5,
    2.5,
    -2.5,
    -3.5,
    8388609.0,
    -126.5,
    -149.0,
    127.9999,
    128.0,
]
EXTREME = [TINY, -TINY, TINY / 2, -TINY / 2, TINY / 2**23, 1e-30, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan]

UNARY: dict[str, tuple[Function, float]] = {
    "ex2_approx": (np.exp2, 1.0),
    "lg2_approx": (np.log2, 1.0),
    "sin_approx": (np.sin, 1.0),
    "cos_approx": (np.cos, 1.0),
    "rsqrt_approx": (lambda x: 1 / np.sqrt(x), 0.5),
    "rcp": (lambda x: 1 / x, 0.5),
    "sqrt": (np.sqrt, 0.5),
    "floor": (np.floor, 0.0),
    "ceil": (np.ceil, 0.0),
    "trunc": (np.trunc, 0.0),
    "round": (np.rint, 0.0),
}
"""The function in real numbers, and by how many units in the last place the model may be off."""

BINARY: dict[str, Function] = {"add_rn": np.add, "mul_rn": np.multiply, "div": np.divide}


def values(seed: int) -> np.ndarray:
    """Return special numbers, then numbers of every magnitude and both signs."""
    random = np.random.default_rng(seed)
    spread = random.standard_normal(500) * np.exp2(random.uniform(-149, 127, 500))
    near = random.uniform(-30, 30, 500)
    return np.concatenate([ROUND, EXTREME, spread, near]).astype(np.float32)


def flush(numbers: np.ndarray) -> np.ndarray:
    """Replace subnormal numbers by zeros of their sign."""
    return np.where(np.abs(numbers) < TINY, np.copysign(np.zeros_like(numbers), numbers), numbers)


def in_double(function: Function, *operands: np.ndarray) -> np.ndarray:
    """Apply a function in double precision."""
    with np.errstate(all="ignore"):
        return function(*(operand.astype(np.float64) for operand in operands))


def assert_close(found: np.ndarray, exact: np.ndarray, ulps: float, *, flushes: bool) -> None:
    """Assert that numbers are the exact ones, rounded with an error of so many units in the last place."""
    with np.errstate(all="ignore"):
        expected = exact.astype(np.float32)
    if flushes:
        expected = flush(expected)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    zero = (expected == 0) | (found == 0)
    np.testing.assert_array_equal(found[zero], expected[zero])
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))
    finite = np.isfinite(expected) & np.isfinite(found) & ~zero
    others = ~finite & ~zero & ~np.isnan(expected)
    np.testing.assert_array_equal(found[others], expected[others])
    error = np.abs(found[finite].astype(np.float64) - exact[finite])
    allowed = ulps * np.spacing(np.abs(expected[finite])).astype(np.float64)
    worst = int(np.argmax(error - allowed)) if error.size else 0
    assert (error <= allowed).all(), (found[finite][worst], exact[finite][worst])


@pytest.mark.parametrize("flushes", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_number(nvidia: ModelLibrary, name: str, flushes: bool) -> None:
    function, ulps = UNARY[name]
    operands = values(1)
    found = nvidia.map_lane(f"nvvm_{name}_{'ftz_' if flushes else ''}f", [operands], np.float32)
    exact = in_double(function, flush(operands) if flushes else operands)
    assert_close(found, exact, ulps, flushes=flushes)


@pytest.mark.parametrize("flushes", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_numbers(nvidia: ModelLibrary, name: str, flushes: bool) -> None:
    first, second = (numbers.ravel() for numbers in np.meshgrid(values(2)[::5], values(3)[::5]))
    found = nvidia.map_lane(f"nvvm_{name}_{'ftz_' if flushes else ''}f", [first, second], np.float32)
    operands = (flush(first), flush(second)) if flushes else (first, second)
    assert_close(found, in_double(BINARY[name], *operands), 0.5, flushes=flushes)


@pytest.mark.parametrize(
    ("symbol", "operands", "expected"),
    [
        # 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: the last term is left only if the product is not rounded.
        ("nvvm_fma_rn_f", (1 + 2**-23, 1 + 2**-23, -(1 + 2**-22)), 2**-46),
        ("nvvm_fma_rn_ftz_f", (1 + 2**-23, 1 + 2**-23, -(1 + 2**-22)), 2**-46),
        ("nvvm_fma_rn_f", (TINY / 2, 1, 0), TINY / 2),
        ("nvvm_fma_rn_ftz_f", (TINY / 2, 2, 0), 0.0),
        ("nvvm_fma_rn_ftz_f", (2, TINY / 2, 0), 0.0),
        ("nvvm_fma_rn_ftz_f", (TINY, 0.5, 0), 0.0),
        ("nvvm_fma_rn_ftz_f", (0, 0, TINY / 2), 0.0),
        ("nvvm_fma_rn_sat_f", (2, 3, 4), 1.0),
        ("nvvm_fma_rn_sat_f", (2, -3, 4), 0.0),
        ("nvvm_fma_rn_sat_f", (0.5, 0.5, 0.25), 0.5),
        ("nvvm_fma_rn_sat_f", (np.nan, 1, 1), 0.0),
        ("nvvm_fma_rn_ftz_sat_f", (TINY, 0.5, 0), 0.0),
        ("nvvm_fma_rn_ftz_sat_f", (2, 3, 4), 1.0),
    ],
)
def test_fused_multiply_add(
    nvidia: ModelLibrary, symbol: str, operands: tuple[float, float, float], expected: float
) -> None:
    found = nvidia.call_lane(symbol, [np.float32(operand) for operand in operands], np.float32)
    assert found.value == np.float32(expected)


@pytest.mark.parametrize(("operand", "expected"), [(-1, 0), (0.25, 0.25), (7, 1), (np.nan, 0), (np.inf, 1)])
@pytest.mark.parametrize("symbol", ["nvvm_saturate_f", "nvvm_saturate_ftz_f"])
def test_saturation(nvidia: ModelLibrary, symbol: str, operand: float, expected: float) -> None:
    assert nvidia.call_lane(symbol, [np.float32(operand)], np.float32).value == np.float32(expected)


def test_saturation_flushes_only_when_asked(nvidia: ModelLibrary) -> None:
    subnormal = np.float32(TINY / 4)
    assert nvidia.call_lane("nvvm_saturate_f", [subnormal], np.float32).value == subnormal
    assert nvidia.call_lane("nvvm_saturate_ftz_f", [subnormal], np.float32).value == 0


@pytest.mark.parametrize(
    ("symbol", "operands", "expected"),
    [
        ("nvvm_fadd_f32", (1.5, TINY / 2), 1.5),
        ("nvvm_fadd_f32", (0, TINY / 2), TINY / 2),
        ("nvvm_fadd_ftz_f32", (0, TINY / 2), 0),
        ("nvvm_fmul_f32", (0.5, TINY), TINY / 2),
        ("nvvm_fmul_ftz_f32", (0.5, TINY), 0),
    ],
)
def test_a_rounding_mode_operand_must_be_to_nearest(
    nvidia: ModelLibrary, symbol: str, operands: tuple[float, float], expected: float
) -> None:
    arguments = [np.float32(operand) for operand in operands]
    nearest = nvidia.call_lane(symbol, [*arguments, np.int32(1)], np.float32)
    assert nearest.value == np.float32(expected)
    assert nearest.findings == ()
    toward_zero = nvidia.call_lane(symbol, [*arguments, np.int32(0)], np.float32)
    assert toward_zero.finding_kinds == ["UNSUPPORTED_OPERAND"]
