"""Buffer pointers: offsets, range checks, and the intrinsics on buffer resources.

Sources: LLVM's user guide for the AMDGPU back end, address spaces 7 and 8; AMD Instinct MI300 ISA and RDNA3
ISA, range checking of buffers: a raw buffer is checked dword by dword, reads out of range give 0 and writes
are dropped.
"""

import ctypes

import numpy as np
import pytest
from model_calls import Memory, address

SIZES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16}
NONE = np.uint32(0)


@pytest.fixture
def content() -> np.ndarray:
    """64 different bytes, none of them 0."""
    return np.arange(1, 65, dtype=np.uint8)


def make_resource(amd, array, records, stride=0):
    arguments = [address(array), np.uint16(stride), np.uint32(records), np.uint32(0x31027000)]
    return amd.call_lane("amdgcn_make_buffer_rsrc", arguments, np.uint64)


def resource(amd, array, records, stride=0) -> int:
    call = make_resource(amd, array, records, stride)
    assert call.findings == ()
    return int(call.value)


def load(amd, pointer, bits, array, *, offset=0, scalar_offset=0):
    arguments = [np.uint64(pointer), np.int32(offset), np.int32(scalar_offset), NONE]
    result = np.dtype((np.uint8, SIZES[bits]))
    return amd.call_lane(f"amdgcn_raw_ptr_buffer_load_{bits}", arguments, result, memory=[Memory(array)])


def store(amd, pointer, count, array, *, offset=0, scalar_offset=0, writable=True):
    """Store so many bytes 0xEE."""
    arguments = [b"\xee" * count, np.uint64(pointer), np.int32(offset), np.int32(scalar_offset), NONE]
    memory = [Memory(array, writable=writable)]
    return amd.call_lane(f"amdgcn_raw_ptr_buffer_store_b{8 * count}", arguments, memory=memory)


# ------------------------------------------------------------------ in range


@pytest.mark.parametrize("bits", SIZES)
def test_loads_and_stores_of_all_sizes(amd, content, bits):
    pointer, size, expected = resource(amd, content, 64), SIZES[bits], content.copy()
    call = load(amd, pointer, bits, content, offset=16, scalar_offset=4)
    assert call.value.tolist() == content[20 : 20 + size].tolist()
    (access,) = call.events
    assert (access.kind, access.address - content.ctypes.data, access.bytes) == ("access", 20, size)
    call = store(amd, pointer, size, content, offset=16, scalar_offset=4)
    expected[20 : 20 + size] = 0xEE
    assert np.array_equal(content, expected)
    assert [event.kind for event in call.events] == ["access"]


def test_each_resource_has_one_pointer_that_is_no_address(amd, content):
    """x86-64 has 47 bits for addresses, 56 with five levels of page tables."""
    pointer = resource(amd, content, 64)
    assert pointer == resource(amd, content, 64)
    assert len({pointer, resource(amd, content, 60), resource(amd, content[4:], 64)}) == 3
    assert pointer >> 57


@pytest.mark.parametrize(
    ("distance", "bits", "expected"),
    [
        (10, "b16", [11, 12]),
        *((5 + turns * 2**32, "b8", [6]) for turns in (-100, -1, 1, 100)),  # offsets have 32 bits
        (-4, "b32", [0] * 4),  # a negative offset is a large one
        (-4, "b64", [0] * 8),  # whose end does not wrap into the buffer
    ],
)
def test_offsets_are_added_to_the_pointer(amd, content, distance, bits, expected):
    call = load(amd, resource(amd, content, 64) + distance, bits, content)
    assert call.value.tolist() == expected
    assert call.findings == ()


# ------------------------------------------------------------------ out of range


@pytest.mark.parametrize(
    ("bits", "offset", "expected"),
    [
        ("b32", 36, [37, 38, 39, 40]),
        ("b32", 40, [0] * 4),
        ("b16", 39, [0, 0]),
        ("b8", 39, [40]),
        ("b64", 36, [37, 38, 39, 40] + [0] * 4),
        ("b128", 32, [*range(33, 41)] + [0] * 8),
        ("b96", 30, [*range(31, 39)] + [0] * 4),
        ("b128", 1000, [0] * 16),
    ],
)
def test_dwords_out_of_range_read_0(amd, content, bits, offset, expected):
    for scalar_offset in (0, 16):
        call = load(
            amd,
            resource(amd, content, 40),
            bits,
            content,
            offset=offset - scalar_offset,
            scalar_offset=scalar_offset,
        )
        assert call.findings == ()
        assert call.value.tolist() == expected
        assert len(call.of_kind("clamped")) == (1 if 0 in expected else 0)


def test_dwords_out_of_range_are_not_written(amd, content):
    expected = content.copy()
    expected[32:40] = 0xEE
    call = store(amd, resource(amd, content, 40), 16, content, offset=32)
    assert call.findings == ()
    assert np.array_equal(content, expected)
    assert [event.detail for event in call.of_kind("clamped")] == [1]


def test_an_empty_buffer_has_nothing_in_range(amd, content):
    assert load(amd, resource(amd, content, 0), "b8", content).value.tolist() == [0]


# ------------------------------------------------------------------ findings


def test_a_resource_larger_than_its_buffer_does_not_hide_the_access(amd, content):
    call = load(amd, resource(amd, content, 64), "b32", content[:32], offset=32)
    assert call.finding_kinds == ["OUT_OF_BOUNDS"]
    assert call.value.tolist() == [0] * 4


def test_a_store_to_a_buffer_that_is_only_read_is_dropped(amd, content):
    expected = content.copy()
    call = store(amd, resource(amd, content, 64), 4, content, writable=False)
    assert call.finding_kinds == ["READ_ONLY"]
    assert np.array_equal(content, expected)


@pytest.mark.parametrize("pointer", [0, 0x1000, 2**63, 0x6FFF_FF80_0000_0000])
def test_what_is_no_buffer_pointer_is_reported(amd, content, pointer):
    call = load(amd, pointer, "b32", content)
    assert call.finding_kinds == ["OUT_OF_BOUNDS"]
    assert call.value.tolist() == [0] * 4
    assert store(amd, pointer, 4, content).finding_kinds == ["OUT_OF_BOUNDS"]


def test_only_strides_that_steer_the_cache_are_accepted(amd, content):
    pointer = resource(amd, content, 64, stride=0x4000 | 128)
    assert load(amd, pointer, "b32", content, offset=8).value.tolist() == [9, 10, 11, 12]
    assert make_resource(amd, content, 64, stride=0x8000 | 64).finding_kinds == ["UNSUPPORTED_OPERAND"]


def test_resources_of_long_ago_are_forgotten(amd, content):
    first, count = resource(amd, content, 64), 4096
    records = np.arange(100, 100 + count, dtype=np.uint32)
    columns = [
        np.full(count, address(content)),
        np.zeros(count, np.uint16),
        records,
        np.zeros(count, np.uint32),
    ]
    pointers = amd.map_lane("amdgcn_make_buffer_rsrc", columns, np.uint64)
    assert len(set(pointers.tolist())) == count
    assert load(amd, first, "b8", content).finding_kinds == ["OUT_OF_BOUNDS"]
    assert load(amd, int(pointers[0]), "b8", content).value.tolist() == [1]


def test_retargeted_kernels_load_and_store_through_the_runtime(amd, content):
    pointer = resource(amd, content, 40)
    load(amd, pointer, "b8", content)  # lane 0 is the current one, and knows the array
    destination = np.full(16, 0xEE, np.uint8)
    for function, distance, local in (
        ("buffer_load", 32, destination),
        ("buffer_store", 36, np.full(8, 0xDD, np.uint8)),
    ):
        addresses = (ctypes.c_void_p(pointer + distance), ctypes.c_void_p(local.ctypes.data))
        amd.loaded[function](*addresses, ctypes.c_uint64(local.nbytes), ctypes.c_int32(17))
    assert destination.tolist() == [*range(33, 41)] + [0] * 8
    assert content[36:44].tolist() == [0xDD] * 4 + [41, 42, 43, 44]
