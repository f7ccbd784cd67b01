"""Buffer pointers: offsets, range checks, and the intrinsics on buffer resources.

Sources: LLVM's user guide for the AMDGPU back end, address spaces 7 and 8; AMD Instinct MI300 ISA and RDNA3
ISA, range checking of buffers: a raw buffer is checked dword by dword, reads out of range give 0 and writes
are dropped.
"""

import ctypes

import numpy as np
import pytest
from model_calls import Argument, Call, Memory, ModelLibrary, address

SIZES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16}
NONE = np.uint32(0)
FLAGS = np.uint32(0x31027000)


def content() -> np.ndarray:
    """Return 64 different bytes, none of them 0."""
    return np.arange(1, 65, dtype=np.uint8)


def resource(amd: ModelLibrary, array: np.ndarray, records: int, stride: int = 0) -> int:
    arguments: list[Argument] = [address(array), np.uint16(stride), np.uint32(records), FLAGS]
    call = amd.call_lane("amdgcn_make_buffer_rsrc", arguments, np.uint64)
    assert call.findings == ()
    return int(call.value)


def load(
    amd: ModelLibrary, pointer: int, bits: str, memory: Memory, *, offset: int = 0, scalar_offset: int = 0
) -> Call:
    result = np.dtype((np.uint8, SIZES[bits]))
    arguments = [np.uint64(pointer), np.int32(offset), np.int32(scalar_offset), NONE]
    return amd.call_lane(f"amdgcn_raw_ptr_buffer_load_{bits}", arguments, result, memory=[memory])


def store(
    amd: ModelLibrary,
    pointer: int,
    value: np.ndarray,
    memory: Memory,
    *,
    offset: int = 0,
    scalar_offset: int = 0,
) -> Call:
    arguments = [value.tobytes(), np.uint64(pointer), np.int32(offset), np.int32(scalar_offset), NONE]
    return amd.call_lane(f"amdgcn_raw_ptr_buffer_store_b{8 * value.nbytes}", arguments, memory=[memory])


# ------------------------------------------------------------------ in range


@pytest.mark.parametrize("bits", SIZES)
def test_loads_of_all_sizes(amd: ModelLibrary, bits: str) -> None:
    array = content()
    call = load(amd, resource(amd, array, 64), bits, Memory(array), offset=16, scalar_offset=4)
    assert call.findings == ()
    assert call.of_kind("clamped") == []
    assert call.value.tolist() == array[20 : 20 + SIZES[bits]].tolist()
    assert [(event.address - array.ctypes.data, event.bytes) for event in call.of_kind("access")] == [
        (20, SIZES[bits])
    ]


@pytest.mark.parametrize("bits", SIZES)
def test_stores_of_all_sizes(amd: ModelLibrary, bits: str) -> None:
    array = content()
    expected = array.copy()
    value = np.full(SIZES[bits], 0xEE, np.uint8)
    call = store(amd, resource(amd, array, 64), value, Memory(array), offset=16, scalar_offset=4)
    expected[20 : 20 + SIZES[bits]] = 0xEE
    assert call.findings == ()
    assert call.of_kind("clamped") == []
    assert np.array_equal(array, expected)


def test_the_same_resource_has_one_pointer(amd: ModelLibrary) -> None:
    array = content()
    assert resource(amd, array, 64) == resource(amd, array, 64)
    assert resource(amd, array, 64) != resource(amd, array, 60)
    assert resource(amd, array, 64) != resource(amd, array[4:], 64)


def test_a_pointer_cannot_be_an_address_of_the_process(amd: ModelLibrary) -> None:
    """x86-64 has 47 bits for them, 56 with five levels of page tables."""
    assert resource(amd, content(), 64) >> 57


# ------------------------------------------------------------------ arithmetic on pointers


@pytest.mark.parametrize("step", [8, -2, -(2**31), 2**31 - 1])
def test_offsets_add_up_in_the_pointer(amd: ModelLibrary, step: int) -> None:
    array = content()
    pointer = resource(amd, array, 64)
    call = load(amd, pointer + step + (10 - step), "b16", Memory(array))
    assert call.value.tolist() == [11, 12]


@pytest.mark.parametrize("turns", [-100, -1, 1, 100])
def test_offsets_wrap_around_at_32_bits(amd: ModelLibrary, turns: int) -> None:
    array = content()
    call = load(amd, resource(amd, array, 64) + 5 + turns * 2**32, "b8", Memory(array))
    assert call.findings == ()
    assert call.value.tolist() == [6]


def test_a_negative_offset_is_a_large_one(amd: ModelLibrary) -> None:
    array = content()
    call = load(amd, resource(amd, array[32:], 32) - 4, "b32", Memory(array))
    assert call.value.tolist() == [0, 0, 0, 0]
    assert len(call.of_kind("clamped")) == 1


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
def test_dwords_out_of_range_read_0(amd: ModelLibrary, bits: str, offset: int, expected: list[int]) -> None:
    array = content()
    call = load(amd, resource(amd, array, 40), bits, Memory(array), offset=offset)
    assert call.findings == ()
    assert call.value.tolist() == expected
    assert len(call.of_kind("clamped")) == (1 if 0 in expected else 0)


def test_the_end_of_the_offsets_does_not_wrap_into_the_buffer(amd: ModelLibrary) -> None:
    array = content()
    call = load(amd, resource(amd, array, 64), "b64", Memory(array), offset=-4)
    assert call.value.tolist() == [0] * 8


def test_both_offsets_count_for_the_range(amd: ModelLibrary) -> None:
    array = content()
    call = load(amd, resource(amd, array, 40), "b32", Memory(array), offset=20, scalar_offset=20)
    assert call.value.tolist() == [0] * 4


def test_dwords_out_of_range_are_not_written(amd: ModelLibrary) -> None:
    array = content()
    expected = array.copy()
    expected[32:40] = 0xEE
    call = store(amd, resource(amd, array, 40), np.full(16, 0xEE, np.uint8), Memory(array), offset=32)
    assert call.findings == ()
    assert np.array_equal(array, expected)
    assert [event.detail for event in call.of_kind("clamped")] == [1]


def test_an_empty_buffer_has_nothing_in_range(amd: ModelLibrary) -> None:
    array = content()
    call = load(amd, resource(amd, array, 0), "b8", Memory(array))
    assert call.value.tolist() == [0]


# ------------------------------------------------------------------ findings


def test_a_resource_larger_than_its_buffer_does_not_hide_the_access(amd: ModelLibrary) -> None:
    array = content()
    pointer = resource(amd, array, 64)
    call = load(amd, pointer, "b32", Memory(array[:32]), offset=32)
    assert call.finding_kinds == ["OUT_OF_BOUNDS"]
    assert call.value.tolist() == [0] * 4


def test_a_store_to_a_buffer_that_is_only_read_is_dropped(amd: ModelLibrary) -> None:
    array = content()
    pointer = resource(amd, array, 64)
    call = store(amd, pointer, np.full(4, 0xEE, np.uint8), Memory(array, writable=False))
    assert call.finding_kinds == ["READ_ONLY"]
    assert np.array_equal(array, content())


@pytest.mark.parametrize("pointer", [0, 0x1000, 2**63, 0x6FFF_FF80_0000_0000])
def test_what_is_no_buffer_pointer_is_reported(amd: ModelLibrary, pointer: int) -> None:
    array = content()
    call = load(amd, pointer, "b32", Memory(array))
    assert call.finding_kinds == ["OUT_OF_BOUNDS"]
    assert call.value.tolist() == [0] * 4
    assert store(amd, pointer, np.zeros(4, np.uint8), Memory(array)).finding_kinds == ["OUT_OF_BOUNDS"]


def test_a_swizzled_buffer_is_reported(amd: ModelLibrary) -> None:
    arguments: list[Argument] = [address(content()), np.uint16(0x8000 | 64), np.uint32(64), FLAGS]
    call = amd.call_lane("amdgcn_make_buffer_rsrc", arguments, np.uint64)
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]


def test_a_stride_that_only_steers_the_cache_is_accepted(amd: ModelLibrary) -> None:
    array = content()
    pointer = resource(amd, array, 64, stride=0x4000 | 128)
    assert load(amd, pointer, "b32", Memory(array), offset=8).value.tolist() == [9, 10, 11, 12]


def test_resources_of_long_ago_are_forgotten(amd: ModelLibrary) -> None:
    array = content()
    first = resource(amd, array, 64)
    records = np.arange(100, 100 + 4096, dtype=np.uint32)
    count = len(records)
    columns = [np.full(count, address(array)), np.zeros(count, np.uint16), records, np.full(count, FLAGS)]
    pointers = amd.map_lane("amdgcn_make_buffer_rsrc", columns, np.uint64)
    assert len(set(pointers.tolist())) == count
    assert load(amd, first, "b8", Memory(array)).finding_kinds == ["OUT_OF_BOUNDS"]
    assert load(amd, int(pointers[0]), "b8", Memory(array)).value.tolist() == [1]


# ------------------------------------------------------------------ for the retargeted kernels


def test_buffer_load_and_buffer_store(amd: ModelLibrary) -> None:
    array = content()
    pointer = resource(amd, array, 40)
    load(amd, pointer, "b8", Memory(array))  # lane 0 is the current one, and knows the array
    destination = np.full(16, 0xEE, np.uint8)

    def access(function: str, buffer: int, local: np.ndarray) -> None:
        local_address = ctypes.c_void_p(local.ctypes.data)
        first, second = ctypes.c_void_p(buffer), local_address
        amd.loaded[function](first, second, ctypes.c_uint64(local.nbytes), ctypes.c_int32(17))

    access("buffer_load", pointer + 32, destination)
    assert destination.tolist() == [*range(33, 41)] + [0] * 8
    access("buffer_store", pointer + 36, np.full(8, 0xDD, np.uint8))
    assert array[36:44].tolist() == [0xDD] * 4 + [41, 42, 43, 44]
