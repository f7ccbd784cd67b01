"""Reductions and scans, against NumPy (cl_khr_subgroups; the identities are those of its scans)."""

from collections.abc import Callable

import numpy as np
import pytest
from intel_builtins import LANES, TYPES, call
from model_calls import ModelLibrary

OPERATIONS: dict[str, Callable[..., np.ndarray]] = {"add": np.add, "min": np.minimum, "max": np.maximum}
INTEGERS = [element for element in TYPES if np.issubdtype(TYPES[element], np.integer)]
FLOATS = [element for element in TYPES if element not in INTEGERS]


def values(element: str) -> np.ndarray:
    """Integers from the whole range, which sums wrap around in; floats whose sums are exact."""
    random = np.random.default_rng(7)
    if element in INTEGERS:
        limits = np.iinfo(TYPES[element])
        return random.integers(limits.min, limits.max, LANES, TYPES[element], endpoint=True)
    return (random.integers(-64, 64, LANES) / 8).astype(TYPES[element])


def identity(element: str, operation: str) -> float:
    if operation == "add":
        return 0
    if element in FLOATS:
        return np.inf if operation == "min" else -np.inf
    limits = np.iinfo(TYPES[element])
    return limits.max if operation == "min" else limits.min


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("family", ["reduce", "scan_inclusive", "scan_exclusive"])
def test_all_types(intel: ModelLibrary, element: str, operation: str, family: str) -> None:
    data = values(element)
    running = np.concatenate(
        [
            np.array([identity(element, operation)]).astype(data.dtype),
            OPERATIONS[operation].accumulate(data, dtype=data.dtype),
        ]
    )
    expected = {
        "reduce": np.repeat(running[-1], LANES),
        "scan_inclusive": running[1:],
        "scan_exclusive": running[:-1],
    }[family]
    combined = call(intel, f"sub_group_{family}_{operation}", [element], [data], data.dtype)
    np.testing.assert_array_equal(combined.value, expected)
    assert combined.findings == ()


def test_partial_sums_are_rounded_to_the_type(intel: ModelLibrary) -> None:
    data = np.array([2048] + [1] * 15, np.float16)
    total = call(intel, "sub_group_reduce_add", ["Dh"], [data], np.float16)
    assert set(total.value.tolist()) == {2048.0}  # 2049 is a tie, which goes to the even neighbour


def test_small_integers_have_intel_spellings(intel: ModelLibrary) -> None:
    data = values("t")
    total = call(intel, "intel_sub_group_reduce_max", ["t"], [data], np.uint16)
    assert set(total.value.tolist()) == {int(data.max())}


def test_a_partial_last_sub_group_reduces_what_is_there(intel: ModelLibrary) -> None:
    data = np.arange(1, LANES + 1, dtype=np.int32)
    total = call(intel, "sub_group_reduce_add", ["i"], [data], np.int32, count=5)
    assert total.value.tolist() == [15] * 5
    assert total.findings == ()


def test_missing_lanes_are_reported(intel: ModelLibrary) -> None:
    data = np.ones(LANES, np.float32)
    for name in ("sub_group_reduce_add", "sub_group_scan_inclusive_add"):
        assert call(intel, name, ["f"], [data], np.float32, active=0xFFFE).finding_kinds == [
            "DIVERGENT_COLLECTIVE"
        ]


@pytest.mark.parametrize("ones", [0, 1, 0x8000, 0xFFFE, 0xFFFF])
def test_votes(intel: ModelLibrary, ones: int) -> None:
    predicates = np.array([ones >> lane & 1 for lane in range(LANES)], np.int32) * 5
    every = call(intel, "sub_group_all", ["i"], [predicates], np.int32)
    some = call(intel, "sub_group_any", ["i"], [predicates], np.int32)
    assert set((every.value != 0).tolist()) == {bool(predicates.all())}
    assert set((some.value != 0).tolist()) == {bool(predicates.any())}
