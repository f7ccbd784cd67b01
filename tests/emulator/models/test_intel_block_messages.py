"""1-D blocks: component i of lane l is element 16 i + l (cl_intel_subgroups and its _char, _short, _long)."""

from collections.abc import Iterator

import numpy as np
import pytest
from intel_builtins import LANES, TYPES, call_mangled
from model_calls import Memory, ModelLibrary, address, aligned_zeros

from harness.emulator.models.intel.blocks import COMPONENTS
from harness.emulator.models.intel.mangling import vector

SUFFIXES = {"h": "_uc", "t": "_us", "j": "_ui", "m": "_ul"}
SHAPES = [(element, count) for element, counts in COMPONENTS.items() for count in counts]
shapes = pytest.mark.parametrize(("element", "count"), SHAPES)


def spellings(action: str, element: str, count: int, space: int) -> Iterator[str]:
    """Yield the names of a builtin: with and without `const`, and of uint without a suffix too."""
    for suffix in (SUFFIXES[element], "") if element == "j" else (SUFFIXES[element],):
        name = f"intel_sub_group_block_{action}{suffix}{count if count > 1 else ''}"
        for qualifier in ("K", "") if action == "read" else ("",):
            value = "" if action == "read" else vector(element, count)
            yield f"_Z{len(name)}{name}PU3AS{space}{qualifier}{element}{value}"


def filled(element: str, count: int) -> np.ndarray:
    memory = aligned_zeros(LANES * count + 32, TYPES[element])
    memory[...] = np.random.default_rng(3).integers(0, np.iinfo(memory.dtype).max, memory.shape, memory.dtype)
    return memory


@shapes
@pytest.mark.parametrize("space", [1, 3])
def test_reads(intel: ModelLibrary, element: str, count: int, space: int) -> None:
    memory = filled(element, count)
    result = np.dtype((memory.dtype, (count,)))
    start = 16
    expected = memory[start : start + LANES * count].reshape(count, LANES).T
    for name in spellings("read", element, count, space):
        made = call_mangled(
            intel, name, [address(memory[start:])], result, memory=[Memory(memory, shared=space == 3)]
        )
        np.testing.assert_array_equal(made.value, expected)
        assert made.findings == ()


@shapes
@pytest.mark.parametrize("space", [1, 3])
def test_writes(intel: ModelLibrary, element: str, count: int, space: int) -> None:
    for name in spellings("write", element, count, space):
        memory = filled(element, count)
        values = filled(element, count)[: LANES * count].reshape(LANES, count) ^ 0x55
        expected = memory.copy()
        expected[16 : 16 + LANES * count] = values.T.ravel()
        made = call_mangled(intel, name, [address(memory[16:]), values], memory=[Memory(memory)])
        np.testing.assert_array_equal(memory, expected)
        assert made.findings == ()


def test_each_lane_answers_for_its_own_accesses(intel: ModelLibrary) -> None:
    """Shared memory watches for races between lanes."""
    memory = filled("j", 2)
    made = call_mangled(
        intel, "_Z30intel_sub_group_block_read_ui2PU3AS3j", [address(memory)], np.dtype((np.uint32, (2,))),
        memory=[Memory(memory, shared=True)],
    )  # fmt: skip
    offsets = {
        (event.lane, event.address - memory.ctypes.data, event.bytes) for event in made.of_kind("access")
    }
    assert offsets == {(lane, 4 * (16 * i + lane), 4) for lane in range(LANES) for i in range(2)}


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("_Z29intel_sub_group_block_read_usPU3AS1t", 4),
        ("_Z29intel_sub_group_block_read_uiPU3AS1j", 4),
        ("_Z29intel_sub_group_block_read_ulPU3AS1m", 8),
        ("_Z29intel_sub_group_block_read_usPU3AS3t", 16),
        ("_Z30intel_sub_group_block_write_usPU3AS1tt", 16),
        ("_Z30intel_sub_group_block_write_uiPU3AS3jj", 16),
    ],
)
def test_alignment(intel: ModelLibrary, name: str, allowed: int) -> None:
    memory = aligned_zeros(1024, np.uint8)
    values = [np.uint64(0)] if "write" in name else []
    result = None if values else np.uint16
    for offset in (allowed, allowed // 2):
        made = call_mangled(intel, name, [address(memory, offset), *values], result, memory=[Memory(memory)])
        assert made.finding_kinds == ([] if offset == allowed else ["UNALIGNED"])


def test_the_end_of_the_buffer_does_not_clamp(intel: ModelLibrary) -> None:
    memory = aligned_zeros(12, np.uint32)
    made = call_mangled(
        intel,
        "_Z29intel_sub_group_block_read_uiPU3AS1j",
        [address(memory)],
        np.uint32,
        memory=[Memory(memory)],
    )
    assert [(finding.kind, finding.lane) for finding in made.findings] == [
        ("OUT_OF_BOUNDS", lane) for lane in range(12, 16)
    ]
    assert made.of_kind("clamped") == []


def test_a_write_to_what_is_only_read(intel: ModelLibrary) -> None:
    memory = filled("j", 1)
    before = memory.copy()
    values = np.zeros(LANES, np.uint32)
    made = call_mangled(
        intel,
        "_Z30intel_sub_group_block_write_uiPU3AS1jj",
        [address(memory), values],
        memory=[Memory(memory, writable=False)],
    )
    assert made.finding_kinds == ["READ_ONLY"]
    np.testing.assert_array_equal(memory, before)


def test_all_lanes_must_name_the_same_address(intel: ModelLibrary) -> None:
    memory = aligned_zeros(64, np.uint32)
    addresses = np.repeat(address(memory), LANES)
    addresses[3] += np.uint64(16)
    name = "_Z29intel_sub_group_block_read_uiPU3AS1j"
    made = call_mangled(intel, name, [addresses], np.uint32, memory=[Memory(memory)])
    assert [(finding.kind, finding.lane) for finding in made.findings] == [("REPLICATION", 3)]
    made = call_mangled(intel, name, [addresses[0]], np.uint32, memory=[Memory(memory)], active=0xFFF0)
    assert made.finding_kinds == ["DIVERGENT_COLLECTIVE"]
