"""Shuffles, permutations and broadcasts of NVIDIA and Intel: which lane each lane reads.

Sources: PTX ISA 9.2, section 9.7.9 (shfl.sync), and CUDA's shuffles by width; cl_khr_subgroup_shuffle, its
_relative, and cl_intel_subgroups.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intel_builtins import LANES, TYPES, call

from harness.emulator.models.intel.mangling import vector

FULL = np.uint32(0xFFFFFFFF)
POISON = 0xFFFFFFFF
WITH_PREDICATE = np.dtype([("value", np.uint32), ("in_range", np.uint8), ("padding", np.uint8, 3)])
HALVES = np.where(np.arange(32) < 16, 0x0000FFFF, 0xFFFF0000).astype(np.uint32)
"""Two groups of lanes, each with a mask of its own."""

# ------------------------------------------------------------------ NVIDIA


def shuffle(nvidia, mode, b, c, mask=FULL, **options):
    """Shuffle the values 1000 + lane, with predicates."""
    arguments = [mask, np.arange(1000, 1032, dtype=np.uint32), b, c]
    return nvidia.call_collective(f"nvvm_shfl_sync_{mode}_p", arguments, WITH_PREDICATE, **options)


def control(mode: str, width: int) -> np.uint32:
    """Return operand c for segments of `width` lanes, as CUDA's intrinsics build it."""
    return np.uint32((32 - width) << 8 | (0 if mode == "up" else 0x1F))


def source_in_isa(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Return the source lane and the predicate p, as the ISA's pseudocode computes them."""
    bval, cval, mask = b & 0x1F, c & 0x1F, (c >> 8) & 0x1F
    max_lane = (lane & mask) | (cval & ~mask & 0x1F)
    j = {
        "up": lane - bval,
        "down": lane + bval,
        "bfly": lane ^ bval,
        "idx": lane & mask | (bval & ~mask & 0x1F),
    }[mode]
    p = j >= max_lane if mode == "up" else j <= max_lane
    return (j if p else lane), p


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles_follow_the_isas_pseudocode(nvidia, mode):
    random = np.random.default_rng(0)
    for _ in range(40):
        b, c = random.integers(0, 64, 32, np.uint32), random.integers(0, 1 << 13, 32, np.uint32)
        found = shuffle(nvidia, mode, b, c)
        expected = [source_in_isa(mode, lane, int(b[lane]), int(c[lane])) for lane in range(32)]
        assert [(int(row["value"]) - 1000, bool(row["in_range"])) for row in found.value] == expected
        assert found.findings == ()
    values = np.array([np.nan, -0.0, 1e-45, *range(29)], np.float32).view(np.uint32)
    alone = nvidia.call_collective(f"nvvm_shfl_sync_{mode}", [FULL, values, b, c], np.uint32).value
    np.testing.assert_array_equal(alone, values[[source for source, _ in expected]])


@pytest.mark.parametrize(
    ("mode", "b", "width", "sources"),
    [
        # of the first segment, and of the second's first lane
        ("up", 1, 32, [0, 0, 1, 2, 3, 4, 5, 6, 7]),
        ("up", 2, 8, [0, 1, 0, 1, 2, 3, 4, 5, 8]),
        ("down", 1, 8, [1, 2, 3, 4, 5, 6, 7, 7, 9]),
        ("down", 4, 8, [4, 5, 6, 7, 4, 5, 6, 7, 12]),
        ("bfly", 1, 32, [1, 0, 3, 2, 5, 4, 7, 6, 9]),
        ("bfly", 4, 8, [4, 5, 6, 7, 0, 1, 2, 3, 12]),
        ("idx", 3, 8, [3, 3, 3, 3, 3, 3, 3, 3, 11]),
        ("idx", 11, 8, [3, 3, 3, 3, 3, 3, 3, 3, 11]),
    ],
)
def test_shuffles_stay_within_segments_of_a_width(nvidia, mode, b, width, sources):
    found = shuffle(nvidia, mode, np.uint32(b), control(mode, width))
    assert list(found.value["value"][:9] - 1000) == sources


OWN_MASKS = np.full(32, 0xFFFFFFFF, np.uint32)
OWN_MASKS[7] = 0x00000080
MASKS = {
    # b, mask, active lanes, kinds and lanes of findings
    "two groups meet": (("bfly", 8), HALVES, None, [], []),
    "half a warp alone": (("bfly", 1), 0xFFFF, 0xFFFF, [], []),
    "a source that takes no part": (("bfly", 16), 0xFFFF, 0xFFFF, ["INACTIVE_SOURCE"], range(16)),
    "a source outside of the mask": (("idx", 0), HALVES, None, ["INACTIVE_SOURCE"], range(16, 32)),
    "a full mask in divergent lanes": (("bfly", 1), 0xFFFFFFFF, 0xFFFF, ["DIVERGENT_COLLECTIVE"], None),
    "a lane outside of its own mask": (("idx", 1), 0xFFFFFFFE, None, ["MEMBER_MASK"], [0]),
    "members with another mask": (("idx", np.arange(32)), OWN_MASKS, None, ["MEMBER_MASK"], None),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_shuffles_are_checked(nvidia, name):
    (mode, b), mask, active, kinds, lanes = MASKS[name]
    operands = [np.asarray(operand, np.uint32)[()] for operand in (b, mask)]
    found = shuffle(nvidia, mode, operands[0], control(mode, 32), operands[1], active=active)
    assert found.finding_kinds == kinds
    if lanes is not None:
        assert [finding.lane for finding in found.findings] == list(lanes)
    if kinds == ["INACTIVE_SOURCE"]:
        assert (found.value["value"][list(lanes)] == POISON).all()
    if not kinds:
        taking_part = np.arange(32 if active is None else 16)
        np.testing.assert_array_equal(found.value["value"][taking_part] - 1000, taking_part ^ b)
        assert (found.value["value"][len(taking_part) :] == 0xA5A5A5A5).all(), "others are left alone"


def test_shuffle_masks_may_name_lanes_that_do_not_exist(nvidia):
    found = shuffle(nvidia, "bfly", np.uint32(1), control("bfly", 32), count=20)
    np.testing.assert_array_equal(found.value["value"] - 1000, np.arange(20) ^ 1)
    assert found.findings == ()


# ------------------------------------------------------------------ Intel

LANE = np.arange(LANES)


def values(element: str, width: int = 1, seed: int = 0) -> np.ndarray:
    """Return different values in all lanes, [lanes, width]."""
    kind = np.dtype(TYPES[element])
    random = np.random.default_rng(seed).integers(0, 256, (LANES, width * kind.itemsize), np.uint8)
    random[:, 0] = LANE + seed * LANES
    return random.view(kind)


def assert_moved(found, expected: np.ndarray) -> None:
    assert found.value.tobytes() == expected.tobytes()
    assert found.findings == ()


@pytest.mark.parametrize("element", TYPES)
@settings(max_examples=20)
@given(index=st.lists(st.integers(0, LANES - 1), min_size=LANES, max_size=LANES))
def test_intels_shuffles(intel, element, index):
    data, lanes = values(element), np.array(index, np.uint32)
    for prefix in ("", "intel_"):
        operands = [data, lanes]
        assert_moved(
            call(intel, f"{prefix}sub_group_shuffle", [element, "j"], operands, data.dtype), data[index]
        )
        operands = [data, np.uint32(index[0])]
        found = call(intel, f"{prefix}sub_group_shuffle_xor", [element, "j"], operands, data.dtype)
        assert_moved(found, data[LANE ^ index[0]])
    found = call(intel, "sub_group_broadcast", [element, "j"], [data, np.uint32(index[0])], data.dtype)
    assert_moved(found, np.repeat(data[index[0]], LANES))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("direction", "sign"), [("up", -1), ("down", 1)])
def test_relative_shuffles_are_undefined_beyond_the_ends(intel, element, direction, sign):
    data = values(element)
    for delta in (0, 1, 5, 15, 16, 2**32 - 1):
        operands = [data, np.uint32(delta)]
        found = call(intel, f"sub_group_shuffle_{direction}", [element, "j"], operands, data.dtype)
        sources = [lane + sign * delta for lane in range(LANES)]
        undefined = b"\xff" * data.dtype.itemsize
        expected = [data[s].tobytes() if 0 <= s < LANES else undefined for s in sources]
        assert_moved(found, np.frombuffer(b"".join(expected), np.uint8))


@pytest.mark.parametrize(
    ("element", "width"), [("f", 1), ("f", 8), ("i", 3), ("j", 16), ("s", 8), ("Dh", 1), ("m", 1)]
)
def test_intels_own_shuffles_continue_into_a_second_value(intel, element, width):
    first, second = values(element, width), values(element, width, seed=1)
    both, kind = np.concatenate([first, second]), vector(element, width)
    result = np.dtype((first.dtype, (width,)))
    for delta in range(LANES + 1):
        for direction, start in (("down", delta), ("up", LANES - delta)):
            operands = [first, second, np.uint32(delta)]
            found = call(intel, f"intel_sub_group_shuffle_{direction}", [kind, kind, "j"], operands, result)
            assert_moved(found, both[start : start + LANES])


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
def test_vectors_travel_whole(intel, width):
    data, index = values("f", width), np.roll(LANE, 3).astype(np.uint32)
    types = [vector("f", width), "j"]
    found = call(intel, "intel_sub_group_shuffle", types, [data, index], np.dtype((np.float32, (width,))))
    assert_moved(found, data[index])


@pytest.mark.parametrize(
    ("name", "source", "active", "kind", "count"),
    [
        ("sub_group_shuffle_xor", np.uint32(1), 0b1011, "INACTIVE_SOURCE", 1),
        ("sub_group_shuffle", np.uint32(16), None, "INACTIVE_SOURCE", LANES),
        ("sub_group_broadcast", LANE.astype(np.uint32) // 8, None, "REPLICATION", None),
        ("sub_group_broadcast", np.uint32(0), 0xFF, "DIVERGENT_COLLECTIVE", None),
    ],
)
def test_sources_that_do_not_exist_are_reported(intel, name, source, active, kind, count):
    data = values("f")
    found = call(intel, name, ["f", "j"], [data, source], np.float32, active=active)
    assert found.finding_kinds == [kind]
    assert count in (None, len(found.findings))
    if active == 0b1011:
        assert found.findings[0].lane == 3
        assert found.value[:2].tobytes() == data[[1, 0]].tobytes()
        assert np.isnan(found.value[3])
