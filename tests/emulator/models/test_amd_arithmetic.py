"""Arithmetic of one lane: the rules of AMD Instinct MI300 ISA and RDNA3 ISA, VOP1 and VOP3, against NumPy."""

from collections.abc import Callable

import numpy as np
import pytest
from model_calls import ModelLibrary

Function = Callable[..., np.ndarray]

TINY = np.finfo(np.float32).tiny
FUNCTIONS: dict[str, Function] = {
    "exp2": np.exp2,
    "log": np.log2,
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
}
LIBRARY: dict[str, Function] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def numbers(name: str) -> np.ndarray:
    """Return arguments: of all signs and of sizes that give normal numbers."""
    generator = np.random.default_rng(3)
    if name in ("exp", "exp2", "tanh"):
        return generator.uniform(-14, 14, 200)
    return np.exp2(generator.uniform(-14, 14, 200))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("suffix", "dtype"), [("f32", np.float32), ("f16", np.float16)])
def test_functions_are_accurate_to_a_unit_in_the_last_place(
    amd: ModelLibrary, name: str, suffix: str, dtype: type
) -> None:
    arguments = numbers(name).astype(dtype)
    found = amd.map_lane(f"amdgcn_{name}_{suffix}", [arguments], dtype)
    with np.errstate(over="ignore"):
        exact = FUNCTIONS[name](arguments.astype(np.float64)).astype(dtype)
    assert np.all(np.abs(found.astype(np.float64) - exact) <= np.spacing(np.abs(exact)).astype(np.float64))


@pytest.mark.parametrize("name", LIBRARY)
def test_the_device_librarys_functions(amd: ModelLibrary, name: str) -> None:
    arguments = numbers(name).astype(np.float32)
    found = amd.map_lane(f"amdgcn_ocml_{name}_f32", [arguments], np.float32)
    exact = LIBRARY[name](arguments.astype(np.float64)).astype(np.float32)
    assert np.all(np.abs(found.astype(np.float64) - exact) <= np.spacing(np.abs(exact)))


@pytest.mark.parametrize(
    ("symbol", "argument", "expected"),
    [
        ("exp2_f32", -126.0, TINY),
        ("exp2_f32", -126.5, 0.0),
        ("exp2_f32", -np.inf, 0.0),
        ("exp2_f32", 128.0, np.inf),
        ("log_f32", TINY / 2, -np.inf),
        ("rcp_f32", TINY / 2, np.inf),
        ("rcp_f32", -TINY / 2, -np.inf),
        ("rcp_f32", 2.0**127, 0.0),
        ("rcp_f32", -(2.0**127), -0.0),
        ("rsq_f32", 0.0, np.inf),
        ("sqrt_f32", TINY / 2, 0.0),
    ],
)
def test_subnormal_floats_are_0(amd: ModelLibrary, symbol: str, argument: float, expected: float) -> None:
    found = amd.map_lane(f"amdgcn_{symbol}", [np.array([argument], np.float32)], np.float32)[0]
    assert found.tobytes() == np.float32(expected).tobytes()


def test_nan_stays_nan(amd: ModelLibrary) -> None:
    nan = np.array([np.nan], np.float32)
    for name in FUNCTIONS:
        assert np.isnan(amd.map_lane(f"amdgcn_{name}_f32", [nan], np.float32)[0])


@pytest.mark.parametrize(("suffix", "dtype"), [("f32", np.float32), ("f16", np.float16)])
def test_fract_lies_in_0_to_1(amd: ModelLibrary, suffix: str, dtype: type) -> None:
    below_0 = -np.finfo(dtype).smallest_subnormal
    arguments = np.array([0.0, 1.25, -1.25, 7.0, below_0, 3.75], dtype)
    found = amd.map_lane(f"amdgcn_fract_{suffix}", [arguments], dtype)
    below_1 = np.nextafter(dtype(1), dtype(0))
    assert found.tolist() == [0.0, 0.25, 0.75, 0.0, below_1, 0.75]


@pytest.mark.parametrize(("suffix", "dtype"), [("f32", np.float32), ("f16", np.float16)])
def test_fmed3_is_the_median(amd: ModelLibrary, suffix: str, dtype: type) -> None:
    triples = np.random.default_rng(5).integers(-3, 4, (100, 3)).astype(dtype)
    found = amd.map_lane(f"amdgcn_fmed3_{suffix}", list(triples.T), dtype)
    assert np.array_equal(found, np.median(triples.astype(np.float64), axis=1))


def test_fmed3_with_a_nan_is_the_smallest_number(amd: ModelLibrary) -> None:
    triples = np.array([[np.nan, 2, 1], [2, np.nan, 1], [2, 1, np.nan]], np.float32)
    assert amd.map_lane("amdgcn_fmed3_f32", list(triples.T), np.float32).tolist() == [1, 1, 1]


PAIR = np.dtype((np.float16, 2))


def test_cvt_pkrtz_rounds_toward_zero(amd: ModelLibrary) -> None:
    generator = np.random.default_rng(11)
    values = (generator.choice([-1, 1], 500) * np.exp2(generator.uniform(-26, 15.9, 500))).astype(np.float32)
    found = np.array([
        amd.call_lane("amdgcn_cvt_pkrtz", [value, -value], PAIR).value for value in values
    ])  # fmt: skip
    assert np.array_equal(found[:, 0], -found[:, 1])
    nearest = values.astype(np.float16)
    is_farther = np.abs(nearest.astype(np.float32)) > np.abs(values)
    expected = np.where(is_farther, np.nextafter(nearest, np.float16(0)), nearest)
    assert np.any(is_farther)
    assert np.array_equal(found[:, 0], expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1e9, 65504.0), (-1e9, -65504.0), (np.inf, np.inf), (65519.0, 65504.0), (0.0, 0.0), (1e-9, 0.0)],
)
def test_cvt_pkrtz_at_the_ends(amd: ModelLibrary, value: float, expected: float) -> None:
    pair = amd.call_lane("amdgcn_cvt_pkrtz", [np.float32(value), np.float32(1)], PAIR).value
    assert pair.tolist() == [expected, 1.0]


def three(amd: ModelLibrary, symbol: str, first: int, second: int, third: int) -> int:
    arguments = [np.uint32(first), np.uint32(second), np.uint32(third)]
    return int(amd.call_lane(symbol, arguments, np.uint32).value)


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (0x03020100, 0x44332211),
        (0x07060504, 0x88776655),
        (0x00040105, 0x11552266),
        # 8 to 11: the signs of bytes 1, 3, 5, 7; 12: zeros; above: ones
        (0x0B0A0908, 0xFF000000),
        (0x0D0C000C, 0xFF001100),
        (0xFF0C0C0C, 0xFF000000),
    ],
)
def test_perm_selects_bytes(amd: ModelLibrary, selectors: int, expected: int) -> None:
    assert three(amd, "amdgcn_perm", 0x88776655, 0x44332211, selectors) == expected


@pytest.mark.parametrize(
    ("shift", "expected"), [(0, 0x44332211), (1, 0x55443322), (3, 0x77665544), (4, 0x44332211)]
)
def test_alignbyte_shifts_two_dwords(amd: ModelLibrary, shift: int, expected: int) -> None:
    assert three(amd, "amdgcn_alignbyte", 0x88776655, 0x44332211, shift) == expected


@pytest.mark.parametrize(
    ("value", "offset", "width", "unsigned", "signed"),
    [
        (0x86F005A5, 0, 8, 0xA5, 0xFFFFFFA5),
        (0x86F005A5, 4, 4, 0xA, 0xFFFFFFFA),
        (0x86F005A5, 8, 4, 0x5, 0x5),
        (0x86F005A5, 3, 0, 0, 0),
        (0x86F005A5, 0, 31, 0x06F005A5, 0x06F005A5),
        (0xF6F005A5, 0, 31, 0x76F005A5, 0xF6F005A5),
        # past the end, and modulo 32
        (0x86F005A5, 28, 8, 0x8, 0xFFFFFFF8),
        (0x86F005A5, 36, 36, 0xA, 0xFFFFFFFA),
    ],
)
def test_bit_fields(
    amd: ModelLibrary, value: int, offset: int, width: int, unsigned: int, signed: int
) -> None:
    assert three(amd, "amdgcn_ubfe", value, offset, width) == unsigned
    assert three(amd, "amdgcn_sbfe", value, offset, width) == signed
