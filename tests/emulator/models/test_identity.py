"""Which lane, workgroup and launch: special registers, work-item functions, and questions of all vendors.

Sources: PTX ISA 9.2, chapter 10; LLVM's user guide for the AMDGPU back end; OpenCL C 3.0, "Work-Item
Functions".
"""

import ctypes

import numpy as np
import pytest
from intel_builtins import call
from model_calls import Launch

LAUNCH = Launch(grid=(7, 5, 3), block=(10, 4, 2), workgroup=(6, 2, 1))
WARP, LANE = 1, 13
"""Thread 45 of a block of 10 × 4 × 2, for warps of 32: x = 5, y = 0, z = 1."""
VALUES = {
    **{f"nvvm_tid_{axis}": value for axis, value in zip("xyz", (5, 0, 1), strict=True)},
    **{f"nvvm_ntid_{axis}": value for axis, value in zip("xyz", LAUNCH.block, strict=True)},
    **{f"nvvm_ctaid_{axis}": value for axis, value in zip("xyz", LAUNCH.workgroup, strict=True)},
    **{f"nvvm_nctaid_{axis}": value for axis, value in zip("xyz", LAUNCH.grid, strict=True)},
    "nvvm_warpsize": 32,
    "nvvm_laneid": 13,
    **{f"amdgcn_workitem_id_{axis}": value for axis, value in zip("xyz", (5, 0, 1), strict=True)},
    **{f"amdgcn_workgroup_id_{axis}": value for axis, value in zip("xyz", LAUNCH.workgroup, strict=True)},
    "amdgcn_wavefrontsize": 32,
}


@pytest.mark.parametrize("symbol", VALUES)
def test_registers_of_a_lane(models, symbol):
    library = models("nvidia" if symbol.startswith("nvvm") else "amd")
    found = library.call_lane(symbol, [], np.uint32, lane=LANE, warp=WARP, launch=LAUNCH)
    assert (found.value, found.findings) == (VALUES[symbol], ())


@pytest.mark.parametrize(
    ("vendor", "names", "size"), [("nvidia", "nvvm_tid_", 32), ("amd", "amdgcn_workitem_id_", 64)]
)
def test_threads_are_numbered_x_first(models, vendor, names, size):
    z, y, x = np.unravel_index(np.arange(80), LAUNCH.block[::-1])
    for axis, expected in zip("xyz", (x, y, z), strict=True):
        for thread in range(80):
            place = {"lane": thread % size, "warp": thread // size, "warp_size": size}
            found = models(vendor).call_lane(names + axis, [], np.uint32, launch=LAUNCH, **place)
            assert found.value == expected[thread]


# ------------------------------------------------------------------ NVIDIA's questions


@pytest.mark.parametrize(
    ("question", "answer", "findings"),
    [("__CUDA_FTZ", 0, []), ("__CUDA_PREC_SQRT", 1, []), ("__CUDA_ARCH", 0, ["UNSUPPORTED_OPERAND"])],
)
def test_reflection(nvidia, question, answer, findings):
    text = ctypes.create_string_buffer(question.encode())
    found = nvidia.call_lane("nvvm_reflect", [np.uint64(ctypes.addressof(text))], np.uint32)
    assert (found.value, found.finding_kinds) == (answer, findings)


# ------------------------------------------------------------------ AMD's questions


@pytest.mark.parametrize("size", [32, 64])
def test_mbcnt_counts_the_bits_of_lanes_below(amd, size):
    for mask, start in ((0xFFFFFFFF, 0), (0b1011_0001_0000_0000_0000_0000_1110_0101, 5)):
        bits = [mask >> bit & 1 for bit in range(32)]
        arguments = [np.uint32(mask), np.uint32(start)]
        for lane in range(size):
            place = {"lane": lane, "warp_size": size}
            low = amd.call_lane("amdgcn_mbcnt_lo", arguments, np.uint32, **place)
            high = amd.call_lane("amdgcn_mbcnt_hi", arguments, np.uint32, **place)
            assert low.value == start + sum(bits[: min(lane, 32)])
            assert high.value == start + sum(bits[: max(lane - 32, 0)])


@pytest.mark.parametrize("size", [32, 64])
def test_waves_of_a_workgroup_are_counted(amd, size):
    assert amd.call_lane("amdgcn_wave_id", [], np.uint32, lane=5, warp_size=size).value == 0


def test_bytes_of_two_registers_are_chosen_by_number(amd):
    arguments = [np.uint32(0x8899AABB), np.uint32(0x01234567)]
    for selector, expected in (
        (0x07060504, 0x8899AABB),
        (0x00030201, 0x67012345),
        (0x0C0D0B0A, 0x00FFFFFF),
        (0x09080004, 0x000067BB),
    ):
        given = [*arguments, np.uint32(selector)]
        assert amd.call_lane("amdgcn_perm", given, np.uint32).value == expected


def test_sizes_of_amds_launches(amd):
    arguments = bytes(range(1, 65))
    launch = Launch(implicit_arguments=arguments)
    pointer = int(amd.call_lane("amdgcn_implicitarg_ptr", (), np.uint64, launch=launch).value)
    assert ctypes.string_at(pointer, 64) == arguments
    for name, sizes in (("local_size", LAUNCH.block), ("num_groups", LAUNCH.grid)):
        symbol = f"amdgcn_ockl_get_{name}"
        found = [amd.call_lane(symbol, [np.uint32(n)], np.uint64, launch=LAUNCH) for n in range(4)]
        assert [int(call.value) for call in found[:3]] == list(sizes)
        assert found[3].finding_kinds == ["UNSUPPORTED_OPERAND"]


# ------------------------------------------------------------------ OpenCL's work-item functions

Z, Y, X = np.unravel_index(np.arange(80), LAUNCH.block[::-1])
GLOBAL = np.array([X + 6 * 10, Y + 2 * 4, Z + 1 * 2])


def of_each_thread(intel, builtin: str, *arguments: np.generic) -> list[int]:
    result = np.uint64 if arguments else np.uint32
    types = ["j"] if arguments else ["v"]
    places = [{"warp": thread // 16, "lane": thread % 16} for thread in range(80)]
    return [
        int(call(intel, builtin, types, arguments, result, launch=LAUNCH, **place).value) for place in places
    ]


@pytest.mark.parametrize("dimension", range(3))
def test_positions_of_work_items(intel, dimension):
    number = np.uint32(dimension)
    assert of_each_thread(intel, "get_local_id", number) == (X, Y, Z)[dimension].tolist()
    assert of_each_thread(intel, "get_global_id", number) == GLOBAL[dimension].tolist()


@pytest.mark.parametrize(
    ("builtin", "expected"),
    [
        ("get_sub_group_id", np.arange(80) // 16),
        ("get_sub_group_local_id", np.arange(80) % 16),
        ("get_sub_group_size", [16] * 80),
        ("get_max_sub_group_size", [16] * 80),
        ("get_num_sub_groups", [5] * 80),
    ],
)
def test_numbers_of_work_items(intel, builtin, expected):
    assert of_each_thread(intel, builtin) == list(expected)


@pytest.mark.parametrize(
    ("builtin", "values", "beyond"),
    [
        ("get_group_id", LAUNCH.workgroup, 0),
        ("get_local_size", LAUNCH.block, 1),
        ("get_num_groups", LAUNCH.grid, 1),
    ],
)
def test_sizes_of_launches(intel, builtin, values, beyond):
    for dimension, value in enumerate((*values, beyond)):
        assert call(intel, builtin, ["j"], [np.uint32(dimension)], np.uint64, launch=LAUNCH).value == value


def test_a_last_sub_group_that_is_not_full_counts(intel):
    assert call(intel, "get_num_sub_groups", ["v"], (), np.uint32, launch=Launch(block=(33, 1, 1))).value == 3
