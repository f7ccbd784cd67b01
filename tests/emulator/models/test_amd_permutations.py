"""Permutations of lanes.

Sources: AMD Instinct MI300 ISA, DS_PERMUTE_B32, DS_BPERMUTE_B32 and DS_SWIZZLE_B32; RDNA3 ISA,
V_PERMLANE16_B32 and V_PERMLANEX16_B32; AMD Instinct CDNA4 ISA, V_PERMLANE16_SWAP_B32 and
V_PERMLANE32_SWAP_B32.
"""

import numpy as np
import pytest
from model_calls import Call, ModelLibrary

PAIR = np.dtype((np.uint32, 2))
EVERYONE = 0xFFFFFFFFFFFFFFFF


def lanes(count: int, first: int = 0) -> np.ndarray:
    """Return a different number for each lane."""
    return np.arange(first, first + count, dtype=np.uint32)


# ------------------------------------------------------------------ ds.bpermute, ds.permute


def test_bpermute_pulls_from_byte_addresses(amd: ModelLibrary) -> None:
    sources = np.arange(64) * 7 % 64
    arguments = [(4 * sources).astype(np.uint32), lanes(64, 100)]
    call = amd.call_collective("amdgcn_ds_bpermute_gfx9", arguments, np.uint32, warp_size=64)
    assert call.findings == ()
    assert np.array_equal(call.value, 100 + sources)


def test_bpermute_ignores_parts_of_dwords_and_wraps_around(amd: ModelLibrary) -> None:
    addresses = (4 * np.arange(64) + 3 + 256).astype(np.uint32)
    call = amd.call_collective("amdgcn_ds_bpermute_gfx9", [addresses, lanes(64)], np.uint32, warp_size=64)
    assert np.array_equal(call.value, np.arange(64))


def test_bpermute_of_gfx10_stays_within_32_lanes(amd: ModelLibrary) -> None:
    addresses = (4 * (np.arange(64) + 1)).astype(np.uint32)
    call = amd.call_collective("amdgcn_ds_bpermute_gfx10", [addresses, lanes(64)], np.uint32, warp_size=64)
    assert call.value[31] == 0
    assert call.value[63] == 32
    assert call.value[40] == 41


def test_bpermute_from_an_inactive_lane_gives_0_and_is_reported(amd: ModelLibrary) -> None:
    addresses = np.full(64, 4 * 9, np.uint32)
    call = amd.call_collective(
        "amdgcn_ds_bpermute_gfx9",
        [addresses, lanes(64, 1)],
        np.uint32,
        warp_size=64,
        active=EVERYONE - (1 << 9),
    )
    assert call.finding_kinds == ["INACTIVE_SOURCE"]
    assert len(call.findings) == 63
    assert np.all(np.delete(call.value, 9) == 0)


def test_permute_pushes_and_the_highest_lane_wins(amd: ModelLibrary) -> None:
    targets = np.arange(64) // 2 * 3 % 64
    arguments = [(4 * targets).astype(np.uint32), lanes(64, 100)]
    call = amd.call_collective("amdgcn_ds_permute_gfx9", arguments, np.uint32, warp_size=64)
    expected = np.zeros(64, np.uint32)
    for lane, target in enumerate(targets):
        expected[target] = 100 + lane
    assert call.findings == ()
    assert np.array_equal(call.value, expected)


# ------------------------------------------------------------------ ds.swizzle


def swizzle(amd: ModelLibrary, pattern: int) -> Call:
    return amd.call_collective("amdgcn_ds_swizzle", [lanes(64), np.uint32(pattern)], np.uint32, warp_size=64)


SWIZZLES = {
    # xor_mask << 10 | or_mask << 5 | and_mask, within 32 lanes
    "swap neighbours": (0x041F, [1, 0, 3, 2, 5, 4, 7, 6]),
    "reverse eight": (0x1C1F, [7, 6, 5, 4, 3, 2, 1, 0]),
    "broadcast the first of eight": (0x0018, [0] * 8),
    "broadcast the last of four": (0x007C, [3] * 4 + [7] * 4),
    "the odd one of two": (0x041E, [1, 1, 3, 3, 5, 5, 7, 7]),
    "xor after or": (0x0C7C, [0] * 4 + [4] * 4),
    # bit 15: two bits a lane, within four lanes
    "quad [3, 2, 1, 0]": (0x801B, [3, 2, 1, 0, 7, 6, 5, 4]),
    "quad [1, 1, 2, 0]": (0x8025, [1, 1, 2, 0, 5, 5, 6, 4]),
}


@pytest.mark.parametrize("name", SWIZZLES)
def test_swizzle_patterns(amd: ModelLibrary, name: str) -> None:
    pattern, eight = SWIZZLES[name]
    call = swizzle(amd, pattern)
    assert call.findings == ()
    assert call.value.reshape(8, 8).tolist() == [[8 * group + lane for lane in eight] for group in range(8)]


def test_swizzle_by_16_stays_in_its_half(amd: ModelLibrary) -> None:
    expected = [*range(16, 32), *range(16), *range(48, 64), *range(32, 48)]
    assert swizzle(amd, 0x401F).value.tolist() == expected


@pytest.mark.parametrize("pattern", [0xC000, 0xE000])
def test_rotations_and_fft_are_reported(amd: ModelLibrary, pattern: int) -> None:
    assert swizzle(amd, pattern).finding_kinds == ["UNSUPPORTED_OPERAND"]


# ------------------------------------------------------------------ permlane16, permlanex16

IDENTITY = (0x76543210, 0xFEDCBA98)
LAST = (0xFFFFFFFF, 0xFFFFFFFF)
REVERSED = (0x89ABCDEF, 0x01234567)


def permlane(
    amd: ModelLibrary,
    name: str,
    selectors: tuple[int, int],
    *,
    fetch_inactive: bool = False,
    bound_control: bool = False,
    active: int = 0xFFFFFFFF,
) -> Call:
    low, high = (np.uint32(selector) for selector in selectors)
    flags = [np.bool_(fetch_inactive), np.bool_(bound_control)]
    return amd.call_collective(
        f"amdgcn_{name}_b32", [lanes(32, 100), lanes(32), low, high, *flags], np.uint32, active=active
    )


@pytest.mark.parametrize(
    ("name", "selectors", "expected"),
    [
        ("permlane16", IDENTITY, [*range(32)]),
        ("permlane16", LAST, [15] * 16 + [31] * 16),
        ("permlane16", REVERSED, [*range(15, -1, -1), *range(31, 15, -1)]),
        ("permlanex16", IDENTITY, [*range(16, 32), *range(16)]),
        ("permlanex16", LAST, [31] * 16 + [15] * 16),
        ("permlanex16", REVERSED, [*range(31, 15, -1), *range(15, -1, -1)]),
    ],
)
def test_selectors_name_lanes_of_a_row(
    amd: ModelLibrary, name: str, selectors: tuple[int, int], expected: list[int]
) -> None:
    call = permlane(amd, name, selectors)
    assert call.findings == ()
    assert call.value.tolist() == expected


@pytest.mark.parametrize("name", ["permlane16", "permlanex16"])
@pytest.mark.parametrize(("bits", "dtype"), [("b16", np.float16), ("b32", np.float32), ("b64", np.float64)])
def test_values_of_all_sizes_move_whole(amd: ModelLibrary, name: str, bits: str, dtype: type) -> None:
    numbers = (1 + np.arange(32) / 8).astype(dtype)
    arguments = [np.zeros(32, dtype), numbers, *(np.uint32(s) for s in REVERSED), np.bool_(0), np.bool_(0)]
    call = amd.call_collective(f"amdgcn_{name}_{bits}", arguments, dtype)
    rows = [numbers[:16], numbers[16:]] if name == "permlane16" else [numbers[16:], numbers[:16]]
    assert np.array_equal(call.value, np.concatenate([row[::-1] for row in rows]))


def test_an_inactive_source_leaves_the_old_value(amd: ModelLibrary) -> None:
    call = permlane(amd, "permlanex16", LAST, active=0x0000FFFF)
    assert call.findings == ()
    assert call.value[:16].tolist() == [*range(100, 116)]


def test_an_inactive_source_counts_as_0_with_bound_control(amd: ModelLibrary) -> None:
    call = permlane(amd, "permlanex16", LAST, bound_control=True, active=0x0000FFFF)
    assert call.findings == ()
    assert call.value[:16].tolist() == [0] * 16


def test_fetching_what_an_inactive_lane_holds_is_reported(amd: ModelLibrary) -> None:
    call = permlane(amd, "permlanex16", LAST, fetch_inactive=True, active=0x0000FFFF)
    assert call.finding_kinds == ["INACTIVE_SOURCE"]


# ------------------------------------------------------------------ permlane16.swap, permlane32.swap

FIRST, SECOND = 100, 200
SWAPS = {
    # Rows of 16 lanes, or halves of 32, of both results: the number of the operand and of its row.
    "permlane16_swap": (16, [(FIRST, 0), (SECOND, 0), (FIRST, 2), (SECOND, 2)],
                        [(FIRST, 1), (SECOND, 1), (FIRST, 3), (SECOND, 3)]),
    "permlane32_swap": (32, [(FIRST, 0), (SECOND, 0)], [(FIRST, 1), (SECOND, 1)]),
}  # fmt: skip
"""CDNA4 ISA: odd rows of the first operand change places with even rows of the second."""


@pytest.mark.parametrize("name", SWAPS)
def test_swaps_exchange_odd_rows_with_even_rows(amd: ModelLibrary, name: str) -> None:
    width, first, second = SWAPS[name]
    arguments = [lanes(64, FIRST), lanes(64, SECOND), np.bool_(False), np.bool_(False)]
    call = amd.call_collective(f"amdgcn_{name}", arguments, PAIR, warp_size=64)
    assert call.findings == ()
    for position, rows in enumerate((first, second)):
        expected = [operand + width * row + lane for operand, row in rows for lane in range(width)]
        assert call.value[:, position].tolist() == expected


@pytest.mark.parametrize("name", SWAPS)
def test_exchanged_operands_of_a_swap_show(amd: ModelLibrary, name: str) -> None:
    """No lane gets the same two numbers, in whichever order: a kernel with them exchanged is wrong."""
    flags = [np.bool_(False), np.bool_(False)]
    symbol = f"amdgcn_{name}"
    right = amd.call_collective(symbol, [lanes(64, FIRST), lanes(64, SECOND), *flags], PAIR, warp_size=64)
    wrong = amd.call_collective(symbol, [lanes(64, SECOND), lanes(64, FIRST), *flags], PAIR, warp_size=64)
    assert not np.any(right.value == wrong.value)
    assert not np.array_equal(np.sort(right.value, axis=1), np.sort(wrong.value, axis=1))


@pytest.mark.parametrize("name", SWAPS)
def test_swapping_with_an_inactive_lane_is_reported(amd: ModelLibrary, name: str) -> None:
    arguments = [lanes(64, FIRST), lanes(64, SECOND), np.bool_(False), np.bool_(False)]
    active = 0x0000FFFF
    call = amd.call_collective(f"amdgcn_{name}", arguments, PAIR, warp_size=64, active=active)
    assert call.finding_kinds == ["INACTIVE_SOURCE"]
