"""Shuffles, against indices as cl_khr_subgroup_shuffle, its _relative and cl_intel_subgroups define them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intel_builtins import LANES, TYPES, call
from model_calls import ModelLibrary

from harness.emulator.models.intel.mangling import vector

LANE = np.arange(LANES)
UNDEFINED = b"\xff"


def values(element: str, width: int = 1, seed: int = 0) -> np.ndarray:
    """Different values in all lanes, [lanes, width]."""
    kind = np.dtype(TYPES[element])
    random = np.random.default_rng(seed).integers(0, 256, (LANES, width * kind.itemsize), np.uint8)
    random[:, 0] = LANE + seed * LANES
    return random.view(kind)


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.tobytes() == right.tobytes()


indices = st.lists(st.integers(0, LANES - 1), min_size=LANES, max_size=LANES).map(
    lambda index: np.array(index, np.uint32)
)


@pytest.mark.parametrize("element", TYPES)
@settings(max_examples=20)
@given(index=indices)
def test_shuffle(intel: ModelLibrary, element: str, index: np.ndarray) -> None:
    data = values(element)
    for name in ("sub_group_shuffle", "intel_sub_group_shuffle"):
        shuffled = call(intel, name, [element, "j"], [data, index], data.dtype)
        assert same_bits(shuffled.value, data[index])
        assert shuffled.findings == ()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("mask", range(LANES))
def test_shuffle_xor(intel: ModelLibrary, element: str, mask: int) -> None:
    data = values(element)
    for name in ("sub_group_shuffle_xor", "intel_sub_group_shuffle_xor"):
        shuffled = call(intel, name, [element, "j"], [data, np.uint32(mask)], data.dtype)
        assert same_bits(shuffled.value, data[LANE ^ mask])
        assert shuffled.findings == ()


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("delta", [0, 1, 5, 15, 16, 2**32 - 1])
@pytest.mark.parametrize(("direction", "sign"), [("up", -1), ("down", 1)])
def test_relative_shuffles_are_undefined_beyond_the_ends(
    intel: ModelLibrary, element: str, delta: int, direction: str, sign: int
) -> None:
    data = values(element)
    shuffled = call(
        intel, f"sub_group_shuffle_{direction}", [element, "j"], [data, np.uint32(delta)], data.dtype
    )
    for lane in range(LANES):
        source = lane + sign * delta
        expected = data[source].tobytes() if 0 <= source < LANES else UNDEFINED * data.dtype.itemsize
        assert shuffled.value[lane].tobytes() == expected
    assert shuffled.findings == ()


@pytest.mark.parametrize(
    ("element", "width"), [("f", 1), ("f", 8), ("i", 3), ("j", 16), ("s", 8), ("Dh", 1), ("m", 1)]
)
@pytest.mark.parametrize("delta", range(LANES + 1))
def test_intel_shuffles_continue_into_a_second_value(
    intel: ModelLibrary, element: str, width: int, delta: int
) -> None:
    first, second = values(element, width), values(element, width, seed=1)
    both = np.concatenate([first, second])
    kind = vector(element, width)
    result = np.dtype((first.dtype, (width,)))
    for direction, start in (("down", delta), ("up", LANES - delta)):
        shuffled = call(
            intel,
            f"intel_sub_group_shuffle_{direction}",
            [kind, kind, "j"],
            [first, second, np.uint32(delta)],
            result,
        )
        assert same_bits(shuffled.value, both[start : start + LANES])
        assert shuffled.findings == ()


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
def test_vectors_travel_whole(intel: ModelLibrary, width: int) -> None:
    data, index = values("f", width), np.roll(LANE, 3).astype(np.uint32)
    shuffled = call(
        intel, "intel_sub_group_shuffle", [vector("f", width), "j"], [data, index], (np.float32, (width,))
    )
    assert same_bits(shuffled.value, data[index])


def test_a_lane_that_takes_no_part_gives_nothing(intel: ModelLibrary) -> None:
    data = values("f")
    shuffled = call(
        intel, "sub_group_shuffle_xor", ["f", "j"], [data, np.uint32(1)], np.float32, active=0b1011
    )
    assert [(finding.kind, finding.lane) for finding in shuffled.findings] == [("INACTIVE_SOURCE", 3)]
    assert same_bits(shuffled.value[:2], data[[1, 0]])
    assert np.isnan(shuffled.value[3])


def test_an_index_beyond_the_sub_group_is_reported(intel: ModelLibrary) -> None:
    data = values("i")
    shuffled = call(intel, "sub_group_shuffle", ["i", "j"], [data, np.uint32(16)], np.int32)
    assert shuffled.finding_kinds == ["INACTIVE_SOURCE"]
    assert len(shuffled.findings) == LANES


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("source", [0, 7, 15])
def test_broadcast(intel: ModelLibrary, element: str, source: int) -> None:
    data = values(element)
    name = "sub_group_broadcast"
    broadcast = call(intel, name, [element, "j"], [data, np.uint32(source)], data.dtype)
    assert same_bits(broadcast.value, np.repeat(data[source], LANES))
    assert broadcast.findings == ()


def test_a_broadcast_needs_one_source_and_all_lanes(intel: ModelLibrary) -> None:
    data = values("f")
    mixed = call(intel, "sub_group_broadcast", ["f", "j"], [data, LANE.astype(np.uint32) // 8], np.float32)
    assert mixed.finding_kinds == ["REPLICATION"]
    partial = call(intel, "sub_group_broadcast", ["f", "j"], [data, np.uint32(0)], np.float32, active=0xFF)
    assert partial.finding_kinds == ["DIVERGENT_COLLECTIVE"]
