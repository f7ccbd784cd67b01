"""NVIDIA's conversions and byte permutation (PTX ISA 9.2, section 9.7.9, cvt and prmt)."""

import ml_dtypes
import numpy as np
import pytest
from model_calls import ModelLibrary

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    65504.0,
    65519.0,
    65520.0,
    -65520.0,
    2.0**-24,
    2.0**-25,
    3.4e38,
    np.inf,
    -np.inf,
]


def values() -> np.ndarray:
    random = np.random.default_rng(0)
    spread = random.standard_normal(2000) * np.exp2(random.uniform(-30, 20, 2000))
    return np.concatenate([SPECIAL, spread]).astype(np.float32)


def toward_zero(numbers: np.ndarray, dtype: type) -> np.ndarray:
    """Return the numbers of a 16-bit type next to others, on the side of zero."""
    with np.errstate(over="ignore"):
        nearest = numbers.astype(dtype)
    bits = nearest.view(np.uint16)
    too_large = np.abs(nearest.astype(np.float64)) > np.abs(numbers.astype(np.float64))
    return np.where(too_large, bits - 1, bits).astype(np.uint16).view(dtype)


def rounded(numbers: np.ndarray, dtype: type, mode: str) -> np.ndarray:
    """Return numbers as a 16-bit type, rounded in a mode."""
    if mode.endswith("_relu"):
        numbers = np.where(numbers > 0, numbers, np.float32(0))
    if mode.startswith("rz"):
        return toward_zero(numbers, dtype)
    with np.errstate(over="ignore"):
        return numbers.astype(dtype)


@pytest.mark.parametrize("mode", ["rn", "rn_relu", "rz", "rz_relu"])
@pytest.mark.parametrize("element", DTYPES)
def test_floats_to_16_bits(nvidia: ModelLibrary, element: str, mode: str) -> None:
    found = nvidia.map_lane(f"nvvm_f2{element}_{mode}", [values()], np.uint16)
    np.testing.assert_array_equal(found, rounded(values(), DTYPES[element], mode).view(np.uint16))


@pytest.mark.parametrize("mode", ["rn", "rn_relu", "rz", "rz_relu"])
@pytest.mark.parametrize("element", DTYPES)
def test_the_first_of_two_floats_is_the_upper_half(nvidia: ModelLibrary, element: str, mode: str) -> None:
    upper, lower = values(), values()[::-1].copy()
    found = nvidia.map_lane(f"nvvm_ff2{element}x2_{mode}", [upper, lower], np.uint32)
    bits = [rounded(half, DTYPES[element], mode).view(np.uint16).astype(np.uint32) for half in (upper, lower)]
    np.testing.assert_array_equal(found, bits[0] << 16 | bits[1])


@pytest.mark.parametrize("mode", ["rn", "rn_relu", "rz", "rz_relu"])
@pytest.mark.parametrize("element", DTYPES)
def test_nan_stays_nan(nvidia: ModelLibrary, element: str, mode: str) -> None:
    found = nvidia.call_lane(f"nvvm_f2{element}_{mode}", [np.float32(np.nan)], np.uint16)
    assert np.isnan(float(found.value.view(DTYPES[element])))


def test_flushing_before_a_half_is_rounded(nvidia: ModelLibrary) -> None:
    operands = np.array([2.0**-127, -(2.0**-127), 1.5], np.float32)
    found = nvidia.map_lane("nvvm_f2h_rn_ftz", [operands], np.uint16)
    np.testing.assert_array_equal(found, [0x0000, 0x8000, 0x3E00])


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
def test_floats_to_tf32(nvidia: ModelLibrary, column: int, mode: str) -> None:
    table = np.array(TF32, np.uint32)
    found = nvidia.map_lane(f"nvvm_f2tf32_{mode}", [table[:, 0].copy()], np.uint32)
    np.testing.assert_array_equal(found, table[:, column])


@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_relu_makes_negative_numbers_zero_tf32(nvidia: ModelLibrary, mode: str) -> None:
    operands = np.array([-1.5, -0.0, 1.5, -np.inf], np.float32)
    found = nvidia.map_lane(f"nvvm_f2tf32_{mode}_relu", [operands], np.uint32)
    np.testing.assert_array_equal(found.view(np.float32), [0, 0, 1.5, 0])
    assert not np.signbit(found.view(np.float32)).any()


ROUNDINGS = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize(("name", "dtype"), [("f2i", np.int32), ("f2ui", np.uint32)])
def test_floats_to_integers_are_limited_to_the_range(
    nvidia: ModelLibrary, name: str, dtype: type, mode: str
) -> None:
    operands = np.array(
        [0, 0.5, 1.5, 2.5, -0.5, -1.5, 2.0**31, -(2.0**31), 2.0**32, 3e9, -3e9, np.inf, -np.inf, 123456.7],
        np.float32,
    )
    limits = np.iinfo(dtype)
    expected = np.clip(ROUNDINGS[mode](operands.astype(np.float64)), limits.min, limits.max).astype(dtype)
    found = nvidia.map_lane(f"nvvm_{name}_{mode}", [operands], dtype)
    np.testing.assert_array_equal(found, expected)
    assert nvidia.call_lane(f"nvvm_{name}_{mode}", [np.float32(np.nan)], dtype).value == 0


@pytest.mark.parametrize(
    ("symbol", "operand", "kept", "flushed"),
    [
        ("nvvm_f2i_rm", -(2.0**-130), -1, 0),
        ("nvvm_f2i_rp", 2.0**-130, 1, 0),
        ("nvvm_f2ui_rp", 2.0**-130, 1, 0),
        ("nvvm_f2i_rm", -1.5, -2, -2),
        ("nvvm_f2i_rp", 1.5, 2, 2),
        ("nvvm_f2ui_rp", 1.5, 2, 2),
    ],
)
def test_flushing_before_rounding_to_an_integer(
    nvidia: ModelLibrary, symbol: str, operand: float, kept: int, flushed: int
) -> None:
    assert nvidia.call_lane(symbol, [np.float32(operand)], np.int32).value == kept
    assert nvidia.call_lane(f"{symbol}_ftz", [np.float32(operand)], np.int32).value == flushed


def test_integers_to_floats(nvidia: ModelLibrary) -> None:
    integers = np.array([0, 1, -1, 2**24 + 1, 2**24 + 3, -(2**31), 2**31 - 1], np.int32)
    found = nvidia.map_lane("nvvm_i2f_rn", [integers], np.float32)
    np.testing.assert_array_equal(found, integers.astype(np.float32))
    unsigned = nvidia.map_lane("nvvm_ui2f_rn", [integers.view(np.uint32)], np.float32)
    np.testing.assert_array_equal(unsigned, integers.view(np.uint32).astype(np.float32))


A, B = 0x8321F0A5, 0x7F6E5D8C
"""Bytes 0 to 3 are A5, F0, 21, 83; bytes 4 to 7 are 8C, 5D, 6E, 7F."""


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (0x3210, 0x8321F0A5),
        (0x7654, 0x7F6E5D8C),
        (0x0123, 0xA5F02183),
        (0x6420, 0x6E8C21A5),
        (0xB8FC, 0xFFFF00FF),
        (0x12A7, 0xF021007F),
    ],
)
def test_bytes_are_picked_by_digits(nvidia: ModelLibrary, selector: int, expected: int) -> None:
    arguments = [np.uint32(A), np.uint32(B), np.uint32(selector)]
    assert nvidia.call_lane("nvvm_prmt", arguments, np.uint32).value == expected


MODES = {
    # Bytes of the result from the highest to the lowest, for the controls 0 to 3: prmt's table in the ISA.
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


@pytest.mark.parametrize("mode", MODES)
def test_bytes_are_picked_by_a_mode(nvidia: ModelLibrary, mode: str) -> None:
    source = A.to_bytes(4, "little") + B.to_bytes(4, "little")
    takes_two = mode in ("f4e", "b4e")
    for control, digits in enumerate(MODES[mode]):
        arguments = [np.uint32(A), *([np.uint32(B)] if takes_two else []), np.uint32(control)]
        found = nvidia.call_lane(f"nvvm_prmt_{mode}", arguments, np.uint32).value
        assert found == int.from_bytes(bytes(source[int(digit)] for digit in digits), "big")
