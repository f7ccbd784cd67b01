"""Values of one lane, votes and reductions.

Sources: AMD Instinct MI300 ISA and RDNA3 ISA, V_READFIRSTLANE_B32, V_READLANE_B32, V_WRITELANE_B32; LLVM's
user guide for the AMDGPU back end.
"""

import numpy as np
import pytest
from model_calls import ModelLibrary

TYPES = {"b16": np.float16, "b32": np.float32, "b64": np.float64, "b128": np.dtype((np.uint32, 4))}
LATER_HALF = 0xFFFFFFFF00000000


def values(bits: str) -> np.ndarray:
    """Return a different value for each of 64 lanes."""
    if bits == "b128":
        return np.arange(100, 356, dtype=np.uint32).reshape(64, 4)
    return np.arange(100, 164).astype(TYPES[bits])


@pytest.mark.parametrize("bits", TYPES)
def test_readfirstlane_gives_all_the_first_active_lanes_value(amd: ModelLibrary, bits: str) -> None:
    symbol = f"amdgcn_readfirstlane_{bits}"
    call = amd.call_collective(symbol, [values(bits)], TYPES[bits], warp_size=64, active=LATER_HALF)
    assert call.findings == ()
    assert np.array_equal(call.value[32:], np.broadcast_to(values(bits)[32], call.value[32:].shape))


@pytest.mark.parametrize("bits", TYPES)
def test_readlane_gives_all_the_named_lanes_value(amd: ModelLibrary, bits: str) -> None:
    call = amd.call_collective(
        f"amdgcn_readlane_{bits}", [values(bits), np.uint32(37)], TYPES[bits], warp_size=64
    )
    assert call.findings == ()
    assert np.array_equal(call.value, np.broadcast_to(values(bits)[37], call.value.shape))


def test_readlane_of_a_lane_beyond_the_wave_wraps_around(amd: ModelLibrary) -> None:
    lanes = np.arange(32, dtype=np.uint32)
    assert np.all(amd.call_collective("amdgcn_readlane_b32", [lanes, np.uint32(33)], np.uint32).value == 1)


def test_readlane_of_an_inactive_lane_is_reported(amd: ModelLibrary) -> None:
    arguments = [values("b32"), np.uint32(3)]
    call = amd.call_collective("amdgcn_readlane_b32", arguments, np.float32, warp_size=64, active=LATER_HALF)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("INACTIVE_SOURCE", 32)]
    assert np.all(np.isnan(call.value[32:]))


def test_readlane_with_different_lane_numbers_is_reported(amd: ModelLibrary) -> None:
    numbers = np.full(32, 4, np.uint32)
    numbers[9] = 5
    call = amd.call_collective("amdgcn_readlane_b32", [np.arange(32, dtype=np.uint32), numbers], np.uint32)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("REPLICATION", 9)]


@pytest.mark.parametrize("bits", ["b16", "b32", "b64"])
def test_writelane_changes_one_lane(amd: ModelLibrary, bits: str) -> None:
    new = np.full(64, 7).astype(TYPES[bits])
    call = amd.call_collective(
        f"amdgcn_writelane_{bits}", [new, np.uint32(41), values(bits)], TYPES[bits], warp_size=64
    )
    expected = values(bits)
    expected[41] = 7
    assert call.findings == ()
    assert np.array_equal(call.value, expected)


def test_ballot_collects_the_active_lanes_votes(amd: ModelLibrary) -> None:
    votes = np.arange(64) % 3 == 0
    active = 0x00FF_FFFF_FFFF_FF00
    call = amd.call_collective("amdgcn_ballot_b64", [votes], np.uint64, warp_size=64, active=active)
    expected = sum(1 << lane for lane in range(8, 56) if votes[lane])
    assert set(call.value[8:56].tolist()) == {expected}


def test_ballot_of_32_lanes(amd: ModelLibrary) -> None:
    votes = np.arange(32) % 5 == 1
    call = amd.call_collective("amdgcn_ballot_b32", [votes], np.uint32)
    assert call.findings == ()
    assert set(call.value.tolist()) == {sum(1 << lane for lane in range(32) if votes[lane])}


def test_ballot_of_64_lanes_in_32_bits_is_reported(amd: ModelLibrary) -> None:
    call = amd.call_collective("amdgcn_ballot_b32", [np.ones(64, bool)], np.uint32, warp_size=64)
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]


INTEGER_REDUCTIONS = {
    "add": (np.int32, np.add),
    "min": (np.int32, np.minimum),
    "max": (np.int32, np.maximum),
    "umin": (np.uint32, np.minimum),
    "umax": (np.uint32, np.maximum),
    "fadd": (np.float32, np.add),
    "fmin": (np.float32, np.fmin),
    "fmax": (np.float32, np.fmax),
}


@pytest.mark.parametrize("name", INTEGER_REDUCTIONS)
@pytest.mark.parametrize("active", [0xFFFFFFFFFFFFFFFF, 0x0F0F_0000_FFFF_0102])
def test_reductions_are_over_the_active_lanes(amd: ModelLibrary, name: str, active: int) -> None:
    dtype, function = INTEGER_REDUCTIONS[name]
    signs = np.where(np.arange(64) % 3 == 0, -1, 1)
    numbers = (signs * (np.arange(64) * 37 % 101)).astype(dtype)
    call = amd.call_collective(
        f"amdgcn_wave_reduce_{name}", [numbers, np.int32(0)], dtype, warp_size=64, active=active
    )
    chosen = [lane for lane in range(64) if active >> lane & 1]
    assert call.findings == ()
    assert np.all(call.value[chosen] == function.reduce(numbers[chosen]))


@pytest.mark.parametrize("name", ["fmin", "fmax"])
def test_a_nan_loses_against_a_number(amd: ModelLibrary, name: str) -> None:
    numbers = np.full(32, np.nan, np.float32)
    numbers[7] = 3
    call = amd.call_collective(f"amdgcn_wave_reduce_{name}", [numbers, np.int32(0)], np.float32)
    assert np.all(call.value == 3)
