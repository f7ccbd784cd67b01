"""Shared memory is watched byte by byte: accesses of all sizes, at all distances from one another."""

import numpy as np
import pytest
from snippets import DATA, loaded, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings
from harness.emulator.loading import LoadedKernel

SIZES = {
    "i8": 1,
    "i16": 2,
    "<3 x i8>": 3,
    "i32": 4,
    "<3 x half>": 6,
    "i64": 8,
    "<3 x i32>": 12,
    "<8 x i32>": 32,
}
START = 32
"""Where the wide access begins in shared memory."""

ARGUMENTS = f"{DATA}, i32 %position"

PLACES = f"""
  %wide = getelementptr i8, ptr addrspace(3) @shared, i32 {START}
  %narrow = getelementptr i8, ptr addrspace(3) @shared, i32 %position
  %is_first = icmp eq i32 %thread, 0
  %is_last = icmp eq i32 %thread, 32
"""

sizes = pytest.mark.parametrize("kind", SIZES)


def positions(kind: str) -> range:
    """Return the positions of bytes within the wide access and around it."""
    return range(START - 2, START + SIZES[kind] + 2)


def is_inside(kind: str, position: int) -> bool:
    return START <= position < START + SIZES[kind]


def kinds(kernel: LoadedKernel, position: int, order: int = FORWARD) -> set[FindingKind]:
    report, _ = run(kernel, scalars=[np.int32(position)], settings=LaunchSettings(orders=(order,)))
    return {finding.kind for finding in report.findings}


def assert_races_inside(kernel: LoadedKernel, kind: str) -> None:
    """Check that bytes within the wide access race, whichever warp comes first, and no others do."""
    for position in positions(kind):
        expected = {FindingKind.RACE} if is_inside(kind, position) else set()
        assert kinds(kernel, position, FORWARD) == expected
        assert kinds(kernel, position, REVERSED) == expected


def two_warps(first: str, second: str) -> LoadedKernel:
    """Return a kernel whose first warp does something, then the second; shared memory is initialised."""
    barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
    body = (
        f"  store i32 0, ptr addrspace(3) %own\n  {barrier}\n{PLACES}"
        "  br i1 %is_first, label %first, label %other\n"
        f"first:\n  {first}\n  ret void\n"
        "other:\n  br i1 %is_last, label %second, label %end\n"
        f"second:\n  {second}\n  ret void\nend:\n  ret void"
    )
    return loaded(threads(body, ARGUMENTS))


WIDE_LOAD = "%v = load {}, ptr addrspace(3) %wide, align 1"
NARROW_LOAD = "%v = load i8, ptr addrspace(3) %narrow"
WIDE_STORE = "store {} zeroinitializer, ptr addrspace(3) %wide, align 1"
NARROW_STORE = "store i8 1, ptr addrspace(3) %narrow"


@sizes
def test_a_load_and_the_store_of_a_byte_race_if_the_byte_was_loaded(kind: str) -> None:
    assert_races_inside(two_warps(WIDE_LOAD.format(kind), NARROW_STORE), kind)


@sizes
def test_a_store_and_the_load_of_a_byte_race_if_the_byte_was_stored(kind: str) -> None:
    assert_races_inside(two_warps(WIDE_STORE.format(kind), NARROW_LOAD), kind)


@sizes
def test_a_store_and_the_store_of_a_byte_race_if_both_store_it(kind: str) -> None:
    assert_races_inside(two_warps(WIDE_STORE.format(kind), NARROW_STORE), kind)


def one_thread(kind: str, before: str) -> LoadedKernel:
    """Return a kernel that writes 64 bytes but one, then loads."""
    body = (
        f"{PLACES}  br i1 %is_first, label %byte, label %end\n"
        "byte:\n  %i = phi i32 [ 0, %0 ], [ %after, %stored ]\n  %after = add i32 %i, 1\n"
        "  %is_left_out = icmp eq i32 %i, %position\n  br i1 %is_left_out, label %stored, label %store\n"
        "store:\n  %place = getelementptr i8, ptr addrspace(3) @shared, i32 %i\n"
        "  store i8 0, ptr addrspace(3) %place\n  br label %stored\n"
        f"stored:\n  %is_done = icmp eq i32 %after, 128\n  br i1 %is_done, label %load, label %byte\n"
        f"load:\n  {before}%v = load {kind}, ptr addrspace(3) %wide, align 1\n  ret void\nend:\n  ret void"
    )
    return loaded(threads(body, ARGUMENTS))


@sizes
def test_a_load_is_uninitialised_if_one_of_its_bytes_is(kind: str) -> None:
    kernel = one_thread(kind, "")
    for position in positions(kind):
        expected = {FindingKind.UNINITIALIZED} if is_inside(kind, position) else set()
        assert kinds(kernel, position) == expected


@pytest.mark.parametrize("kind", ["i8", "i32", "<8 x i32>"])
def test_a_load_is_in_flight_if_one_of_its_bytes_is(kind: str) -> None:
    copy = "@llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %narrow, ptr addrspace(1) %data)"
    body = (
        f"{PLACES}  store [32 x i32] zeroinitializer, ptr addrspace(3) @shared\n"
        f"  call void {copy}\n"
        f"  %v = load {kind}, ptr addrspace(3) %wide, align 1\n"
        "  call void @llvm.nvvm.cp.async.wait.all()"
    )
    kernel = loaded(threads(body, ARGUMENTS))
    for position in range(START - 8, START + SIZES[kind] + 8, 4):
        settings = LaunchSettings(orders=(0,))
        report, _ = run(kernel, block=1, scalars=[np.int32(position)], settings=settings)
        is_touched = START - 4 < position < START + SIZES[kind]
        expected = {FindingKind.IN_FLIGHT} if is_touched else set()
        assert {finding.kind for finding in report.findings} == expected


@sizes
def test_lanes_of_a_warp_race_byte_by_byte_too(kind: str) -> None:
    body = (
        f"  store i32 0, ptr addrspace(3) %own\n  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n{PLACES}"
        "  %is_second = icmp eq i32 %thread, 1\n  br i1 %is_first, label %load, label %other\n"
        f"load:\n  %v = load {kind}, ptr addrspace(3) %wide, align 1\n  ret void\n"
        "other:\n  br i1 %is_second, label %store, label %end\n"
        "store:\n  store i8 1, ptr addrspace(3) %narrow\n  ret void\nend:\n  ret void"
    )
    kernel = loaded(threads(body, ARGUMENTS))
    for position in positions(kind):
        settings = LaunchSettings(orders=(0,), checks_within_warps=True)
        report, _ = run(kernel, block=32, scalars=[np.int32(position)], settings=settings)
        expected = {FindingKind.RACE} if is_inside(kind, position) else set()
        assert {finding.kind for finding in report.findings} == expected
