"""NVIDIA's shfl.sync, against the pseudocode of PTX ISA 9.2, section 9.7.9, and CUDA's shuffles by width."""

import numpy as np
import pytest
from model_calls import Call, ModelLibrary

LANES = 32
FULL = np.uint32(0xFFFFFFFF)
POISON = 0xFFFFFFFF
MODES = ("up", "down", "bfly", "idx")
WITH_PREDICATE = np.dtype([("value", np.uint32), ("in_range", np.uint8), ("padding", np.uint8, 3)])

VALUES = np.arange(LANES, dtype=np.uint32) + 1000


def shuffle(
    library: ModelLibrary,
    mode: str,
    b: np.ndarray | np.uint32,
    c: np.ndarray | np.uint32,
    mask: np.ndarray | np.uint32 = FULL,
    active: int | None = None,
    count: int = LANES,
) -> Call:
    """Shuffle the values 1000 + lane, with predicates."""
    arguments = [mask, VALUES, b, c]
    return library.call_collective(
        f"nvvm_shfl_sync_{mode}_p", arguments, WITH_PREDICATE, active=active, count=count
    )


def source_in_isa(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Return the source lane and the predicate p, as the ISA's pseudocode computes them."""
    bval, cval, mask = b & 0x1F, c & 0x1F, (c >> 8) & 0x1F
    max_lane = (lane & mask) | (cval & ~mask & 0x1F)
    min_lane = lane & mask
    if mode == "up":
        j = lane - bval
        p = j >= max_lane
    elif mode == "down":
        j = lane + bval
        p = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        p = j <= max_lane
    else:
        j = min_lane | (bval & ~mask & 0x1F)
        p = j <= max_lane
    return (j if p else lane), p


def control(mode: str, width: int) -> np.uint32:
    """Return operand c for segments of `width` lanes, as CUDA's intrinsics build it."""
    return np.uint32((LANES - width) << 8 | (0 if mode == "up" else 0x1F))


BY_WIDTH = [
    # (mode, b, width, source lanes of the first segment and the second's first lane)
    ("up", 1, 32, [0, 0, 1, 2, 3, 4, 5, 6, 7]),
    ("up", 2, 8, [0, 1, 0, 1, 2, 3, 4, 5, 8]),
    ("down", 1, 8, [1, 2, 3, 4, 5, 6, 7, 7, 9]),
    ("down", 4, 8, [4, 5, 6, 7, 4, 5, 6, 7, 12]),
    ("bfly", 1, 32, [1, 0, 3, 2, 5, 4, 7, 6, 9]),
    ("bfly", 4, 8, [4, 5, 6, 7, 0, 1, 2, 3, 12]),
    ("idx", 3, 8, [3, 3, 3, 3, 3, 3, 3, 3, 11]),
    ("idx", 3, 32, [3] * 9),
    ("idx", 11, 8, [3, 3, 3, 3, 3, 3, 3, 3, 11]),
]


@pytest.mark.parametrize(("mode", "b", "width", "sources"), BY_WIDTH)
def test_segments_of_a_width(nvidia: ModelLibrary, mode: str, b: int, width: int, sources: list[int]) -> None:
    call = shuffle(nvidia, mode, np.uint32(b), control(mode, width))
    assert list(call.value["value"][:9] - 1000) == sources
    assert call.findings == ()


@pytest.mark.parametrize("mode", MODES)
def test_any_operands_of_any_lane(nvidia: ModelLibrary, mode: str) -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        b = random.integers(0, 64, LANES, np.uint32)
        c = random.integers(0, 1 << 13, LANES, np.uint32)
        call = shuffle(nvidia, mode, b, c)
        expected = [source_in_isa(mode, lane, int(b[lane]), int(c[lane])) for lane in range(LANES)]
        assert [(int(row["value"]) - 1000, bool(row["in_range"])) for row in call.value] == expected
        assert call.findings == ()


@pytest.mark.parametrize("mode", MODES)
def test_the_form_without_predicate_gives_the_same_values(nvidia: ModelLibrary, mode: str) -> None:
    arguments = [FULL, VALUES, np.uint32(5), control(mode, 16)]
    alone = nvidia.call_collective(f"nvvm_shfl_sync_{mode}", arguments, np.uint32).value
    np.testing.assert_array_equal(alone, shuffle(nvidia, mode, *arguments[2:]).value["value"])


def test_floats_keep_their_bits(nvidia: ModelLibrary) -> None:
    values = np.array([np.nan, -0.0, 1e-45, *range(29)], np.float32)
    arguments = [FULL, values, np.uint32(1), control("bfly", 32)]
    found = nvidia.call_collective("nvvm_shfl_sync_bfly", arguments, np.uint32).value
    np.testing.assert_array_equal(found, values.view(np.uint32)[np.arange(LANES) ^ 1])


def test_two_groups_may_meet_with_masks_of_their_own(nvidia: ModelLibrary) -> None:
    mask = np.where(np.arange(LANES) < 16, 0x0000FFFF, 0xFFFF0000).astype(np.uint32)
    call = shuffle(nvidia, "bfly", np.uint32(8), control("bfly", 32), mask)
    np.testing.assert_array_equal(call.value["value"] - 1000, np.arange(LANES) ^ 8)
    assert call.findings == ()


def test_half_a_warp_alone(nvidia: ModelLibrary) -> None:
    call = shuffle(nvidia, "bfly", np.uint32(1), control("bfly", 32), np.uint32(0xFFFF), active=0xFFFF)
    np.testing.assert_array_equal(call.value["value"][:16] - 1000, np.arange(16) ^ 1)
    assert call.findings == ()
    assert (call.value["value"][16:] == 0xA5A5A5A5).all(), "lanes that take no part are left alone"


def test_a_source_that_takes_no_part_is_found(nvidia: ModelLibrary) -> None:
    call = shuffle(nvidia, "bfly", np.uint32(16), control("bfly", 32), np.uint32(0xFFFF), active=0xFFFF)
    assert call.finding_kinds == ["INACTIVE_SOURCE"]
    assert [finding.lane for finding in call.findings] == list(range(16))
    assert (call.value["value"][:16] == POISON).all()


def test_a_source_outside_of_the_mask_is_found(nvidia: ModelLibrary) -> None:
    mask = np.where(np.arange(LANES) < 16, 0x0000FFFF, 0xFFFF0000).astype(np.uint32)
    call = shuffle(nvidia, "idx", np.uint32(0), control("idx", 32), mask)
    assert call.finding_kinds == ["INACTIVE_SOURCE"]
    assert [finding.lane for finding in call.findings] == list(range(16, 32))


def test_a_full_mask_in_divergent_lanes_is_found(nvidia: ModelLibrary) -> None:
    call = shuffle(nvidia, "bfly", np.uint32(1), control("bfly", 32), active=0x0000FFFF)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert "ffff0000" in call.findings[0].message


def test_a_lane_outside_of_its_own_mask_is_found(nvidia: ModelLibrary) -> None:
    call = shuffle(nvidia, "bfly", np.uint32(0), control("bfly", 32), np.uint32(0xFFFFFFFE))
    assert ("MEMBER_MASK", 0) in [(finding.kind, finding.lane) for finding in call.findings]


def test_members_with_another_mask_are_found(nvidia: ModelLibrary) -> None:
    mask = np.full(LANES, 0xFFFFFFFF, np.uint32)
    mask[7] = 0x00000080
    call = shuffle(nvidia, "idx", np.arange(LANES, dtype=np.uint32), control("idx", 32), mask)
    assert call.finding_kinds == ["MEMBER_MASK"]


def test_lanes_that_do_not_exist_may_be_named(nvidia: ModelLibrary) -> None:
    call = shuffle(nvidia, "bfly", np.uint32(1), control("bfly", 32), count=20)
    np.testing.assert_array_equal(call.value["value"] - 1000, np.arange(20) ^ 1)
    assert call.findings == ()
