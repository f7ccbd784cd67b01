"""Functions of one, two and three numbers of a lane, against NumPy in double precision and exact fractions.

Sources: PTX ISA 9.2, sections 9.7.3 and 9.7.4; AMD Instinct MI300 ISA and RDNA3 ISA, VOP1 and VOP3; OpenCL C
3.0, "Math Functions".
"""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from intel_builtins import TYPES, call, call_mangled

from harness.emulator.models.intel import EXACT, MODELS, NATIVE
from harness.emulator.models.intel.mangling import vector

F16, BF16, F32 = np.float16, ml_dtypes.bfloat16, np.float32
DTYPES = {"f16": F16, "bf16": BF16}
TINY = 2.0**-126
"""The smallest normal number of f32 and bf16: where subnormal numbers are flushed, what is below it is 0."""
ROUND = [0.0, -0.0, 1.0, -1.0, 0.5, 0.4999999, 1.5, 2.5, -2.5, -3.5, 8388609.0, -126.5, -149.0, 127.9999, 128]
EXTREME = [TINY, -TINY, TINY / 2, -TINY / 2, TINY / 2**23, 1e-30, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan]


def reciprocal_root(x):
    return 1 / np.sqrt(x)


def values(seed: int) -> np.ndarray:
    """Return special numbers, then numbers of every magnitude and both signs."""
    random = np.random.default_rng(seed)
    spread = random.standard_normal(500) * np.exp2(random.uniform(-149, 127, 500))
    return np.concatenate([ROUND, EXTREME, spread, random.uniform(-30, 30, 500)])


def flush(numbers: np.ndarray) -> np.ndarray:
    """Replace subnormal numbers by zeros of their sign."""
    return np.where(np.abs(numbers) < TINY, np.copysign(np.zeros_like(numbers), numbers), numbers)


def assert_right(found: np.ndarray, function, operands, units: float, flushes: bool) -> None:
    """Assert that numbers are the exact ones but for so many units in the last place."""
    with np.errstate(all="ignore"):
        exact = function(*(flush(operand.astype(np.float64)) if flushes else operand.astype(np.float64)
                           for operand in operands))  # fmt: skip
        expected = exact.astype(found.dtype)
        expected = flush(expected).astype(found.dtype) if flushes else expected
        allowed = units * np.spacing(np.abs(expected)).astype(np.float64)
        is_close = np.abs(found.astype(np.float64) - exact) <= allowed
    is_same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    is_nan = np.isnan(found) & np.isnan(expected)
    is_wrong = ~(is_same | is_nan | (is_close & (found != 0) & (expected != 0)))
    assert not is_wrong.any(), (operands[0][is_wrong][:3], found[is_wrong][:3], expected[is_wrong][:3])


NVIDIA = {
    "ex2_approx": (np.exp2, 1.0),
    "lg2_approx": (np.log2, 1.0),
    "sin_approx": (np.sin, 1.0),
    "cos_approx": (np.cos, 1.0),
    "rsqrt_approx": (reciprocal_root, 0.5),
    "rcp": (lambda x: 1 / x, 0.5),
    "sqrt": (np.sqrt, 0.5),
    "floor": (np.floor, 0.0),
    "ceil": (np.ceil, 0.0),
    "trunc": (np.trunc, 0.0),
    "round": (np.rint, 0.0),
}
AMD = {"exp2": np.exp2, "log": np.log2, "rcp": lambda x: 1 / x, "rsq": reciprocal_root, "sqrt": np.sqrt}
OCML = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "tanh": np.tanh,
    "rsqrt": reciprocal_root,
}
UNARY = [
    *(
        (f"nvvm_{name}_{ftz}f", function, F32, units, bool(ftz))
        for name, (function, units) in NVIDIA.items()
        for ftz in ("", "ftz_")
    ),
    ("nvvm_ex2_approx_f16", np.exp2, F16, 0.5, False),
    ("nvvm_ex2_approx_ftz_bf16", np.exp2, BF16, 0.5, True),
    *((f"amdgcn_{name}_f32", function, F32, 1.0, True) for name, function in AMD.items()),
    *((f"amdgcn_{name}_f16", function, F16, 1.0, False) for name, function in AMD.items()),
    *((f"amdgcn_ocml_{name}_f32", function, F32, 1.5, False) for name, function in OCML.items()),
]
"""Functions with their type, the units in the last place they may be off, and whether they flush."""


def vendor(symbol: str) -> str:
    return {"nvvm": "nvidia", "amdgcn": "amd"}.get(symbol.partition("_")[0], "intel")


@pytest.mark.parametrize(("symbol", "function", "dtype", "units", "flushes"), UNARY)
def test_a_function_of_one_number(models, symbol, function, dtype, units, flushes):
    with np.errstate(over="ignore"):
        operands = values(1).astype(dtype)
    found = models(vendor(symbol)).map_lane(symbol, [operands], dtype)
    assert_right(found, function, [operands], units, flushes)


@pytest.mark.parametrize("flushes", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize(
    ("name", "function"), [("add_rn", np.add), ("mul_rn", np.multiply), ("div", np.divide)]
)
def test_a_function_of_two_numbers(nvidia, name, function, flushes):
    operands = [numbers.ravel().astype(F32) for numbers in np.meshgrid(values(2)[::5], values(3)[::5])]
    found = nvidia.map_lane(f"nvvm_{name}_{'ftz_' if flushes else ''}f", operands, F32)
    assert_right(found, function, operands, 0.5, flushes)


# ------------------------------------------------------------------ minimum, maximum, median, fraction

EXTREMES = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 2.0**-130, -(2.0**-130), math.inf, -math.inf, math.nan]
CANONICAL_NAN = {F32: 0x7FFFFFFF, F16: 0x7FFF, BF16: 0x7FFF}
FORMS = ["", "nan_", "ftz_", "ftz_nan_", "xorsign_abs_", "nan_xorsign_abs_"]


def extreme(function: str, form: str, a: float, b: float) -> float:
    """Return what the PTX ISA's text gives; +0 is above -0."""
    choose = max if function == "fmax" else min
    if "ftz" in form:
        a, b = (math.copysign(0, number) if abs(number) < TINY else number for number in (a, b))
    if math.isnan(a) or math.isnan(b):
        spreads = "nan" in form or (math.isnan(a) and math.isnan(b))
        result = math.nan if spreads else (b if math.isnan(a) else a)
    elif "abs" in form:
        result = choose(abs(a), abs(b))
    else:
        result = choose(a, b, key=lambda number: (number, math.copysign(1, number)))
    if "xorsign" in form and not math.isnan(result):
        result = math.copysign(result, math.copysign(1, a) * math.copysign(1, b))
    return result


@pytest.mark.parametrize(
    ("suffix", "dtype", "form"),
    [
        *(("f", F32, form) for form in FORMS),
        *((name, dtype, form) for name, dtype in DTYPES.items() for form in FORMS[:2]),
    ],
)
@pytest.mark.parametrize("function", ["fmax", "fmin"])
def test_nvidias_extremes(nvidia, function, suffix, dtype, form):
    first, second = np.array(list(itertools.product(EXTREMES, repeat=2))).astype(dtype).T
    bits = np.uint32 if dtype is F32 else np.uint16
    found = nvidia.map_lane(f"nvvm_{function}_{form}{suffix}", [first.copy(), second.copy()], bits)
    results = [extreme(function, form, float(a), float(b)) for a, b in zip(first, second, strict=True)]
    expected = np.array(results).astype(dtype).view(bits)
    expected[np.isnan(results)] = CANONICAL_NAN[dtype]
    np.testing.assert_array_equal(found, expected)


PAIRED = [
    ("ex2_approx_f16", 1), ("ex2_approx_ftz_bf16", 1),
    *((f"fma_rn_{relu}{name}", 3) for relu in ("", "relu_") for name in DTYPES),
    *((f"{f}_{nan}{name}", 2) for f in ("fmax", "fmin") for nan in ("", "nan_") for name in DTYPES),
]  # fmt: skip


@pytest.mark.parametrize(("name", "count"), PAIRED)
def test_pairs_are_two_numbers(nvidia, name, count):
    columns = [np.random.default_rng(seed).integers(0, 1 << 16, 256, np.uint16) for seed in range(count)]
    single = nvidia.map_lane(f"nvvm_{name}", columns, np.uint16)
    pairs = [column.reshape(-1, 2) for column in columns]
    found = nvidia.map_lane(f"nvvm_{name}x2", pairs, np.dtype((np.uint16, 2)))
    np.testing.assert_array_equal(found.ravel(), single)


@pytest.mark.parametrize(("suffix", "dtype"), [("f32", F32), ("f16", F16)])
def test_amds_fraction_and_median(amd, suffix, dtype):
    below_0 = -np.finfo(dtype).smallest_subnormal
    arguments = np.array([0.0, 1.25, -1.25, 7.0, below_0, 3.75], dtype)
    found = amd.map_lane(f"amdgcn_fract_{suffix}", [arguments], dtype)
    assert found.tolist() == [0.0, 0.25, 0.75, 0.0, np.nextafter(dtype(1), dtype(0)), 0.75]
    triples = np.random.default_rng(5).integers(-3, 4, (100, 3)).astype(dtype)
    found = amd.map_lane(f"amdgcn_fmed3_{suffix}", list(triples.T), dtype)
    assert np.array_equal(found, np.median(triples.astype(np.float64), axis=1))
    with_nan = np.array([[np.nan, 2, 1], [2, np.nan, 1], [2, 1, np.nan]], dtype)
    assert amd.map_lane(f"amdgcn_fmed3_{suffix}", list(with_nan.T), dtype).tolist() == [1, 1, 1]


# ------------------------------------------------------------------ fused multiply-add


def nearest(exact: Fraction, dtype) -> float:
    """Return the number of a 16-bit type nearest to an exact one, ties to even."""
    guess = int(np.array(float(abs(exact))).astype(dtype).view(np.uint16))

    def distance(bits: int) -> tuple[Fraction, int]:
        return abs(abs(exact) - Fraction(float(np.uint16(bits).view(dtype)))), bits & 1

    best = float(np.uint16(min(range(max(guess - 2, 0), guess + 3), key=distance)).view(dtype))
    return -best if exact < 0 else best


def triples(dtype) -> np.ndarray:
    """Return factors and addends of magnitudes near and far; products half way between two numbers first."""
    random = np.random.default_rng(0)
    units, factors = (1024, (1366, 1370)) if dtype is F16 else (128, (174, 178))
    halfway = [
        (1.5, sign * factor / units, sign * addend)
        for factor in factors
        for addend in (-(2.0**-24), 0, 2.0**-24)
        for sign in (1, -1)
    ]
    pairs = 1 + random.integers(0, 128, (1500, 2)) / 128
    addends = random.choice([-1, 1, 1.5], 1500) * np.exp2(random.integers(-22, 4, 1500))
    return np.concatenate([halfway, np.column_stack([pairs, addends])]).astype(dtype)


@pytest.mark.parametrize(
    ("symbol", "dtype", "constants"),
    [
        ("nvvm_fma_rn_f16", F16, []),
        ("nvvm_fma_rn_bf16", BF16, []),
        ("opencl_fma", F16, MODELS["_Z3fmaDhDhDh"].constants),
    ],
)
def test_a_fused_multiply_add_of_16_bits_is_rounded_once(models, symbol, dtype, constants):
    rows = triples(dtype)
    columns = [*(column.copy() for column in rows.T), *(np.full(len(rows), c, np.int32) for c in constants)]
    found = models(vendor(symbol)).map_lane(symbol, columns, np.uint16).view(dtype).astype(np.float64)
    exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in rows]
    np.testing.assert_array_equal(found, [nearest(value, dtype) for value in exact])


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_numbers_of_16_bits(nvidia, dtype):
    rows = [[np.inf, 1, 0], [np.inf, -1, np.inf], [0, np.inf, 1], [np.nan, 0, 0], [-1, 0, -0.0], [2, 3, -7]]
    columns = [column.copy() for column in np.array(rows).astype(DTYPES[dtype]).T]
    for relu, expected in (
        ("", [np.inf, np.nan, np.nan, np.nan, -0.0, -1]),
        ("relu_", [np.inf, *[np.nan] * 3, 0, 0]),
    ):
        found = nvidia.map_lane(f"nvvm_fma_rn_{relu}{dtype}", columns, np.uint16).view(DTYPES[dtype])
        np.testing.assert_array_equal(found.astype(np.float64), expected)
        np.testing.assert_array_equal(np.signbit(found[4:]), np.signbit(expected[4:]))


def test_overflow_and_the_smallest_halves(nvidia):
    rows = np.array([[256, 256, 0], [255.875, 256, 0], [2**-12, 2**-13, 0], [2**-12, 2**-13, 2**-24]], F16)
    found = nvidia.map_lane("nvvm_fma_rn_f16", [column.copy() for column in rows.T], np.uint16).view(F16)
    np.testing.assert_array_equal(found, np.array([np.inf, 65504, 0, 2**-23], F16))


@pytest.mark.parametrize(
    ("element", "x", "y", "z", "expected"),
    [
        # The middle of two floats; rounding to f64 first would lose the 2^-80 beside it.
        ("f", 1.5, 1 + 2.0**-23, -(2.0**-80), 1.5 + 2.0**-23),
        ("f", 1 + 2.0**-12, 1 + 2.0**-12, -1.0, 2.0**-11 + 2.0**-24),
        ("d", 1 + 2.0**-30, 1 + 2.0**-30, -1 - 2.0**-29, 2.0**-60),
    ],
)
def test_intels_fused_multiply_add_is_rounded_once(intel, element, x, y, z, expected):
    kind = TYPES[element]
    assert call(intel, "fma", [element] * 3, [kind(x), kind(y), kind(z)], kind).value == expected


# ------------------------------------------------------------------ OpenCL's builtins

OPENCL = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt")},
    **{
        name: getattr(np, name)
        for name in ("sin", "cos", "tan", "tanh", "fabs", "floor", "ceil", "trunc", "rint")
    },
    "exp10": lambda x: np.power(10.0, x),
    "rsqrt": reciprocal_root,
    "recip": np.reciprocal,
    "erf": np.vectorize(math.erf),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "divide": np.divide,
    **dict.fromkeys(("pow", "powr"), np.power),
    "fmax": np.fmax,
    "fmin": np.fmin,
}
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "recip", "powr", "pow")
BINARY = ("native_divide", "native_powr", "pow", "powr", "fmax", "fmin")


@pytest.mark.parametrize("element", ["Dh", "f", "d"])
@pytest.mark.parametrize("name", [*EXACT, *(f"native_{name}" for name in NATIVE), *BINARY])
def test_opencls_functions(intel, name, element):
    base = name.removeprefix("native_")
    # Half a unit in the last place; in f64 a few, which libm and NumPy may differ by.
    tolerance = (4 if element == "d" else 0.5001) * float(np.finfo(TYPES[element]).eps)
    for width in (1, 2, 3, 4, 8, 16):
        random = np.random.default_rng(width)
        numbers = [random.uniform(-4, 4, width) for _ in range(2 if name in BINARY else 1)]
        if base in POSITIVE:
            numbers = [np.abs(number) + 0.125 for number in numbers]
        operands = [number.astype(TYPES[element]) for number in numbers]
        exact = OPENCL[base](*(operand.astype(np.float64) for operand in operands))
        for builtin in (name, f"__spirv_ocl_{name}"):
            types = [vector(element, width)] * len(operands)
            result = call(intel, builtin, types, operands, np.dtype((TYPES[element], (width,))))
            np.testing.assert_allclose(result.value.astype(np.float64), exact, rtol=tolerance, atol=0)


@pytest.mark.parametrize(
    ("name", "operands", "width", "expected"),
    [
        ("_Z22__spirv_ocl_native_expDv8_f", 1, 8, math.e),
        ("_Z25__spirv_ocl_native_divideDv8_fDv8_f", 2, 8, 1),
        ("_Z25__spirv_ocl_native_divideDv8_fS_", 2, 8, 1),
        ("_Z3fmaDv4_fS_S_", 3, 4, 2),
        ("_Z15__spirv_ocl_fmafff", 3, 1, 2),
    ],
)
def test_spellings_of_opencls_functions(intel, name, operands, width, expected):
    result = call_mangled(intel, name, [np.ones(width, F32)] * operands, np.dtype((F32, (width,))))
    np.testing.assert_allclose(result.value, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        # A masked score is minus infinity, whose exponential is 0.
        *((name, [score], 0) for name in ("native_exp", "native_exp2") for score in (-np.inf, -200)),
        *((name, [value], value) for name in ("native_exp", "native_exp2") for value in (np.inf, np.nan)),
        *((name, [1, np.nan], 1) for name in ("fmax", "fmin")),
        *((name, [np.nan, np.nan], np.nan) for name in ("fmax", "fmin")),
        # OpenCL C 3.0, "Edge Case Behavior"
        ("powr", [0.0, -1.0], np.inf),
        ("powr", [0.0, 1.0], 0.0),
        ("powr", [2.0, 0.0], 1.0),
        ("powr", [1.0, 5.0], 1.0),
        *(
            ("powr", operands, np.nan)
            for operands in ([-2, 2], [0, 0], [np.inf, 0], [1, np.inf], [2, np.nan])
        ),
        ("powr", [np.nan, 0.0], np.nan),
    ],
)
def test_edges_of_opencls_functions(intel, name, operands, expected):
    found = call(intel, name, ["f"] * len(operands), [F32(operand) for operand in operands], F32)
    np.testing.assert_equal(float(found.value), expected)
