"""Which lane, workgroup and launch: LLVM's user guide for the AMDGPU back end; V_MBCNT of the manuals."""

import ctypes

import numpy as np
import pytest
from model_calls import Launch, ModelLibrary

WORKITEM = ("amdgcn_workitem_id_x", "amdgcn_workitem_id_y", "amdgcn_workitem_id_z")
WORKGROUP = ("amdgcn_workgroup_id_x", "amdgcn_workgroup_id_y", "amdgcn_workgroup_id_z")


def test_workitems_are_numbered_with_x_fastest(amd: ModelLibrary) -> None:
    launch = Launch(block=(8, 4, 6))
    for wave in range(3):
        for lane in (0, 1, 7, 8, 31, 32, 63):
            identity = [
                int(
                    amd.call_lane(
                        symbol, (), np.uint32, lane=lane, warp=wave, warp_size=64, launch=launch
                    ).value
                )
                for symbol in WORKITEM
            ]
            x, y, z = identity
            assert x < 8
            assert y < 4
            assert x + 8 * y + 32 * z == 64 * wave + lane


def test_workgroup_is_the_running_one(amd: ModelLibrary) -> None:
    launch = Launch(grid=(9, 9, 9), workgroup=(3, 5, 7))
    found = [int(amd.call_lane(symbol, (), np.uint32, launch=launch).value) for symbol in WORKGROUP]
    assert found == [3, 5, 7]


@pytest.mark.parametrize("size", [32, 64])
def test_wavefrontsize(amd: ModelLibrary, size: int) -> None:
    assert amd.call_lane("amdgcn_wavefrontsize", (), np.uint32, warp_size=size).value == size


def test_implicit_arguments_are_the_launchs(amd: ModelLibrary) -> None:
    arguments = bytes(range(1, 65))
    launch = Launch(implicit_arguments=arguments)
    pointer = int(amd.call_lane("amdgcn_implicitarg_ptr", (), np.uint64, launch=launch).value)
    assert ctypes.string_at(pointer, 64) == arguments


@pytest.mark.parametrize("size", [32, 64])
def test_mbcnt_numbers_the_lanes(amd: ModelLibrary, size: int) -> None:
    """The usual pair of calls, with all bits set."""
    everything = np.uint32(0xFFFFFFFF)
    for lane in range(size):
        low = amd.call_lane(
            "amdgcn_mbcnt_lo", [everything, np.uint32(0)], np.uint32, lane=lane, warp_size=size
        )
        high = amd.call_lane("amdgcn_mbcnt_hi", [everything, low.value], np.uint32, lane=lane, warp_size=size)
        assert high.value == lane


def test_mbcnt_counts_the_bits_of_lanes_below(amd: ModelLibrary) -> None:
    mask = 0b1011_0001_0000_0000_0000_0000_1110_0101
    for lane in range(64):
        low = amd.call_lane(
            "amdgcn_mbcnt_lo", [np.uint32(mask), np.uint32(5)], np.uint32, lane=lane, warp_size=64
        )
        high = amd.call_lane(
            "amdgcn_mbcnt_hi", [np.uint32(mask), np.uint32(5)], np.uint32, lane=lane, warp_size=64
        )
        bits = [mask >> bit & 1 for bit in range(32)]
        assert low.value == 5 + sum(bits[: min(lane, 32)])
        assert high.value == 5 + sum(bits[: max(lane - 32, 0)])
