"""Values that move between the lanes of AMD's waves: which lane each lane reads.

Sources: AMD Instinct MI300 ISA and RDNA3 ISA, "Data Parallel Processing (DPP)", the tables of DPP_CTRL;
DS_BPERMUTE_B32, DS_SWIZZLE_B32, V_PERMLANEX16_B32, V_READLANE_B32; AMD Instinct CDNA4 ISA,
V_PERMLANE16_SWAP_B32 and V_PERMLANE32_SWAP_B32; LLVM, "Syntax of AMDGPU Instruction Modifiers", for what a
generation has.  A row has 16 lanes; `None` is out of bounds.
"""

import numpy as np
import pytest

FAMILIES = ("gfx9", "gfx10")
OLD = 1000
ROW = list(range(16))
U32 = np.uint32
WIDE = np.dtype((np.uint32, 4))
TYPES = {"b16": np.float16, "b32": np.float32, "b64": np.float64, "b128": WIDE}
families = pytest.mark.parametrize("family", FAMILIES)
sizes = pytest.mark.parametrize("bits", ["b16", "b32", "b64"])


def lanes(count: int, first: int = 0) -> np.ndarray:
    """Return a different number for each lane."""
    return np.arange(first, first + count, dtype=U32)


def flags(*values: bool) -> list[np.bool_]:
    return [np.bool_(value) for value in values]


def in_groups(group: list) -> list:
    """Return the pattern of a few lanes for all of a wave."""
    size = len(group)
    return [None if place is None else first + place for first in range(0, 64, size) for place in group]


# ------------------------------------------------------------------ data parallel primitives

BOTH = {
    # quad_perm
    0xE4: in_groups([0, 1, 2, 3]),
    0xB1: in_groups([1, 0, 3, 2]),
    0x4E: in_groups([2, 3, 0, 1]),
    0x1B: in_groups([3, 2, 1, 0]),
    0x00: in_groups([0, 0, 0, 0]),
    # row_shl, row_shr, row_ror
    **{0x100 + n: in_groups([*ROW[n:], *[None] * n]) for n in range(1, 16)},
    **{0x110 + n: in_groups([*[None] * n, *ROW[: 16 - n]]) for n in range(1, 16)},
    **{0x120 + n: in_groups([*ROW[16 - n :], *ROW[: 16 - n]]) for n in range(1, 16)},
    # row_mirror, row_half_mirror, and row_newbcast, later row_share
    0x140: in_groups(ROW[::-1]),
    0x141: in_groups([7, 6, 5, 4, 3, 2, 1, 0]),
    **{0x150 + place: in_groups([place] * 16) for place in range(16)},
}
GFX9_ONLY = {
    # wave_shl, wave_rol, wave_shr, wave_ror, row_bcast:15, row_bcast:31
    0x130: [*range(1, 64), None],
    0x134: [*range(1, 64), 0],
    0x138: [None, *range(63)],
    0x13C: [63, *range(63)],
    0x142: [None] * 16 + [15] * 16 + [31] * 16 + [47] * 16,
    0x143: [None] * 32 + [31] * 32,
}
XMASK = {
    1: [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14],
    15: ROW[::-1],
    8: [*ROW[8:], *ROW[:8]],
    0: ROW,
}
GFX10_ONLY = {0x160 + mask: in_groups(row) for mask, row in XMASK.items()}
CONTROLS = {"gfx9": {**BOTH, **GFX9_ONLY}, "gfx10": {**BOTH, **GFX10_ONLY}}
RESERVED = {
    "gfx9": [0x100, 0x110, 0x120, 0x131, 0x144, *GFX10_ONLY],
    "gfx10": [0x100, 0x110, 0x120, 0x170, *GFX9_ONLY],
}


def update(amd, family, control, *, row_mask=0xF, bank_mask=0xF, bound_control=False, active=None, count=64):
    """Call update.dpp with the old value 1000 + lane and the value 1 + lane."""
    modifiers = [np.int32(control), np.int32(row_mask), np.int32(bank_mask), np.bool_(bound_control)]
    arguments = [lanes(count, OLD), lanes(count, 1), *modifiers]
    symbol = f"amdgcn_update_dpp_{family}_b32"
    return amd.call_collective(symbol, arguments, U32, warp_size=count, active=active)


@families
@pytest.mark.parametrize("bound_control", [False, True])
def test_dpp_reads_the_lanes_of_the_table(amd, family, bound_control):
    for control, sources in CONTROLS[family].items():
        call = update(amd, family, control, bound_control=bound_control)
        others = [0 if bound_control else OLD + lane for lane in range(64)]
        expected = [other if s is None else 1 + s for s, other in zip(sources, others, strict=True)]
        assert (call.value.tolist(), call.findings) == (expected, ()), f"dpp_ctrl {control:#x}"
    inactive = update(amd, family, 0xB1, bound_control=bound_control, active=0x5555555555555555)
    assert inactive.value[::2].tolist() == others[::2]
    assert inactive.findings == ()


@families
def test_dpp_controls_of_other_generations_are_reported(amd, family):
    for control in RESERVED[family]:
        assert update(amd, family, control).finding_kinds == ["UNSUPPORTED_OPERAND"], f"dpp_ctrl {control:#x}"


@families
def test_dpp_masks_choose_rows_and_banks(amd, family):
    """Row 1 is bit 1 of the row mask, lanes 4 to 7 of every row are bit 1 of the bank mask."""
    value = update(amd, family, 0x1B, row_mask=0b1010, bank_mask=0b0110, bound_control=True).value
    for lane in range(64):
        is_written = lane // 16 in (1, 3) and lane % 16 // 4 in (1, 2)
        assert value[lane] == (1 + (lane ^ 3) if is_written else OLD + lane)


def test_dpp_in_a_wave_of_32_lanes(amd):
    assert update(amd, "gfx10", 0x140, count=32).value.tolist() == [*range(16, 0, -1), *range(32, 16, -1)]


@families
@sizes
def test_dpp_moves_values_of_all_sizes_whole(amd, family, bits):
    numbers = (1 + np.arange(64) / 8).astype(TYPES[bits])
    modifiers = [np.int32(0x140), np.int32(0xF), np.int32(0xF), np.bool_(True)]
    arguments = [np.zeros_like(numbers), numbers, *modifiers]
    call = amd.call_collective(f"amdgcn_update_dpp_{family}_{bits}", arguments, numbers.dtype, warp_size=64)
    assert np.array_equal(call.value, numbers.reshape(4, 16)[:, ::-1].reshape(64))


# ------------------------------------------------------------------ ds.bpermute, ds.swizzle


@pytest.mark.parametrize(
    ("family", "addresses", "sources"),
    [
        ("gfx9", 4 * (lanes(64) * 7 % 64), lanes(64) * 7 % 64),
        (
            "gfx9",
            4 * lanes(64) + 3 + 256,
            lanes(64),
        ),  # parts of dwords count for nothing, and it wraps around
        ("gfx10", 4 * (lanes(64) + 1), (lanes(64) + 1) % 32 + lanes(64) // 32 * 32),  # within 32 lanes
    ],
)
def test_bpermute_pulls_from_byte_addresses(amd, family, addresses, sources):
    symbol = f"amdgcn_ds_bpermute_{family}"
    call = amd.call_collective(symbol, [addresses, lanes(64, 100)], U32, warp_size=64)
    assert np.array_equal(call.value, 100 + sources)
    assert call.findings == ()


@pytest.mark.parametrize(
    ("pattern", "group"),
    [
        # xor_mask << 10 | or_mask << 5 | and_mask, within 32 lanes
        (0x041F, [1, 0, 3, 2, 5, 4, 7, 6]),
        (0x1C1F, [7, 6, 5, 4, 3, 2, 1, 0]),
        (0x0018, [0] * 8),
        (0x007C, [3] * 4 + [7] * 4),
        (0x041E, [1, 1, 3, 3, 5, 5, 7, 7]),
        (0x0C7C, [0] * 4 + [4] * 4),
        (0x401F, [*range(16, 32), *range(16)]),
        # bit 15: two bits a lane, within four lanes
        (0x801B, [3, 2, 1, 0]),
        (0x8025, [1, 1, 2, 0]),
        # rotations and FFT
        (0xC000, None),
        (0xE000, None),
    ],
)
def test_swizzle_patterns(amd, pattern, group):
    call = amd.call_collective("amdgcn_ds_swizzle", [lanes(64), U32(pattern)], U32, warp_size=64)
    assert call.finding_kinds == ([] if group else ["UNSUPPORTED_OPERAND"])
    assert group is None or call.value.tolist() == in_groups(group)


# ------------------------------------------------------------------ permlanex16, swaps

LAST, REVERSED = (0xFFFFFFFF, 0xFFFFFFFF), (0x89ABCDEF, 0x01234567)
SELECTORS = {(0x76543210, 0xFEDCBA98): ROW, LAST: [15] * 16, REVERSED: ROW[::-1]}


@sizes
def test_selectors_name_lanes_of_the_other_row(amd, bits):
    numbers = (1 + np.arange(32) / 8).astype(TYPES[bits])
    rows = numbers.reshape(2, 16)[::-1]
    for (low, high), places in SELECTORS.items():
        arguments = [np.zeros_like(numbers), numbers, U32(low), U32(high), *flags(0, 0)]
        call = amd.call_collective(f"amdgcn_permlanex16_{bits}", arguments, numbers.dtype)
        assert np.array_equal(call.value, rows[:, places].reshape(32))
        assert call.findings == ()


@pytest.mark.parametrize(
    ("fetch_inactive", "bound_control", "expected", "kinds"),
    [(0, 0, [*range(100, 116)], []), (0, 1, [0] * 16, []), (1, 0, None, ["INACTIVE_SOURCE"])],
)
def test_permlanex16_of_an_inactive_row(amd, fetch_inactive, bound_control, expected, kinds):
    modifiers = [U32(LAST[0]), U32(LAST[1]), *flags(fetch_inactive, bound_control)]
    arguments = [lanes(32, 100), lanes(32), *modifiers]
    call = amd.call_collective("amdgcn_permlanex16_b32", arguments, U32, active=0x0000FFFF)
    assert call.finding_kinds == kinds
    assert expected is None or call.value[:16].tolist() == expected


FIRST, SECOND = 100, 200


@pytest.mark.parametrize("width", [16, 32])
def test_swaps_exchange_odd_rows_with_even_rows(amd, width):
    """CDNA4 ISA: odd rows of the first operand change places with even rows of the second."""
    arguments = [lanes(64, FIRST), lanes(64, SECOND), *flags(0, 0)]
    symbol, pair = f"amdgcn_permlane{width}_swap", np.dtype((U32, 2))
    call = amd.call_collective(symbol, arguments, pair, warp_size=64)
    rows = np.stack([lanes(64, FIRST), lanes(64, SECOND)]).reshape(2, -1, 2, width)
    assert call.value[:, 0].tolist() == rows[:, :, 0].swapaxes(0, 1).ravel().tolist()
    assert call.value[:, 1].tolist() == rows[:, :, 1].swapaxes(0, 1).ravel().tolist()
    assert call.findings == ()
    call = amd.call_collective(symbol, arguments, pair, warp_size=64, active=0x0000FFFF)
    assert call.finding_kinds == ["INACTIVE_SOURCE"]


# ------------------------------------------------------------------ readlane, readfirstlane

LATER_HALF = 0xFFFFFFFF00000000


def values(bits: str) -> np.ndarray:
    """Return a different value for each of 64 lanes."""
    return lanes(256).reshape(64, 4) if bits == "b128" else np.arange(100, 164).astype(TYPES[bits])


@pytest.mark.parametrize("bits", TYPES)
def test_all_lanes_get_the_value_of_one(amd, bits):
    options = {"warp_size": 64, "active": LATER_HALF}
    first = amd.call_collective(f"amdgcn_readfirstlane_{bits}", [values(bits)], TYPES[bits], **options)
    named = amd.call_collective(f"amdgcn_readlane_{bits}", [values(bits), U32(37)], TYPES[bits], **options)
    for call, lane in ((first, 32), (named, 37)):
        assert np.all(call.value[32:] == values(bits)[lane])
        assert call.findings == ()


@pytest.mark.parametrize(("bits", "word"), [("i32", U32), ("i64", np.uint64)])
def test_a_ballot_has_a_bit_of_each_lane_that_takes_part(amd, bits, word):
    votes = np.arange(64) % 3 == 0
    options = {} if bits == "i32" else {"warp_size": 64, "active": LATER_HALF}
    mask = 0xFFFFFFFF if bits == "i32" else LATER_HALF
    expected = sum(1 << lane for lane in range(0, 64, 3)) & mask
    call = amd.call_collective(
        f"amdgcn_ballot_{bits}", [votes[: 32 if bits == "i32" else 64]], word, **options
    )
    assert set(call.value[0 if bits == "i32" else 32 :].tolist()) == {expected}


def test_readlane_of_a_lane_beyond_the_wave_wraps_around(amd):
    assert np.all(amd.call_collective("amdgcn_readlane_b32", [lanes(32), U32(33)], U32).value == 1)


@pytest.mark.parametrize(
    ("symbol", "first", "findings"),
    [
        ("readlane_b32", [lanes(64), U32(3)], [("INACTIVE_SOURCE", 32)]),
        ("readlane_b32", [lanes(64), 40 + lanes(64) // 63], [("REPLICATION", 63)]),
        (
            "ds_bpermute_gfx9",
            [np.full(64, 4 * 9, U32), lanes(64, 1)],
            [("INACTIVE_SOURCE", lane) for lane in range(32, 64)],
        ),
    ],
)
def test_sources_that_take_no_part_are_reported(amd, symbol, first, findings):
    call = amd.call_collective(f"amdgcn_{symbol}", first, U32, warp_size=64, active=LATER_HALF)
    assert [(finding.kind, finding.lane) for finding in call.findings] == findings
    if findings[0][0] == "INACTIVE_SOURCE":
        assert np.all(call.value[32:] == (0 if "bpermute" in symbol else 0xFFFFFFFF))
