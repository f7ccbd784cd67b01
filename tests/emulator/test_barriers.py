"""Barriers of a workgroup, named and split ones, and what becomes of lanes that wait for nothing."""

import pytest
from snippets import AMD_HEADER, findings_of, loaded, nvidia, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.launching import LaunchSettings

BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def sync(barrier: int, count: int) -> str:
    return f"call void @llvm.nvvm.barrier.cta.sync.count(i32 {barrier}, i32 {count})"


def arrive(barrier: int, count: int) -> str:
    return f"call void @llvm.nvvm.barrier.cta.arrive.count(i32 {barrier}, i32 {count})"


def by_warp(first: str, second: str) -> str:
    """Return a kernel in which two warps do different things before they end."""
    return threads(
        "  %is_first = icmp eq i32 %warp, 0\n"
        "  br i1 %is_first, label %first, label %second\n"
        f"first:\n  {first}\n  br label %end\n"
        f"second:\n  {second}\n  br label %end\n"
        "end:\n  ret void"
    )


PUT = "store i32 %thread, ptr addrspace(3) %own"
TAKE = "%taken = load i32, ptr addrspace(3) %far"


def test_a_barrier_orders_what_is_before_and_after_it() -> None:
    assert findings_of(threads(f"  {PUT}\n  {BARRIER}\n  {TAKE}")) == {}


def test_all_lanes_wait_at_a_barrier() -> None:
    _, data = run(
        threads(f"  {PUT}\n  {BARRIER}\n  {TAKE}\n  store i32 %taken, ptr addrspace(1) %out"), 128, block=128
    )
    assert data.tolist() == [thread ^ 32 for thread in range(128)]


def test_a_warp_that_does_not_come_is_found() -> None:
    report, _ = run(by_warp(BARRIER, ""))
    (finding,) = report.findings
    assert finding.kind is FindingKind.DIVERGENT_BARRIER
    assert (finding.warp, finding.count) == (0, 1)
    assert "32 of 64 threads arrived" in finding.message


def test_half_of_a_warp_that_does_not_come_is_found() -> None:
    text = threads(
        "  %is_low = icmp ult i32 %lane, 16\n  br i1 %is_low, label %meet, label %end\n"
        f"meet:\n  {BARRIER}\n  br label %end\nend:\n  ret void"
    )
    assert findings_of(text) == {FindingKind.DIVERGENT_BARRIER: 2}


def test_the_barrier_of_all_lanes_is_one_place_of_the_code() -> None:
    found = findings_of(by_warp(BARRIER, BARRIER))
    assert found.keys() == {FindingKind.DIVERGENT_BARRIER}


def test_a_barrier_for_a_number_of_lanes_may_be_at_several_places() -> None:
    assert findings_of(by_warp(sync(1, 64), sync(1, 64))) == {}
    assert findings_of(by_warp(sync(1, 64), arrive(1, 64))) == {}


def test_numbers_of_lanes_that_differ_are_found() -> None:
    report, _ = run(by_warp(sync(1, 64), arrive(1, 32)))
    (finding,) = report.findings
    assert finding.kind is FindingKind.DIVERGENT_BARRIER
    assert "barrier 1 for 32 threads, for 64 elsewhere" in finding.message


@pytest.mark.parametrize(("barrier", "count"), [(16, 64), (-1, 64), (1, 40), (1, 0)])
def test_barriers_and_counts_that_do_not_exist_are_found(barrier: int, count: int) -> None:
    found = findings_of(threads(f"  {sync(barrier, count)}"))
    assert found == {FindingKind.UNSUPPORTED_OPERAND: 128}


def test_a_barrier_of_some_warps_lets_the_others_pass() -> None:
    text = threads(
        "  %is_late = icmp ugt i32 %warp, 1\n"
        "  br i1 %is_late, label %end, label %meet\n"
        f"meet:\n  {PUT}\n  {sync(3, 64)}\n  {TAKE}\n  br label %end\n"
        "end:\n  ret void"
    )
    report, _ = run(text, block=128)
    assert report.findings == ()


def test_a_barrier_does_not_order_warps_that_take_no_part() -> None:
    text = threads(
        f"  {PUT}\n"
        "  %is_late = icmp ugt i32 %warp, 1\n"
        "  br i1 %is_late, label %end, label %meet\n"
        f"meet:\n  {sync(3, 64)}\n"
        "  %third_thread = add i32 %lane, 64\n"
        "  %third = getelementptr i32, ptr addrspace(3) @shared, i32 %third_thread\n"
        "  store i32 0, ptr addrspace(3) %third\n  br label %end\n"
        "end:\n  ret void"
    )
    report, _ = run(text, block=96)
    assert {finding.kind for finding in report.findings} == {FindingKind.RACE}


def test_what_one_warp_saw_another_sees_through_it() -> None:
    """Warp 0 meets warp 1 at barrier 1, warp 1 meets warp 2 at barrier 2: 0 comes before 2."""
    text = threads(
        "  %first_place = getelementptr i32, ptr addrspace(3) @shared, i32 %lane\n"
        "  switch i32 %warp, label %third [ i32 0, label %first i32 1, label %second ]\n"
        f"first:\n  store i32 1, ptr addrspace(3) %first_place\n  {arrive(1, 64)}\n  ret void\n"
        f"second:\n  {sync(1, 64)}\n  {arrive(2, 64)}\n  ret void\n"
        f"third:\n  {sync(2, 64)}\n  %seen = load i32, ptr addrspace(3) %first_place\n  ret void"
    )
    report, _ = run(text, block=96)
    assert report.findings == ()
    without = text.replace(f"second:\n  {sync(1, 64)}\n", f"second:\n  {arrive(1, 64)}\n")
    report, _ = run(without, block=96)
    assert {finding.kind for finding in report.findings} == {FindingKind.RACE}


def test_what_follows_an_arrival_is_not_ordered_by_it() -> None:
    """One lane stores after it has arrived, and before the others of its warp arrive."""
    store = (
        f"{arrive(1, 64)}\n"
        "  %is_lane_0 = icmp eq i32 %lane, 0\n"
        "  br i1 %is_lane_0, label %late, label %end\n"
        f"late:\n  {PUT}"
    )
    report, _ = run(by_warp(store, f"{sync(1, 64)}\n  {TAKE}"))
    assert FindingKind.RACE in {finding.kind for finding in report.findings}


SPLIT = "declare void @llvm.amdgcn.s.barrier.signal(i32)\ndeclare void @llvm.amdgcn.s.barrier.wait(i16)\n"


def split(body: str) -> str:
    return (
        f"{AMD_HEADER}{SPLIT}"
        "@shared = internal addrspace(3) global [64 x i32] undef\n"
        "define amdgpu_kernel void @kernel(ptr addrspace(1) %data) {\n"
        "  %thread = call i32 @llvm.amdgcn.workitem.id.x()\n"
        "  %far_thread = xor i32 %thread, 32\n"
        "  %own = getelementptr i32, ptr addrspace(3) @shared, i32 %thread\n"
        "  %far = getelementptr i32, ptr addrspace(3) @shared, i32 %far_thread\n"
        f"{body}\n  ret void\n}}\n"
    )


SIGNAL = "call void @llvm.amdgcn.s.barrier.signal(i32 -1)"
WAIT = "call void @llvm.amdgcn.s.barrier.wait(i16 -1)"


def test_a_split_barrier_orders_what_is_before_the_signal_and_after_the_wait() -> None:
    kernel = loaded(split(f"  {PUT}\n  {SIGNAL}\n  {WAIT}\n  {TAKE}"), "gfx1201")
    assert findings_of(kernel) == {}


@pytest.mark.parametrize(
    "body", [f"  {SIGNAL}\n  {PUT}\n  {WAIT}\n  {TAKE}", f"  {PUT}\n  {SIGNAL}\n  {TAKE}\n  {WAIT}"]
)
def test_a_split_barrier_does_not_order_what_is_in_between(body: str) -> None:
    found = findings_of(loaded(split(body), "gfx1201"))
    assert FindingKind.RACE in found


def test_lanes_of_a_warp_are_not_ordered_in_between_either() -> None:
    body = (
        "  %near_thread = xor i32 %thread, 1\n"
        "  %near = getelementptr i32, ptr addrspace(3) @shared, i32 %near_thread\n"
        f"  {SIGNAL}\n  {PUT}\n  {WAIT}\n  %taken = load i32, ptr addrspace(3) %near"
    )
    settings = LaunchSettings(orders=(0,), checks_within_warps=True)
    report, _ = run(loaded(split(body), "gfx1201"), block=32, settings=settings)
    assert FindingKind.RACE in {finding.kind for finding in report.findings}


def test_a_wait_that_nobody_has_signalled_is_found() -> None:
    report, _ = run(loaded(split(f"  {WAIT}"), "gfx1201"))
    (finding,) = report.findings
    assert finding.kind is FindingKind.DEADLOCK
    assert "nobody arrives" in finding.message


def test_lanes_go_on_after_a_barrier_that_some_missed() -> None:
    report, data = run(by_warp(f"{BARRIER}\n  store i32 7, ptr addrspace(1) %out", ""))
    assert len(report.findings) == 1
    assert (data[:32] == 7).all()


def test_a_workgroup_begins_with_fresh_barriers() -> None:
    report, _ = run(nvidia(f"  {BARRIER}"), grid=3)
    assert report.findings == ()
    report, _ = run(by_warp(BARRIER, ""), grid=3)
    assert [finding.count for finding in report.findings] == [3]
