"""Intel's 1-D blocks (cl_intel_subgroups and its _char, _short, _long)."""

from collections.abc import Iterator

import numpy as np
import pytest
from intel_builtins import LANES, TYPES, call_mangled
from model_calls import Memory, address, aligned_zeros

from harness.emulator.models.intel.blocks import COMPONENTS
from harness.emulator.models.intel.mangling import vector

SUFFIXES = {"h": "_uc", "t": "_us", "j": "_ui", "m": "_ul"}
READ_UINT, WRITE_UINT = (
    "_Z29intel_sub_group_block_read_uiPU3AS1j",
    "_Z30intel_sub_group_block_write_uiPU3AS1jj",
)


def spellings(action: str, element: str, count: int, space: int) -> Iterator[str]:
    """Yield the names of a builtin: with and without `const`, and of uint without a suffix too."""
    for suffix in (SUFFIXES[element], "") if element == "j" else (SUFFIXES[element],):
        name = f"intel_sub_group_block_{action}{suffix}{count if count > 1 else ''}"
        for qualifier in ("K", "") if action == "read" else ("",):
            value = "" if action == "read" else vector(element, count)
            yield f"_Z{len(name)}{name}PU3AS{space}{qualifier}{element}{value}"


@pytest.mark.parametrize(
    ("element", "count"), [(element, count) for element, counts in COMPONENTS.items() for count in counts]
)
@pytest.mark.parametrize("space", [1, 3])
def test_blocks_component_by_component(intel, element, count, space):
    """Component i of lane l is element 16 i + l."""
    memory = aligned_zeros(LANES * count + 32, TYPES[element])
    limits = np.iinfo(memory.dtype)
    memory[...] = np.random.default_rng(3).integers(0, limits.max, memory.shape, memory.dtype)
    known, place = [Memory(memory, shared=space == 3)], address(memory[16:])
    held = memory[16 : 16 + LANES * count].reshape(count, LANES).T.copy()
    for name in spellings("read", element, count, space):
        call = call_mangled(intel, name, [place], np.dtype((memory.dtype, (count,))), memory=known)
        np.testing.assert_array_equal(call.value, held)
        assert call.findings == ()
    for name in spellings("write", element, count, space):
        expected = memory.copy()
        held ^= 0x55
        expected[16 : 16 + LANES * count] = held.T.ravel()
        call = call_mangled(intel, name, [place, held], memory=known)
        np.testing.assert_array_equal(memory, expected)
        assert call.findings == ()


def test_each_lane_answers_for_its_own_accesses(intel):
    """Shared memory watches for races between lanes."""
    memory = aligned_zeros(32, np.uint32)
    name, result = "_Z30intel_sub_group_block_read_ui2PU3AS3j", np.dtype((np.uint32, (2,)))
    call = call_mangled(intel, name, [address(memory)], result, memory=[Memory(memory, shared=True)])
    accesses = {
        (event.lane, event.address - memory.ctypes.data, event.bytes) for event in call.of_kind("access")
    }
    assert accesses == {(lane, 4 * (16 * i + lane), 4) for lane in range(LANES) for i in range(2)}


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("_Z29intel_sub_group_block_read_usPU3AS1t", 4),
        (READ_UINT, 4),
        ("_Z29intel_sub_group_block_read_ulPU3AS1m", 8),
        ("_Z29intel_sub_group_block_read_usPU3AS3t", 16),
        ("_Z30intel_sub_group_block_write_usPU3AS1tt", 16),
        ("_Z30intel_sub_group_block_write_uiPU3AS3jj", 16),
    ],
)
def test_alignment_of_blocks(intel, name, allowed):
    memory = aligned_zeros(1024, np.uint8)
    values = [np.uint64(0)] if "write" in name else []
    result = None if values else np.uint16
    for offset in (allowed, allowed // 2):
        call = call_mangled(intel, name, [address(memory, offset), *values], result, memory=[Memory(memory)])
        assert call.finding_kinds == ([] if offset == allowed else ["UNALIGNED"])


def test_the_end_of_the_buffer_does_not_clamp_blocks(intel):
    memory = aligned_zeros(12, np.uint32)
    call = call_mangled(intel, READ_UINT, [address(memory)], np.uint32, memory=[Memory(memory)])
    assert [(finding.kind, finding.lane) for finding in call.findings] == [
        ("OUT_OF_BOUNDS", lane) for lane in range(12, 16)
    ]
    assert call.of_kind("clamped") == []


def test_a_block_is_not_written_to_what_is_only_read(intel):
    memory = aligned_zeros(16, np.uint32)
    known = [Memory(memory, writable=False)]
    call = call_mangled(intel, WRITE_UINT, [address(memory), np.ones(LANES, np.uint32)], memory=known)
    assert call.finding_kinds == ["READ_ONLY"]
    assert not memory.any()


def test_all_lanes_must_name_the_same_address(intel):
    memory = aligned_zeros(64, np.uint32)
    addresses = np.repeat(address(memory), LANES)
    addresses[3] += np.uint64(16)
    call = call_mangled(intel, READ_UINT, [addresses], np.uint32, memory=[Memory(memory)])
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("REPLICATION", 3)]
    call = call_mangled(intel, READ_UINT, [addresses[0]], np.uint32, memory=[Memory(memory)], active=0xFFF0)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
