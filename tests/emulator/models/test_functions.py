"""Functions of a lane's numbers, against NumPy in double precision, and conversions by examples.

Sources: PTX ISA 9.2, sections 9.7.3 and 9.7.9 (cvt, prmt); AMD Instinct MI300 ISA and RDNA3 ISA, VOP1;
OpenCL C 3.0, "Math Functions".
"""

import ml_dtypes
import numpy as np
import pytest
from intel_builtins import TYPES, call, call_mangled

from harness.emulator.models.intel import FUNCTIONS
from harness.emulator.models.intel.mangling import vector

F16, BF16, F32, U32 = np.float16, ml_dtypes.bfloat16, np.float32, np.uint32
TINY = 2.0**-126
"""The smallest normal number of f32: where subnormal numbers are flushed, what is below it is 0."""
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


def assert_right(result: np.ndarray, function, operands, units: float, flushes: bool) -> None:
    """Assert that numbers are the exact ones but for so many units in the last place."""
    with np.errstate(all="ignore"):
        exact = function(*(flush(operand.astype(np.float64)) if flushes else operand.astype(np.float64)
                           for operand in operands))  # fmt: skip
        expected = exact.astype(result.dtype)
        expected = flush(expected).astype(result.dtype) if flushes else expected
        allowed = units * np.spacing(np.abs(expected)).astype(np.float64)
        is_close = np.abs(result.astype(np.float64) - exact) <= allowed
    is_same = (result == expected) & (np.signbit(result) == np.signbit(expected))
    is_nan = np.isnan(result) & np.isnan(expected)
    is_wrong = ~(is_same | is_nan | (is_close & (result != 0) & (expected != 0)))
    assert not is_wrong.any(), (operands[0][is_wrong][:3], result[is_wrong][:3], expected[is_wrong][:3])


NVIDIA = {
    "ex2_approx": (np.exp2, 1.0),
    "lg2_approx": (np.log2, 1.0),
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
    *((f"amdgcn_{name}_f32", function, F32, 1.0, True) for name, function in AMD.items()),
    *((f"amdgcn_{name}_f16", function, F16, 1.0, False) for name, function in AMD.items()),
    *((f"amdgcn_ocml_{name}_f32", function, F32, 1.5, False) for name, function in OCML.items()),
]
"""Functions with their type, the units in the last place they may be off, and whether they flush."""


@pytest.mark.parametrize(("symbol", "function", "dtype", "units", "flushes"), UNARY)
def test_a_function_of_one_number(models, symbol, function, dtype, units, flushes):
    with np.errstate(over="ignore"):
        operands = values(1).astype(dtype)
    library = models("nvidia" if symbol.startswith("nvvm") else "amd")
    assert_right(library.map_lane(symbol, [operands], dtype), function, [operands], units, flushes)


@pytest.mark.parametrize("flushes", [False, True], ids=["", "ftz"])
@pytest.mark.parametrize(
    ("name", "function"), [("add_rn", np.add), ("mul_rn", np.multiply), ("div", np.divide)]
)
def test_a_function_of_two_numbers(nvidia, name, function, flushes):
    operands = [numbers.ravel().astype(F32) for numbers in np.meshgrid(values(2)[::5], values(3)[::5])]
    result = nvidia.map_lane(f"nvvm_{name}_{'ftz_' if flushes else ''}f", operands, F32)
    assert_right(result, function, operands, 0.5, flushes)


EXAMPLES = [
    # 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: the last term is left only if the product is not rounded.
    *((f"fma_rn_{ftz}f", F32, (1 + 2**-23, 1 + 2**-23, -(1 + 2**-22)), 2**-46) for ftz in ("", "ftz_")),
    ("fma_rn_f", F32, (TINY / 2, 1, 0), TINY / 2),
    ("fma_rn_ftz_f", F32, (TINY / 2, 2, 0), 0.0),
    ("fma_rn_ftz_f", F32, (TINY, 0.5, 0), 0.0),
    ("fma_rn_ftz_f", F32, (0, 0, TINY / 2), 0.0),
    ("fma_rn_sat_f", F32, (2, -3, 4), 0.0),
    ("fma_rn_ftz_sat_f", F32, (2, 3, 4), 1.0),
    *(("saturate_f", F32, (x,), y) for x, y in ((-1, 0), (0.25, 0.25), (7, 1), (np.nan, 0), (np.inf, 1))),
    ("saturate_ftz_f", F32, (TINY / 4,), 0),
    # prmt: digits choose bytes A5, F0, 21, 83, 8C, 5D, 6E, 7F; from 8 on their signs
    *(
        ("prmt", U32, (0x8321F0A5, 0x7F6E5D8C, selector), expected)
        for selector, expected in ((0x3210, 0x8321F0A5), (0x6420, 0x6E8C21A5), (0xB8FC, 0xFFFF00FF))
    ),
    # tf32 keeps 10 bits of the mantissa, ties away from 0
    *(
        ("f2tf32_rna", U32, (bits,), expected)
        for bits, expected in (
            (0x3F800FFF, 0x3F800000),
            (0x3F801000, 0x3F802000),
            (0xBF801000, 0xBF802000),
            (0x7F7FFFFF, 0x7F800000),
            (0xFF800000, 0xFF800000),
            (0x7F800001, 0x7FFFFFFF),
        )
    ),
]


@pytest.mark.parametrize(("name", "dtype", "operands", "expected"), EXAMPLES)
def test_results_of_examples(nvidia, name, dtype, operands, expected):
    result = nvidia.call_lane(f"nvvm_{name}", [dtype(operand) for operand in operands], dtype)
    assert result.value.tobytes() == dtype(expected).tobytes()


@pytest.mark.parametrize(
    ("symbol", "operands", "expected"),
    [
        ("nvvm_fadd_f32", (1.5, TINY / 2), 1.5),
        ("nvvm_fadd_ftz_f32", (0, TINY / 2), 0),
        ("nvvm_fmul_f32", (0.5, TINY), TINY / 2),
        ("nvvm_fmul_ftz_f32", (0.5, TINY), 0),
    ],
)
def test_a_rounding_mode_operand_must_be_to_nearest(nvidia, symbol, operands, expected):
    arguments = [F32(operand) for operand in operands]
    result = nvidia.call_lane(symbol, [*arguments, np.int32(1)], F32)
    assert (result.value, result.findings) == (F32(expected), ())
    assert nvidia.call_lane(symbol, [*arguments, np.int32(0)], F32).finding_kinds == ["UNSUPPORTED_OPERAND"]


@pytest.mark.parametrize(("element", "dtype"), [("f16", F16), ("bf16", BF16)])
def test_floats_to_16_bits_are_rounded_to_nearest(nvidia, element, dtype):
    with np.errstate(over="ignore"):
        numbers = np.array([*values(4), 65504.0, 65519.0, 65520.0, 2.0**-24, 2.0**-25], F32)
        expected = numbers.astype(dtype)
    single = nvidia.map_lane(f"nvvm_f2{element}_rn", [numbers], np.uint16)
    np.testing.assert_array_equal(single.view(dtype).astype(F32), expected.astype(F32))
    pairs = nvidia.map_lane(f"nvvm_ff2{element}x2_rn", [numbers, numbers[::-1].copy()], U32)
    np.testing.assert_array_equal(pairs, single.astype(U32) << 16 | single[::-1])


# ------------------------------------------------------------------ OpenCL's builtins

OPENCL = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "sqrt", "tanh", "fabs")},
    "rsqrt": reciprocal_root,
    "recip": np.reciprocal,
    "divide": np.divide,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fma": lambda x, y, z: x * y + z,
}


@pytest.mark.parametrize("element", ["Dh", "f"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_opencls_functions(intel, name, element):
    model, count = FUNCTIONS[name]
    for width in (1, 3, 8, 16):
        random = np.random.default_rng(width)
        operands = [random.uniform(0.125, 4, width).astype(TYPES[element]) for _ in range(count)]
        exact = OPENCL[model](*(operand.astype(np.float64) for operand in operands))
        for builtin in (name, f"__spirv_ocl_{name}"):
            result = call(
                intel,
                builtin,
                [vector(element, width)] * count,
                operands,
                np.dtype((TYPES[element], (width,))),
            )
            rounding = 0.5001 * float(np.finfo(TYPES[element]).eps)
            np.testing.assert_allclose(result.value.astype(np.float64), exact, rtol=rounding, atol=0)


@pytest.mark.parametrize(
    ("name", "operands", "width", "expected"),
    [
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
        # The middle of two floats; rounding to f64 first would lose the 2^-80 beside it.
        ("fma", [1.5, 1 + 2.0**-23, -(2.0**-80)], 1.5 + 2.0**-23),
    ],
)
def test_edges_of_opencls_functions(intel, name, operands, expected):
    result = call(intel, name, ["f"] * len(operands), [F32(operand) for operand in operands], F32)
    np.testing.assert_equal(float(result.value), expected)
