"""Mathematical functions, against NumPy and Python's `math` (OpenCL C 3.0, "Math Functions")."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intel_builtins import TYPES, call, call_mangled
from model_calls import ModelLibrary

from harness.emulator.models.intel import EXACT, MODELS, NATIVE
from harness.emulator.models.intel.mangling import vector

FLOATS = ("Dh", "f", "d")
Function = Callable[..., np.ndarray]

UNARY: dict[str, Function] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "recip": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
    "fabs": np.fabs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}
BINARY: dict[str, Function] = {
    "divide": np.divide,
    "powr": np.power,
    "pow": np.power,
    "fmax": np.fmax,
    "fmin": np.fmin,
}
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "recip", "powr", "pow")


def operand(name: str, element: str, width: int, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(-4, 4, width)
    if name in POSITIVE:
        values = np.abs(values) + 0.125
    return values.astype(TYPES[element])


def check(
    intel: ModelLibrary, builtin: str, function: Function, operands: list[np.ndarray], element: str
) -> None:
    width = len(operands[0])
    kind = vector(element, width)
    result = np.dtype((TYPES[element], (width,)))
    made = call(intel, builtin, [kind] * len(operands), operands, result)
    exact = function(*(values.astype(np.float64) for values in operands))
    # Half a unit in the last place; in f64 a few, which libm and NumPy may differ by.
    units = 4 if element == "d" else 0.5001
    tolerance = units * float(np.finfo(TYPES[element]).eps)
    np.testing.assert_allclose(made.value.astype(np.float64), exact, rtol=tolerance, atol=0)
    assert made.events == ()


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", [*EXACT, *(f"native_{name}" for name in NATIVE)])
def test_functions_of_one_operand(intel: ModelLibrary, name: str, element: str) -> None:
    base = name.removeprefix("native_")
    for width in (1, 2, 3, 4, 8, 16):
        values = operand(base, element, width, width)
        for builtin in (name, f"__spirv_ocl_{name}"):
            check(intel, builtin, UNARY[base], [values], element)


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", ["native_divide", "native_powr", "pow", "powr", "fmax", "fmin"])
def test_functions_of_two_operands(intel: ModelLibrary, name: str, element: str) -> None:
    base = name.removeprefix("native_")
    for width in (1, 2, 3, 4, 8, 16):
        values = [operand(base, element, width, width + seed) for seed in (0, 100)]
        for builtin in (name, f"__spirv_ocl_{name}"):
            check(intel, builtin, BINARY[base], values, element)


def test_all_functions_have_a_reference() -> None:
    assert {*EXACT, *NATIVE} == set(UNARY)


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("_Z22__spirv_ocl_native_expDv8_f", 1, 8),
        ("_Z25__spirv_ocl_native_divideDv8_fDv8_f", 2, 8),
        ("_Z25__spirv_ocl_native_divideDv8_fS_", 2, 8),
        ("_Z3fmaDv4_fS_S_", 3, 4),
        ("_Z15__spirv_ocl_fmafff", 3, 1),
    ],
)
def test_spellings(intel: ModelLibrary, name: str, operands: int, result: int) -> None:
    ones = np.ones(result, np.float32)
    expected = {1: math.e, 2: 1, 3: 2}[operands]
    made = call_mangled(intel, name, [ones] * operands, np.dtype((np.float32, (result,))))
    np.testing.assert_allclose(made.value, expected, rtol=1e-6)


def test_what_softmax_meets(intel: ModelLibrary) -> None:
    """A masked score is minus infinity, whose exponential is 0."""
    scores = np.array([-np.inf, -200, 0, 80, np.inf, np.nan], np.float32)
    for name in ("native_exp2", "native_exp"):
        values = [call(intel, name, ["f"], [score], np.float32).value for score in scores]
        assert values[0] == values[1] == 0
        assert values[2] == 1
        assert values[3] == np.float32(np.exp2(80.0) if name == "native_exp2" else np.exp(80.0))
        assert values[4] == np.inf
        assert np.isnan(values[5])


def test_extremes_ignore_a_nan(intel: ModelLibrary) -> None:
    nan, one = np.float32(np.nan), np.float32(1)
    for name in ("fmax", "fmin"):
        assert call(intel, name, ["f", "f"], [nan, one], np.float32).value == 1
        assert call(intel, name, ["f", "f"], [one, nan], np.float32).value == 1
        assert np.isnan(call(intel, name, ["f", "f"], [nan, nan], np.float32).value)


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    # OpenCL C 3.0, "Edge Case Behavior": powr
    [
        (0.0, -1.0, np.inf),
        (0.0, 1.0, 0.0),
        (2.0, 0.0, 1.0),
        (1.0, 5.0, 1.0),
        (-2.0, 2.0, np.nan),
        (0.0, 0.0, np.nan),
        (np.inf, 0.0, np.nan),
        (1.0, np.inf, np.nan),
        (2.0, np.nan, np.nan),
        (np.nan, 0.0, np.nan),
    ],
)
def test_powr_at_its_edges(intel: ModelLibrary, base: float, exponent: float, expected: float) -> None:
    made = call(intel, "powr", ["f", "f"], [np.float32(base), np.float32(exponent)], np.float32)
    np.testing.assert_equal(float(made.value), expected)


finite_halves = st.integers(0, 0x7BFF).flatmap(
    lambda bits: st.sampled_from(
        [np.uint16(bits).view(np.float16), np.uint16(bits | 0x8000).view(np.float16)]
    )
)


def nearest_half(exact: Fraction) -> np.float16:
    """Round to nearest, ties to even, from exact arithmetic."""
    start = np.float16(float(exact)) if abs(exact) < 70000 else np.float16(math.copysign(math.inf, exact))
    if np.isinf(start):
        return start
    with np.errstate(over="ignore"):
        near = [np.nextafter(start, np.float16(-np.inf)), start, np.nextafter(start, np.float16(np.inf))]
    near = [value for value in near if np.isfinite(value)]
    return min(near, key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.uint16)) & 1))


@settings(max_examples=300)
@given(x=finite_halves, y=finite_halves, z=finite_halves)
def test_half_fma_is_rounded_once(intel: ModelLibrary, x: np.float16, y: np.float16, z: np.float16) -> None:
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    made = call(intel, "fma", ["Dh"] * 3, [x, y, z], np.float16)
    if abs(exact) < 65520:  # beyond, results are infinite
        assert made.value == nearest_half(exact)
    else:
        assert np.isinf(made.value)


@pytest.mark.parametrize(
    ("element", "x", "y", "z", "expected"),
    [
        # 1.5 (1 + 2^-10) is the middle of two halves; rounding to f32 first would lose the 2^-24 beside it.
        ("Dh", 1.5, 1 + 2.0**-10, -(2.0**-24), 1.5 + 2.0**-10),
        ("Dh", 1.5, 1 + 2.0**-10, 0.0, 1.5 + 2.0**-9),
        ("Dh", 1.5, 1 + 2.0**-10, 2.0**-24, 1.5 + 2.0**-9),
        # The same with the even neighbour below.
        ("Dh", 1.5, 1 + 3 * 2.0**-10, 0.0, 1.5 + 2.0**-8),
        ("Dh", 1.5, 1 + 3 * 2.0**-10, 2.0**-24, 1.5 + 2.0**-8 + 2.0**-10),
        # The middle of two floats; rounding to f64 first would lose the 2^-80 beside it.
        ("f", 1.5, 1 + 2.0**-23, -(2.0**-80), 1.5 + 2.0**-23),
        ("f", 1 + 2.0**-12, 1 + 2.0**-12, -1.0, 2.0**-11 + 2.0**-24),
        ("d", 1 + 2.0**-30, 1 + 2.0**-30, -1 - 2.0**-29, 2.0**-60),
    ],
)
def test_fma_is_rounded_once(
    intel: ModelLibrary, element: str, x: float, y: float, z: float, expected: float
) -> None:
    kind = TYPES[element]
    made = call(intel, "fma", [element] * 3, [kind(x), kind(y), kind(z)], kind)
    assert made.value == expected


def test_only_real_types_are_registered() -> None:
    assert "_Z10native_expf" in MODELS
    assert "_Z10native_expi" not in MODELS
