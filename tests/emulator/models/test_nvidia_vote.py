"""NVIDIA's votes, matches, reductions and elections (PTX ISA 9.2, section 9.7.13)."""

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from model_calls import ModelLibrary

LANES = 32
FULL = np.uint32(0xFFFFFFFF)
HALVES = np.where(np.arange(LANES) < 16, 0x0000FFFF, 0xFFFF0000).astype(np.uint32)
"""Two groups of lanes that call together, each with a mask of its own."""
WITH_PREDICATE = np.dtype([("value", np.uint32), ("holds", np.uint8), ("padding", np.uint8, 3)])
CANONICAL_NAN = 0x7FFFFFFF


def predicates(bits: int) -> np.ndarray:
    """Return i1 arguments, the low bit of a byte each."""
    return (bits >> np.arange(LANES) & 1).astype(np.uint8)


def test_a_ballot_has_a_bit_for_each_lane(nvidia: ModelLibrary) -> None:
    call = nvidia.call_collective("nvvm_vote_ballot_sync", [FULL, predicates(0x80F0000D)], np.uint32)
    assert set(call.value) == {0x80F0000D}
    assert call.findings == ()


def test_a_ballot_counts_only_members(nvidia: ModelLibrary) -> None:
    call = nvidia.call_collective("nvvm_vote_ballot_sync", [HALVES, predicates(0x80F0000D)], np.uint32)
    assert [int(call.value[0]), int(call.value[31])] == [0x0000000D, 0x80F00000]


@pytest.mark.parametrize(
    ("mode", "bits", "expected"),
    [
        ("all", 0xFFFFFFFF, (1, 1)),
        ("all", 0xFFFF7FFF, (0, 1)),
        ("any", 0x00000000, (0, 0)),
        ("any", 0x80000000, (0, 1)),
        ("uni", 0x0000FFFF, (1, 1)),
        ("uni", 0x0000FFFE, (0, 1)),
    ],
)
def test_a_vote_of_two_groups(nvidia: ModelLibrary, mode: str, bits: int, expected: tuple[int, int]) -> None:
    call = nvidia.call_collective(f"nvvm_vote_{mode}_sync", [HALVES, predicates(bits)], np.uint8)
    assert set(call.value[:16]) == {expected[0]}
    assert set(call.value[16:]) == {expected[1]}
    assert call.findings == ()


def test_lanes_that_are_elsewhere_cannot_vote(nvidia: ModelLibrary) -> None:
    arguments = [FULL, predicates(0xFFFFFFFF)]
    call = nvidia.call_collective("nvvm_vote_ballot_sync", arguments, np.uint32, active=0xFF)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert set(call.value[:8]) == {0xFF}


def test_the_mask_of_active_lanes(nvidia: ModelLibrary) -> None:
    call = nvidia.call_collective("nvvm_activemask", [], np.uint32, active=0x00F0F00F)
    assert {int(call.value[lane]) for lane in (0, 12, 20)} == {0x00F0F00F}


@pytest.mark.parametrize(("element", "dtype"), [("i32", np.uint32), ("i64", np.uint64)])
def test_matching_any(nvidia: ModelLibrary, element: str, dtype: type) -> None:
    values = (np.arange(LANES) % 3).astype(dtype)
    if element == "i64":
        values[5] += 1 << 32
    call = nvidia.call_collective(f"nvvm_match_any_sync_{element}", [HALVES, values], np.uint32)
    group = np.arange(LANES) // 16
    expected = [
        sum(
            1 << other
            for other in range(LANES)
            if values[other] == values[lane] and group[other] == group[lane]
        )
        for lane in range(LANES)
    ]
    assert list(call.value) == expected
    assert call.findings == ()


@pytest.mark.parametrize(("element", "dtype"), [("i32", np.uint32), ("i64", np.uint64)])
def test_matching_all(nvidia: ModelLibrary, element: str, dtype: type) -> None:
    values = np.full(LANES, 7, dtype)
    values[20] = 8
    call = nvidia.call_collective(f"nvvm_match_all_sync_{element}p", [HALVES, values], WITH_PREDICATE)
    assert [(int(row["value"]), int(row["holds"])) for row in call.value[[0, 31]]] == [(0xFFFF, 1), (0, 0)]


INTEGER_REDUCTIONS: dict[str, tuple[Callable[[int, int], int], type]] = {
    "add": (lambda a, b: (a + b) & 0xFFFFFFFF, np.uint32),
    "and": (lambda a, b: a & b, np.uint32),
    "or": (lambda a, b: a | b, np.uint32),
    "xor": (lambda a, b: a ^ b, np.uint32),
    "min": (min, np.int32),
    "max": (max, np.int32),
    "umin": (min, np.uint32),
    "umax": (max, np.uint32),
}


@pytest.mark.parametrize("name", INTEGER_REDUCTIONS)
def test_a_reduction_of_integers(nvidia: ModelLibrary, name: str) -> None:
    combine, dtype = INTEGER_REDUCTIONS[name]
    values = np.random.default_rng(0).integers(0, 1 << 32, LANES, np.uint32) | np.uint32(0x00010000)
    call = nvidia.call_collective(f"nvvm_redux_sync_{name}", [values, HALVES], dtype)
    for half in (slice(0, 16), slice(16, 32)):
        expected = reduce(combine, values.view(dtype)[half].tolist())
        assert set(call.value[half].tolist()) == {expected}
    assert call.findings == ()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("fmax", [1, -7, 3], 3),
        ("fmin", [1, -7, 3], -7),
        ("fmax_abs", [1, -7, 3], 7),
        ("fmin_abs", [-1, -7, 3], 1),
        ("fmax", [np.nan, -7, -3], -3),
        ("fmin", [np.nan, -7, -3], -7),
        ("fmax_nan", [np.nan, -7, -3], np.nan),
        ("fmin_nan", [1, -7, np.nan], np.nan),
        ("fmax_abs_nan", [1, np.nan, 3], np.nan),
        ("fmin_abs_nan", [1, -2, 3], 1),
        ("fmax", [-0.0, 0.0, -0.0], 0.0),
        ("fmin", [0.0, -0.0, 0.0], -0.0),
        ("fmax", [0.0, 1.0, -1.0], 1.0),
        ("fmin", [0.0, 1.0, 2.0], 0.0),
        ("fmax", [-np.inf, -np.inf, -1e38], -1e38),
        ("fmax", [np.nan, np.nan, np.nan], np.nan),
    ],
)
def test_a_reduction_of_floats(nvidia: ModelLibrary, name: str, values: list[float], expected: float) -> None:
    operands = np.array([values[lane % 3] for lane in range(LANES)], np.float32)
    call = nvidia.call_collective(f"nvvm_redux_sync_{name}", [operands, FULL], np.uint32)
    bits = CANONICAL_NAN if np.isnan(expected) else int(np.float32(expected).view(np.uint32))
    assert set(call.value.tolist()) == {bits}


def test_a_reduction_of_floats_keeps_to_its_members(nvidia: ModelLibrary) -> None:
    operands = np.arange(LANES).astype(np.float32)
    call = nvidia.call_collective("nvvm_redux_sync_fmax", [operands, HALVES], np.float32)
    assert [call.value[0], call.value[31]] == [15, 31]
    assert call.findings == ()
    arguments = [operands, FULL]
    apart = nvidia.call_collective("nvvm_redux_sync_fmax", arguments, np.float32, active=0xFFFF)
    assert apart.finding_kinds == ["DIVERGENT_COLLECTIVE"]


def test_an_election_has_one_leader(nvidia: ModelLibrary) -> None:
    call = nvidia.call_collective("nvvm_elect_sync", [FULL], WITH_PREDICATE)
    assert len(set(call.value["value"])) == 1
    leader = int(call.value["value"][0])
    np.testing.assert_array_equal(call.value["holds"], np.arange(LANES) == leader)


def test_an_election_among_some_lanes(nvidia: ModelLibrary) -> None:
    call = nvidia.call_collective("nvvm_elect_sync", [np.uint32(0xF00)], WITH_PREDICATE, active=0xF00)
    leader = int(call.value["value"][8])
    assert 8 <= leader < 12
    assert [int(call.value["holds"][lane]) for lane in range(8, 12)].count(1) == 1
    assert call.findings == ()
