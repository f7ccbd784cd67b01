"""DPP: which lane each control reads.

Sources: AMD Instinct MI300 ISA and RDNA3 ISA, "Data Parallel Processing (DPP)", the tables of DPP_CTRL; LLVM,
"Syntax of AMDGPU Instruction Modifiers", for what a generation has.  A row has 16 lanes; `None` is out of
bounds.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from model_calls import Call, ModelLibrary

Source = int | None
FAMILIES = ("gfx9", "gfx10")
OLD = 1000
ROW = list(range(16))


def in_rows(row: Sequence[Source]) -> list[Source]:
    """Return the pattern of one row for all four rows of a wave."""
    return [None if place is None else 16 * number + place for number in range(4) for place in row]


def in_groups(group: Sequence[int]) -> list[Source]:
    """Return the pattern of a few lanes for all of a wave."""
    size = len(group)
    return [first + place for first in range(0, 64, size) for place in group]


def shifted_left(amount: int) -> list[Source]:
    return in_rows([*ROW[amount:], *[None] * amount])


def shifted_right(amount: int) -> list[Source]:
    return in_rows([*[None] * amount, *ROW[: 16 - amount]])


def rotated_right(amount: int) -> list[Source]:
    return in_rows([*ROW[16 - amount :], *ROW[: 16 - amount]])


BOTH: dict[int, list[Source]] = {
    0xE4: in_groups([0, 1, 2, 3]),
    0xB1: in_groups([1, 0, 3, 2]),
    0x4E: in_groups([2, 3, 0, 1]),
    0x1B: in_groups([3, 2, 1, 0]),
    0x00: in_groups([0, 0, 0, 0]),
    **{0x100 + amount: shifted_left(amount) for amount in range(1, 16)},
    **{0x110 + amount: shifted_right(amount) for amount in range(1, 16)},
    **{0x120 + amount: rotated_right(amount) for amount in range(1, 16)},
    0x140: in_rows(ROW[::-1]),
    0x141: in_groups([7, 6, 5, 4, 3, 2, 1, 0]),
    **{0x150 + place: in_rows([place] * 16) for place in range(16)},
}
"""quad_perm, row_shl, row_shr, row_ror, row_mirror, row_half_mirror, and row_newbcast, later row_share."""

GFX9_ONLY: dict[int, list[Source]] = {
    0x130: [*range(1, 64), None],
    0x134: [*range(1, 64), 0],
    0x138: [None, *range(63)],
    0x13C: [63, *range(63)],
    0x142: [None] * 16 + [15] * 16 + [31] * 16 + [47] * 16,
    0x143: [None] * 32 + [31] * 32,
}
"""wave_shl, wave_rol, wave_shr, wave_ror, row_bcast:15, row_bcast:31."""

XOR = {
    1: [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14],
    15: ROW[::-1],
    8: [*ROW[8:], *ROW[:8]],
    0: ROW,
}
GFX10_ONLY: dict[int, list[Source]] = {0x160 + mask: in_rows(row) for mask, row in XOR.items()}
"""row_xmask."""

CONTROLS = {"gfx9": {**BOTH, **GFX9_ONLY}, "gfx10": {**BOTH, **GFX10_ONLY}}
RESERVED = {
    "gfx9": [0x100, 0x110, 0x120, 0x131, 0x144, *GFX10_ONLY],
    "gfx10": [0x100, 0x110, 0x120, 0x170, *GFX9_ONLY],
}


def update(
    amd: ModelLibrary,
    family: str,
    control: int,
    *,
    row_mask: int = 0xF,
    bank_mask: int = 0xF,
    bound_control: bool = False,
    active: int | None = None,
    count: int = 64,
) -> Call:
    """Call update.dpp with the old value 1000 + lane and the value 1 + lane."""
    operands = [np.arange(OLD, OLD + count, dtype=np.uint32), np.arange(1, 1 + count, dtype=np.uint32)]
    modifiers = [np.int32(control), np.int32(row_mask), np.int32(bank_mask), np.bool_(bound_control)]
    symbol = f"amdgcn_update_dpp_{family}_b32"
    return amd.call_collective(symbol, [*operands, *modifiers], np.uint32, warp_size=count, active=active)


def moved(sources: Sequence[Source], otherwise: Callable[[int], int]) -> list[int]:
    return [otherwise(lane) if source is None else 1 + source for lane, source in enumerate(sources)]


@pytest.mark.parametrize("family", FAMILIES)
def test_controls_read_the_lanes_of_the_table(amd: ModelLibrary, family: str) -> None:
    for control, sources in CONTROLS[family].items():
        call = update(amd, family, control)
        assert call.findings == (), f"dpp_ctrl {control:#x}"
        assert call.value.tolist() == moved(sources, lambda lane: OLD + lane), f"dpp_ctrl {control:#x}"


@pytest.mark.parametrize("family", FAMILIES)
def test_out_of_bounds_counts_as_0_with_bound_control(amd: ModelLibrary, family: str) -> None:
    for control, sources in CONTROLS[family].items():
        call = update(amd, family, control, bound_control=True)
        assert call.value.tolist() == moved(sources, lambda lane: 0), f"dpp_ctrl {control:#x}"


@pytest.mark.parametrize("family", FAMILIES)
def test_controls_of_other_generations_are_reported(amd: ModelLibrary, family: str) -> None:
    for control in RESERVED[family]:
        assert update(amd, family, control).finding_kinds == ["UNSUPPORTED_OPERAND"], f"dpp_ctrl {control:#x}"


@pytest.mark.parametrize("family", FAMILIES)
def test_masks_choose_rows_and_banks(amd: ModelLibrary, family: str) -> None:
    """Row 1 is bit 1 of the row mask, lanes 4 to 7 of every row are bit 1 of the bank mask."""
    value = update(amd, family, 0x1B, row_mask=0b1010, bank_mask=0b0110, bound_control=True).value
    for lane in range(64):
        is_written = lane // 16 in (1, 3) and lane % 16 // 4 in (1, 2)
        assert value[lane] == (1 + (lane ^ 3) if is_written else OLD + lane)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bound_control", [False, True])
def test_an_inactive_source_is_out_of_bounds(amd: ModelLibrary, family: str, bound_control: bool) -> None:
    active = 0x5555555555555555
    call = update(amd, family, 0xB1, bound_control=bound_control, active=active)
    assert call.findings == ()
    expected = [0 if bound_control else OLD + lane for lane in range(0, 64, 2)]
    assert call.value[::2].tolist() == expected


def test_a_wave_of_32_lanes(amd: ModelLibrary) -> None:
    value = update(amd, "gfx10", 0x140, count=32).value
    assert value.tolist() == [*range(16, 0, -1), *range(32, 16, -1)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("bits", "dtype"), [("b16", np.float16), ("b32", np.float32), ("b64", np.float64)], ids=["16", "32", "64"]
)
def test_values_of_all_sizes_move_whole(
    amd: ModelLibrary, family: str, bits: str, dtype: npt.DTypeLike
) -> None:
    numbers = (1 + np.arange(64) / 8).astype(dtype)
    modifiers = [np.int32(0x140), np.int32(0xF), np.int32(0xF), np.bool_(True)]
    symbol = f"amdgcn_update_dpp_{family}_{bits}"
    call = amd.call_collective(symbol, [np.zeros(64, dtype), numbers, *modifiers], dtype, warp_size=64)
    assert np.array_equal(call.value, numbers.reshape(4, 16)[:, ::-1].reshape(64))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("bits", "dtype"), [("b32", np.float32), ("b64", np.float64)], ids=["32", "64"])
def test_mov_has_no_old_value(amd: ModelLibrary, family: str, bits: str, dtype: npt.DTypeLike) -> None:
    numbers = (1 + np.arange(64)).astype(dtype)
    modifiers = [np.int32(0x111), np.int32(0xF), np.int32(0xF), np.bool_(False)]
    call = amd.call_collective(f"amdgcn_mov_dpp_{family}_{bits}", [numbers, *modifiers], dtype, warp_size=64)
    assert np.all(np.isnan(call.value[::16]))
    assert np.array_equal(np.delete(call.value, np.s_[::16]), np.delete(numbers - 1, np.s_[::16]))


def test_dpp8_selects_within_eight_lanes(amd: ModelLibrary) -> None:
    chosen = [7, 0, 6, 1, 5, 2, 4, 3]
    selectors = sum(lane << 3 * place for place, lane in enumerate(chosen))
    call = amd.call_collective(
        "amdgcn_mov_dpp8", [np.arange(32, dtype=np.uint32), np.uint32(selectors)], np.uint32
    )
    assert call.value.tolist() == in_groups(chosen)[:32]


def test_a_sum_over_64_lanes_as_compilers_write_it(amd: ModelLibrary) -> None:
    """The steps in which IREE reduces on gfx9: the total ends up in the last lane."""
    numbers = np.arange(1, 65, dtype=np.float32)
    total = numbers
    for control, row_mask in (
        (0xB1, 0xF),
        (0x4E, 0xF),
        (0x141, 0xF),
        (0x140, 0xF),
        (0x142, 0xA),
        (0x143, 0xF),
    ):
        old = np.zeros(64, np.float32)
        modifiers = [np.int32(control), np.int32(row_mask), np.int32(0xF), np.bool_(False)]
        arguments = [old, total, *modifiers]
        call = amd.call_collective("amdgcn_update_dpp_gfx9_b32", arguments, np.float32, warp_size=64)
        assert call.findings == ()
        total = total + call.value
    assert total[63] == numbers.sum()
