"""NVIDIA's special registers (PTX ISA 9.2, chapter 10) and compile-time questions."""

import ctypes

import numpy as np
import pytest
from model_calls import Launch, Memory, ModelLibrary, address, aligned_zeros

LAUNCH = Launch(grid=(7, 5, 3), block=(10, 4, 2), workgroup=(6, 2, 1))
WARP, LANE = 1, 13
"""Thread 45 of a block of 10 × 4 × 2: x = 5, y = 0, z = 1."""

REGISTERS = {
    "tid_x": 5,
    "tid_y": 0,
    "tid_z": 1,
    "ntid_x": 10,
    "ntid_y": 4,
    "ntid_z": 2,
    "ctaid_x": 6,
    "ctaid_y": 2,
    "ctaid_z": 1,
    "nctaid_x": 7,
    "nctaid_y": 5,
    "nctaid_z": 3,
    "warpsize": 32,
    "warpid": 1,
    "laneid": 13,
    "lanemask_eq": 0x00002000,
    "lanemask_lt": 0x00001FFF,
    "lanemask_le": 0x00003FFF,
    "lanemask_gt": 0xFFFFC000,
    "lanemask_ge": 0xFFFFE000,
}


@pytest.mark.parametrize("register", REGISTERS)
def test_a_special_register(nvidia: ModelLibrary, register: str) -> None:
    call = nvidia.call_lane(f"nvvm_{register}", [], np.uint32, lane=LANE, warp=WARP, launch=LAUNCH)
    assert call.value == REGISTERS[register]
    assert call.findings == ()


@pytest.mark.parametrize(
    ("mask", "first", "last"),
    [
        ("eq", 0x00000001, 0x80000000),
        ("le", 0x00000001, 0xFFFFFFFF),
        ("lt", 0x00000000, 0x7FFFFFFF),
        ("ge", 0xFFFFFFFF, 0x80000000),
        ("gt", 0xFFFFFFFE, 0x00000000),
    ],
)
def test_masks_at_both_ends_of_the_warp(nvidia: ModelLibrary, mask: str, first: int, last: int) -> None:
    assert nvidia.call_lane(f"nvvm_lanemask_{mask}", [], np.uint32, lane=0).value == first
    assert nvidia.call_lane(f"nvvm_lanemask_{mask}", [], np.uint32, lane=31).value == last


def test_threads_of_a_block_are_numbered_x_first(nvidia: ModelLibrary) -> None:
    launch = Launch(block=(4, 3, 2))
    found = [
        tuple(
            int(nvidia.call_lane(f"nvvm_tid_{axis}", [], np.uint32, lane=lane, launch=launch).value)
            for axis in "xyz"
        )
        for lane in range(24)
    ]
    assert found == [(x, y, z) for z in range(2) for y in range(3) for x in range(4)]


def test_shared_addresses_are_told_apart(nvidia: ModelLibrary) -> None:
    shared, buffer = aligned_zeros(16, np.uint8), aligned_zeros(16, np.uint8)
    memory = [Memory(shared, shared=True), Memory(buffer)]
    assert nvidia.call_lane("nvvm_isspacep_shared", [address(shared)], np.uint8, memory=memory).value == 1
    assert nvidia.call_lane("nvvm_isspacep_shared", [address(buffer)], np.uint8, memory=memory).value == 0


@pytest.mark.parametrize(
    ("question", "answer", "findings"),
    [("__CUDA_FTZ", 0, []), ("__CUDA_PREC_SQRT", 1, []), ("__CUDA_ARCH", 0, ["UNSUPPORTED_OPERAND"])],
)
def test_reflection(nvidia: ModelLibrary, question: str, answer: int, findings: list[str]) -> None:
    text = ctypes.create_string_buffer(question.encode())
    call = nvidia.call_lane("nvvm_reflect", [np.uint64(ctypes.addressof(text))], np.uint32)
    assert call.value == answer
    assert call.finding_kinds == findings
