"""Shuffles of NVIDIA and Intel: which lane each lane reads.

Sources: PTX ISA 9.2, section 9.7.9 (shfl.sync), and CUDA's shuffles by width; cl_khr_subgroup_shuffle.
"""

import numpy as np
import pytest
from intel_builtins import LANES, TYPES, call

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


@pytest.mark.parametrize("element", TYPES)
def test_intels_shuffles(intel, element):
    kind = np.dtype(TYPES[element])
    random = np.random.default_rng(0)
    data = random.integers(0, 256, (LANES, kind.itemsize), np.uint8).view(kind)
    index = random.integers(0, LANES, LANES).astype(np.uint32)
    for name, operand, sources in (("", index, index), ("_xor", np.uint32(5), LANE ^ 5)):
        result = call(intel, f"sub_group_shuffle{name}", [element, "j"], [data, operand], kind)
        assert result.value.tobytes() == data[sources].tobytes()
        assert result.findings == ()


@pytest.mark.parametrize(
    ("name", "source", "active", "lanes"),
    [
        ("sub_group_shuffle_xor", np.uint32(1), 0b1011, [3]),
        ("sub_group_shuffle", np.uint32(16), None, list(range(LANES))),
    ],
)
def test_sources_that_do_not_exist_are_reported(intel, name, source, active, lanes):
    data = LANE.astype(np.float32)
    result = call(intel, name, ["f", "j"], [data, source], np.float32, active=active)
    assert [(finding.kind, finding.lane) for finding in result.findings] == [
        ("INACTIVE_SOURCE", lane) for lane in lanes
    ]
    assert np.isnan(result.value[lanes]).all()
    if active is not None:
        assert result.value[:2].tolist() == [1, 0]
