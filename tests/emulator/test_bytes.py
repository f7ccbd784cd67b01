"""Shared memory is watched byte by byte: accesses of all sizes, at all distances from one another."""

import numpy as np
import pytest
from snippets import DATA, loaded, run, threads
from sweeps import sweep

from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings

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
START = 40
"""Where the wide access begins in shared memory: the widest lies in two blocks of 64 bytes."""

ARGUMENTS = f"{DATA}, i32 %position"
PLACES = f"""
  %wide = getelementptr i8, ptr addrspace(3) @shared, i32 {START}
  %narrow = getelementptr i8, ptr addrspace(3) @shared, i32 %position
  %is_first = icmp eq i32 %thread, 0
"""
WIDE_LOAD = "%v = load {}, ptr addrspace(3) %wide, align 1"
NARROW_LOAD = "%v = load i8, ptr addrspace(3) %narrow"
WIDE_STORE = "store {} zeroinitializer, ptr addrspace(3) %wide, align 1"
NARROW_STORE = "store i8 1, ptr addrspace(3) %narrow"
sizes = pytest.mark.parametrize("kind", sweep(SIZES, but=["i8", "i32", "<3 x half>", "<8 x i32>"]))


def findings(
    kernel, position: int, *, block: int, order: int = FORWARD, within_warps: bool = False
) -> set[str]:
    settings = LaunchSettings(orders=(order,), checks_within_warps=within_warps)
    report, _ = run(kernel, block=block, scalars=[np.int32(position)], settings=settings)
    return {finding.kind.text for finding in report.findings}


def assert_found_inside(
    kernel, kind: str, finding: str, *, before: int = 1, step: int = 1, **options
) -> None:
    """Assert what bytes within the wide access have, and those around it have not."""
    for position in range(START - 2 * step, START + SIZES[kind] + 2, step):
        expected = {finding} if START - before < position < START + SIZES[kind] else set()
        assert findings(kernel, position, **options) == expected, position


def two_threads(second_thread: int, barrier: str, first: str, second: str):
    """Return a kernel of which two threads do something; shared memory is initialised."""
    body = (
        f"  store i32 0, ptr addrspace(3) %own\n  call void @llvm.nvvm.{barrier}\n{PLACES}"
        f"  %is_second = icmp eq i32 %thread, {second_thread}\n"
        "  br i1 %is_first, label %first, label %other\n"
        f"first:\n  {first}\n  ret void\n"
        "other:\n  br i1 %is_second, label %second, label %end\n"
        f"second:\n  {second}\n  ret void\nend:\n  ret void"
    )
    return loaded(threads(body, ARGUMENTS))


@sizes
@pytest.mark.parametrize(
    ("first", "second"), [(WIDE_LOAD, NARROW_STORE), (WIDE_STORE, NARROW_LOAD), (WIDE_STORE, NARROW_STORE)]
)
def test_warps_race_for_the_bytes_that_both_access(kind, first, second):
    kernel = two_threads(32, "barrier.cta.sync.aligned.all(i32 0)", first.format(kind), second)
    for order in (FORWARD, REVERSED):
        assert_found_inside(kernel, kind, "race", block=64, order=order)


@sizes
def test_lanes_of_a_warp_race_byte_by_byte_too(kind):
    kernel = two_threads(1, "bar.warp.sync(i32 -1)", WIDE_LOAD.format(kind), NARROW_STORE)
    assert_found_inside(kernel, kind, "race", block=32, within_warps=True)


@sizes
def test_a_load_is_uninitialised_if_one_of_its_bytes_is(kind):
    """A thread writes 128 bytes but one, then loads."""
    body = (
        f"{PLACES}  br i1 %is_first, label %byte, label %end\n"
        "byte:\n  %i = phi i32 [ 0, %0 ], [ %after, %stored ]\n  %after = add i32 %i, 1\n"
        "  %is_left_out = icmp eq i32 %i, %position\n  br i1 %is_left_out, label %stored, label %store\n"
        "store:\n  %place = getelementptr i8, ptr addrspace(3) @shared, i32 %i\n"
        "  store i8 0, ptr addrspace(3) %place\n  br label %stored\n"
        "stored:\n  %is_done = icmp eq i32 %after, 128\n  br i1 %is_done, label %load, label %byte\n"
        f"load:\n  {WIDE_LOAD.format(kind)}\n  ret void\nend:\n  ret void"
    )
    assert_found_inside(loaded(threads(body, ARGUMENTS)), kind, "uninitialized", block=64)


@pytest.mark.parametrize("kind", ["i8", "i32", "<8 x i32>"])
def test_a_load_is_in_flight_if_one_of_its_bytes_is(kind):
    copy = "@llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %narrow, ptr addrspace(1) %data)"
    body = (
        f"{PLACES}  store [32 x i32] zeroinitializer, ptr addrspace(3) @shared\n  call void {copy}\n"
        f"  {WIDE_LOAD.format(kind)}\n  call void @llvm.nvvm.cp.async.wait.all()"
    )
    assert_found_inside(loaded(threads(body, ARGUMENTS)), kind, "in-flight", before=4, step=4, block=1)
