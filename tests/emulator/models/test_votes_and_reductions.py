"""Votes, matches, elections, reductions and scans over the lanes of a warp, of all vendors.

Sources: PTX ISA 9.2, section 9.7.13; AMD's ISA manuals and LLVM's user guide for the AMDGPU back end;
cl_khr_subgroups, whose scans have the identities here.
"""

import numpy as np
import pytest
from intel_builtins import LANES, TYPES, call

FULL = np.uint32(0xFFFFFFFF)
HALVES = np.where(np.arange(32) < 16, 0x0000FFFF, 0xFFFF0000).astype(np.uint32)
"""Two groups of lanes that call together, each with a mask of its own."""
WITH_PREDICATE = np.dtype([("value", np.uint32), ("holds", np.uint8), ("padding", np.uint8, 3)])
CANONICAL_NAN = 0x7FFFFFFF


def predicates(bits: int) -> np.ndarray:
    """Return i1 arguments, the low bit of a byte each."""
    return (bits >> np.arange(32) & 1).astype(np.uint8)


# ------------------------------------------------------------------ votes


@pytest.mark.parametrize(
    ("mode", "bits", "expected"),
    [
        ("all", 0xFFFFFFFF, (1, 1)),
        ("all", 0xFFFF7FFF, (0, 1)),
        ("any", 0x00000000, (0, 0)),
        ("any", 0x80000000, (0, 1)),
        ("uni", 0x0000FFFF, (1, 1)),
        ("uni", 0x0000FFFE, (0, 1)),
        ("ballot", 0x80F0000D, (0x0000000D, 0x80F00000)),
    ],
)
def test_nvidias_votes_of_two_groups(nvidia, mode, bits, expected):
    result = np.uint32 if mode == "ballot" else np.uint8
    found = nvidia.call_collective(f"nvvm_vote_{mode}_sync", [HALVES, predicates(bits)], result)
    assert (set(found.value[:16]), set(found.value[16:])) == ({expected[0]}, {expected[1]})
    assert found.findings == ()


def test_lanes_that_are_elsewhere_cannot_vote(nvidia):
    arguments = [FULL, predicates(0xFFFFFFFF)]
    found = nvidia.call_collective("nvvm_vote_ballot_sync", arguments, np.uint32, active=0xFF)
    assert found.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert set(found.value[:8]) == {0xFF}
    active = nvidia.call_collective("nvvm_activemask", [], np.uint32, active=0x00F0F00F)
    assert {int(active.value[lane]) for lane in (0, 12, 20)} == {0x00F0F00F}


@pytest.mark.parametrize(
    ("symbol", "active", "result"),
    [
        ("amdgcn_ballot_b64", 0x00FF_FFFF_FFFF_FF00, np.uint64),
        ("amdgcn_ballot_b32", 0x0000_0000_00FF_FFFF, np.uint32),
    ],
)
def test_amds_ballot_collects_the_active_lanes_votes(amd, symbol, active, result):
    size = 8 * np.dtype(result).itemsize
    votes = np.arange(size) % 3 == 0
    found = amd.call_collective(symbol, [votes], result, warp_size=size, active=active)
    taking_part = [lane for lane in range(size) if active >> lane & 1]
    assert set(found.value[taking_part].tolist()) == {sum(1 << lane for lane in taking_part if votes[lane])}
    assert found.findings == ()


def test_a_ballot_of_64_lanes_in_32_bits_is_reported(amd):
    found = amd.call_collective("amdgcn_ballot_b32", [np.ones(64, bool)], np.uint32, warp_size=64)
    assert found.finding_kinds == ["UNSUPPORTED_OPERAND"]


@pytest.mark.parametrize("ones", [0, 1, 0x8000, 0xFFFE, 0xFFFF])
def test_intels_votes(intel, ones):
    votes = np.array([ones >> lane & 1 for lane in range(LANES)], np.int32) * 5
    for name, expected in (("sub_group_all", votes.all()), ("sub_group_any", votes.any())):
        found = call(intel, name, ["i"], [votes], np.int32).value
        assert set((found != 0).tolist()) == {bool(expected)}


@pytest.mark.parametrize(("bits", "dtype"), [(32, np.uint32), (64, np.uint64)])
def test_matches_within_groups(nvidia, bits, dtype):
    values = (np.arange(32) % 3).astype(dtype)
    if bits == 64:
        values[5] += 1 << 32
    found = nvidia.call_collective(f"nvvm_match_any_sync_i{bits}", [HALVES, values], np.uint32)
    same = (values[:, None] == values) & (HALVES[:, None] == HALVES)
    assert found.value.tolist() == (same * (1 << np.arange(32))).sum(axis=1).tolist()
    values = np.full(32, 7, dtype)
    values[20] = 8
    found = nvidia.call_collective(f"nvvm_match_all_sync_i{bits}p", [HALVES, values], WITH_PREDICATE)
    assert [(int(row["value"]), int(row["holds"])) for row in found.value[[0, 31]]] == [(0xFFFF, 1), (0, 0)]


@pytest.mark.parametrize("members", [0xFFFFFFFF, 0xF00])
def test_an_election_has_one_leader(nvidia, members):
    found = nvidia.call_collective("nvvm_elect_sync", [np.uint32(members)], WITH_PREDICATE, active=members)
    taking_part = [lane for lane in range(32) if members >> lane & 1]
    (leader,) = set(found.value["value"][taking_part].tolist())
    assert [lane for lane in taking_part if found.value["holds"][lane]] == [leader]
    assert found.findings == ()


# ------------------------------------------------------------------ reductions

REDUCTIONS = {
    "add": (np.add, np.uint32),
    "and": (np.bitwise_and, np.uint32),
    "or": (np.bitwise_or, np.uint32),
    "xor": (np.bitwise_xor, np.uint32),
    "min": (np.minimum, np.int32),
    "max": (np.maximum, np.int32),
    "umin": (np.minimum, np.uint32),
    "umax": (np.maximum, np.uint32),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_nvidias_reductions_of_integers(nvidia, name):
    function, dtype = REDUCTIONS[name]
    values = np.random.default_rng(0).integers(0, 1 << 32, 32, np.uint32) | np.uint32(0x00010000)
    found = nvidia.call_collective(f"nvvm_redux_sync_{name}", [values, HALVES], dtype)
    for half in (slice(0, 16), slice(16, 32)):
        assert set(found.value[half].tolist()) == {function.reduce(values.view(dtype)[half], dtype=dtype)}
    assert found.findings == ()


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
        ("fmin", [0.0, 1.0, 2.0], 0.0),
        ("fmax", [-np.inf, -np.inf, -1e38], -1e38),
        ("fmax", [np.nan, np.nan, np.nan], np.nan),
    ],
)
def test_nvidias_reductions_of_floats(nvidia, name, values, expected):
    operands = np.array([values[lane % 3] for lane in range(32)], np.float32)
    found = nvidia.call_collective(f"nvvm_redux_sync_{name}", [operands, FULL], np.uint32)
    bits = CANONICAL_NAN if np.isnan(expected) else int(np.float32(expected).view(np.uint32))
    assert set(found.value.tolist()) == {bits}


def test_a_reduction_of_floats_keeps_to_its_members(nvidia):
    operands = np.arange(32).astype(np.float32)
    found = nvidia.call_collective("nvvm_redux_sync_fmax", [operands, HALVES], np.float32)
    assert ([found.value[0], found.value[31]], found.findings) == ([15, 31], ())
    apart = nvidia.call_collective("nvvm_redux_sync_fmax", [operands, FULL], np.float32, active=0xFFFF)
    assert apart.finding_kinds == ["DIVERGENT_COLLECTIVE"]


@pytest.mark.parametrize(
    ("name", "function", "dtype"),
    [
        *((name, *REDUCTIONS[name]) for name in ("min", "max", "umin", "umax")),
        ("add", np.add, np.int32),
        *(("fadd", np.add, np.float32), ("fmin", np.fmin, np.float32), ("fmax", np.fmax, np.float32)),
    ],
)
@pytest.mark.parametrize("active", [0xFFFFFFFFFFFFFFFF, 0x0F0F_0000_FFFF_0102])
def test_amds_reductions_are_over_the_active_lanes(amd, name, function, dtype, active):
    signs = np.where(np.arange(64) % 3 == 0, -1, 1)
    numbers = (signs * (np.arange(64) * 37 % 101)).astype(dtype)
    if name in ("fmin", "fmax"):
        numbers[1] = np.nan  # loses against a number
    arguments = [numbers, np.int32(0)]
    found = amd.call_collective(f"amdgcn_wave_reduce_{name}", arguments, dtype, warp_size=64, active=active)
    chosen = [lane for lane in range(64) if active >> lane & 1]
    assert found.findings == ()
    assert np.all(found.value[chosen] == function.reduce(numbers[chosen]))


SCANNED = {"add": np.add, "min": np.minimum, "max": np.maximum}


def values(element: str) -> np.ndarray:
    """Return integers from the whole range, which sums wrap around in, or floats whose sums are exact."""
    random = np.random.default_rng(7)
    if np.issubdtype(TYPES[element], np.integer):
        limits = np.iinfo(TYPES[element])
        return random.integers(limits.min, limits.max, LANES, TYPES[element], endpoint=True)
    return (random.integers(-64, 64, LANES) / 8).astype(TYPES[element])


def identity(dtype: np.dtype, operation: str) -> float:
    if operation == "add":
        return 0
    if dtype.kind == "f":
        return np.inf if operation == "min" else -np.inf
    return getattr(np.iinfo(dtype), "max" if operation == "min" else "min")


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("operation", SCANNED)
def test_intels_reductions_and_scans(intel, element, operation):
    data = values(element)
    accumulated = SCANNED[operation].accumulate(data, dtype=data.dtype)
    running = np.concatenate([np.array([identity(data.dtype, operation)]).astype(data.dtype), accumulated])
    families = {
        "reduce": np.repeat(running[-1], LANES),
        "scan_inclusive": running[1:],
        "scan_exclusive": running[:-1],
    }
    prefixes = ("", "intel_") if element in ("c", "h", "s", "t") else ("",)
    for family, expected in families.items():
        for prefix in prefixes:
            name = f"{prefix}sub_group_{family}_{operation}"
            found = call(intel, name, [element], [data], data.dtype)
            np.testing.assert_array_equal(found.value, expected)
            assert found.findings == ()


def test_intels_partial_sums_are_rounded_to_the_type(intel):
    data = np.array([2048] + [1] * 15, np.float16)
    total = call(intel, "sub_group_reduce_add", ["Dh"], [data], np.float16)
    assert set(total.value.tolist()) == {2048.0}  # 2049 is a tie, which goes to the even neighbour


def test_intels_reductions_need_the_lanes_that_there_are(intel):
    data = np.arange(1, LANES + 1, dtype=np.int32)
    total = call(intel, "sub_group_reduce_add", ["i"], [data], np.int32, count=5)
    assert (total.value.tolist(), total.findings) == ([15] * 5, ())
    for name in ("sub_group_reduce_add", "sub_group_scan_inclusive_add"):
        missing = call(intel, name, ["i"], [data], np.int32, active=0xFFFE)
        assert missing.finding_kinds == ["DIVERGENT_COLLECTIVE"]
