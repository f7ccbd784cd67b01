"""Instructions of one lane whose rules are said by examples: saturation, conversions, bytes and bits.

Sources: PTX ISA 9.2, sections 9.7.3 and 9.7.9 (cvt, prmt); AMD Instinct MI300 ISA and RDNA3 ISA, VOP3.
"""

import ml_dtypes
import numpy as np
import pytest

TINY = 2.0**-126
F32, U32, I32 = np.float32, np.uint32, np.int32
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}

FLOATS = [
    # 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: the last term is left only if the product is not rounded.
    *((f"nvvm_fma_rn_{ftz}f", (1 + 2**-23, 1 + 2**-23, -(1 + 2**-22)), 2**-46) for ftz in ("", "ftz_")),
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
    *(
        (f"nvvm_saturate_{ftz}f", (operand,), expected)
        for ftz in ("", "ftz_")
        for operand, expected in ((-1, 0), (0.25, 0.25), (7, 1), (np.nan, 0), (np.inf, 1))
    ),
    ("nvvm_saturate_f", (TINY / 4,), TINY / 4),
    ("nvvm_saturate_ftz_f", (TINY / 4,), 0),
]

WORDS = [
    # v_perm_b32: bytes of both operands; 8 to 11: the signs of bytes 1, 3, 5, 7; 12: zeros; above: ones
    ("amdgcn_perm", (0x88776655, 0x44332211, 0x03020100), 0x44332211),
    ("amdgcn_perm", (0x88776655, 0x44332211, 0x07060504), 0x88776655),
    ("amdgcn_perm", (0x88776655, 0x44332211, 0x00040105), 0x11552266),
    ("amdgcn_perm", (0x88776655, 0x44332211, 0x0B0A0908), 0xFF000000),
    ("amdgcn_perm", (0x88776655, 0x44332211, 0x0D0C000C), 0xFF001100),
    ("amdgcn_perm", (0x88776655, 0x44332211, 0xFF0C0C0C), 0xFF000000),
    ("amdgcn_alignbyte", (0x88776655, 0x44332211, 0), 0x44332211),
    ("amdgcn_alignbyte", (0x88776655, 0x44332211, 1), 0x55443322),
    ("amdgcn_alignbyte", (0x88776655, 0x44332211, 3), 0x77665544),
    ("amdgcn_alignbyte", (0x88776655, 0x44332211, 4), 0x44332211),
    *(
        (f"amdgcn_{sign}bfe", (value, offset, width), expected)
        for value, offset, width, unsigned, signed in (
            (0x86F005A5, 0, 8, 0xA5, 0xFFFFFFA5),
            (0x86F005A5, 4, 4, 0xA, 0xFFFFFFFA),
            (0x86F005A5, 8, 4, 0x5, 0x5),
            (0x86F005A5, 3, 0, 0, 0),
            (0x86F005A5, 0, 31, 0x06F005A5, 0x06F005A5),
            (0xF6F005A5, 0, 31, 0x76F005A5, 0xF6F005A5),
            # past the end, and modulo 32
            (0x86F005A5, 28, 8, 0x8, 0xFFFFFFF8),
            (0x86F005A5, 36, 36, 0xA, 0xFFFFFFFA),
        )
        for sign, expected in (("u", unsigned), ("s", signed))
    ),
    # prmt: digits choose bytes A5, F0, 21, 83, 8C, 5D, 6E, 7F; from 8 on their signs
    *(
        ("nvvm_prmt", (0x8321F0A5, 0x7F6E5D8C, selector), expected)
        for selector, expected in (
            (0x3210, 0x8321F0A5),
            (0x7654, 0x7F6E5D8C),
            (0x0123, 0xA5F02183),
            (0x6420, 0x6E8C21A5),
            (0xB8FC, 0xFFFF00FF),
            (0x12A7, 0xF021007F),
        )
    ),
]


@pytest.mark.parametrize(
    ("symbol", "dtype", "operands", "expected"),
    [*((s, F32, o, e) for s, o, e in FLOATS), *((s, U32, o, e) for s, o, e in WORDS)],
)
def test_results_of_examples(models, symbol, dtype, operands, expected):
    library = models("nvidia" if symbol.startswith("nvvm") else "amd")
    found = library.call_lane(symbol, [dtype(operand) for operand in operands], dtype)
    assert found.value.tobytes() == dtype(expected).tobytes()


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
def test_a_rounding_mode_operand_must_be_to_nearest(nvidia, symbol, operands, expected):
    arguments = [F32(operand) for operand in operands]
    found = nvidia.call_lane(symbol, [*arguments, I32(1)], F32)
    assert (found.value, found.findings) == (F32(expected), ())
    assert nvidia.call_lane(symbol, [*arguments, I32(0)], F32).finding_kinds == ["UNSUPPORTED_OPERAND"]


PRMT = {
    # Bytes of the result from the highest to the lowest, for the controls 0 to 3: prmt's table in the ISA.
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


@pytest.mark.parametrize("mode", PRMT)
def test_bytes_are_picked_by_a_mode(nvidia, mode):
    a, b = 0x8321F0A5, 0x7F6E5D8C
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    for control, digits in enumerate(PRMT[mode]):
        operands = [a, b, control] if mode in ("f4e", "b4e") else [a, control]
        found = nvidia.call_lane(f"nvvm_prmt_{mode}", [U32(operand) for operand in operands], U32).value
        assert found == int.from_bytes(bytes(source[int(digit)] for digit in digits), "big")


# ------------------------------------------------------------------ floats to 16 bits


def numbers() -> np.ndarray:
    random = np.random.default_rng(0)
    special = [
        0.0,
        -0.0,
        1.0,
        65504.0,
        65519.0,
        65520.0,
        -65520.0,
        1e9,
        2.0**-24,
        2.0**-25,
        3.4e38,
        np.inf,
        -np.inf,
    ]
    spread = random.standard_normal(2000) * np.exp2(random.uniform(-30, 20, 2000))
    return np.concatenate([special, spread]).astype(F32)


def rounded(values: np.ndarray, dtype, mode: str) -> np.ndarray:
    """Return the bits of numbers as a 16-bit type, rounded in a mode."""
    if mode.endswith("_relu"):
        values = np.where(values > 0, values, F32(0))
    with np.errstate(over="ignore"):
        nearest = values.astype(dtype)
    bits = nearest.view(np.uint16)
    is_farther = np.abs(nearest.astype(np.float64)) > np.abs(values.astype(np.float64))
    return np.where(is_farther, bits - 1, bits).astype(np.uint16) if mode.startswith("rz") else bits


@pytest.mark.parametrize("mode", ["rn", "rn_relu", "rz", "rz_relu"])
@pytest.mark.parametrize("element", DTYPES)
def test_floats_to_16_bits(nvidia, element, mode):
    dtype, lower = DTYPES[element], numbers()[::-1].copy()
    bits = rounded(numbers(), dtype, mode)
    np.testing.assert_array_equal(nvidia.map_lane(f"nvvm_f2{element}_{mode}", [numbers()], np.uint16), bits)
    pairs = nvidia.map_lane(f"nvvm_ff2{element}x2_{mode}", [numbers(), lower], U32)
    np.testing.assert_array_equal(pairs, bits.astype(U32) << 16 | rounded(lower, dtype, mode))
    nan = nvidia.call_lane(f"nvvm_f2{element}_{mode}", [F32(np.nan)], np.uint16).value
    assert np.isnan(float(nan.view(dtype)))


def test_amd_rounds_pairs_toward_zero(amd):
    pair = np.dtype((np.uint16, 2))
    found = amd.map_lane("amdgcn_cvt_pkrtz", [numbers(), -numbers()], pair)
    np.testing.assert_array_equal(found[:, 0], rounded(numbers(), np.float16, "rz"))
    np.testing.assert_array_equal(found[:, 1], rounded(-numbers(), np.float16, "rz"))


def test_flushing_before_a_half_is_rounded(nvidia):
    operands = np.array([2.0**-127, -(2.0**-127), 1.5], F32)
    found = nvidia.map_lane("nvvm_f2h_rn_ftz", [operands], np.uint16)
    np.testing.assert_array_equal(found, [0x0000, 0x8000, 0x3E00])


# ------------------------------------------------------------------ tf32 and integers

TF32 = [
    # (bits of a float, rn, rna, rz): 13 bits of the mantissa are lost.
    (0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000),
    (0x3F800FFF, 0x3F800000, 0x3F800000, 0x3F800000),
    (0x3F801000, 0x3F800000, 0x3F802000, 0x3F800000),
    (0x3F801001, 0x3F802000, 0x3F802000, 0x3F800000),
    (0x3F803000, 0x3F804000, 0x3F804000, 0x3F802000),
    (0xBF801000, 0xBF800000, 0xBF802000, 0xBF800000),
    (0x7F7FFFFF, 0x7F800000, 0x7F800000, 0x7F7FE000),
    (0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000),
    (0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000),
    (0x7F800001, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF),
    (0x80000000, 0x80000000, 0x80000000, 0x80000000),
]


@pytest.mark.parametrize(("column", "mode"), [(1, "rn"), (2, "rna"), (3, "rz")])
def test_floats_to_tf32(nvidia, column, mode):
    table = np.array(TF32, U32)
    found = nvidia.map_lane(f"nvvm_f2tf32_{mode}", [table[:, 0].copy()], U32)
    np.testing.assert_array_equal(found, table[:, column])
    if mode != "rna":
        operands = np.array([-1.5, -0.0, 1.5, -np.inf], F32)
        found = nvidia.map_lane(f"nvvm_f2tf32_{mode}_relu", [operands], U32)
        np.testing.assert_array_equal(found, np.array([0, 0, 1.5, 0], F32).view(U32))


ROUNDINGS = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}
FLUSHING = ("nvvm_f2i_rm", "nvvm_f2i_rp", "nvvm_f2ui_rp")
"""Conversions to integers whose results differ if subnormal numbers are 0."""


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize(("name", "dtype"), [("f2i", I32), ("f2ui", U32)])
def test_floats_to_integers_are_limited_to_the_range(nvidia, name, dtype, mode):
    near = [0, 0.5, 1.5, 2.5, -0.5, -1.5, 123456.7, 2.0**-130, -(2.0**-130)]
    operands = np.array([*near, 2.0**31, -(2.0**31), 2.0**32, 3e9, -3e9, np.inf, -np.inf], F32)
    limits = np.iinfo(dtype)
    symbol = f"nvvm_{name}_{mode}"
    for suffix in ("", "_ftz") if symbol in FLUSHING else ("",):
        exact = operands.astype(np.float64)
        exact = np.where(np.abs(exact) < TINY, 0, exact) if suffix else exact
        expected = np.clip(ROUNDINGS[mode](exact), limits.min, limits.max).astype(dtype)
        np.testing.assert_array_equal(nvidia.map_lane(symbol + suffix, [operands], dtype), expected)
    assert nvidia.call_lane(symbol, [F32(np.nan)], dtype).value == 0


@pytest.mark.parametrize(("symbol", "dtype"), [("nvvm_i2f_rn", I32), ("nvvm_ui2f_rn", U32)])
def test_integers_to_floats(nvidia, symbol, dtype):
    integers = np.array([0, 1, -1, 2**24 + 1, 2**24 + 3, -(2**31), 2**31 - 1], I32).view(dtype)
    np.testing.assert_array_equal(nvidia.map_lane(symbol, [integers], F32), integers.astype(F32))
