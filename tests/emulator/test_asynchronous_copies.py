"""Asynchronous copies: their data is there once the lane has waited for their group, and not before."""

import pytest
from snippets import findings_of, run, threads

from harness.emulator.findings import FindingKind

COPY = "call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) {}, ptr addrspace(1) %out)"
COPY_OWN, COPY_NEXT = COPY.format("%own"), COPY.format("%next")
COMMIT = "call void @llvm.nvvm.cp.async.commit.group()"
WAIT_ALL = "call void @llvm.nvvm.cp.async.wait.all()"
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
TAKE = "%taken = load i32, ptr addrspace(3) %own"
GIVE = "%more = add i32 %taken, 1\n  store i32 %more, ptr addrspace(1) %out"


def wait(pending: int) -> str:
    return f"call void @llvm.nvvm.cp.async.wait.group(i32 {pending})"


def body(*instructions: str) -> str:
    return threads("\n".join(f"  {instruction}" for instruction in instructions))


@pytest.mark.parametrize("waiting", [[COMMIT, wait(0)], [WAIT_ALL], [COMMIT, WAIT_ALL]])
def test_a_copy_has_arrived_after_its_wait(waiting: list[str]) -> None:
    report, data = run(body(COPY_OWN, *waiting, TAKE, GIVE), initial=7)
    assert report.findings == ()
    assert (data == 8).all()


@pytest.mark.parametrize(
    "waiting", [[], [COMMIT], [wait(0)], [COMMIT, wait(1)]], ids=["none", "commit", "no commit", "too few"]
)
def test_before_its_wait_it_is_in_flight(waiting: list[str]) -> None:
    report, data = run(
        body("store i32 5, ptr addrspace(3) %own", COPY_OWN, *waiting, TAKE, GIVE, WAIT_ALL), initial=7
    )
    (finding,) = report.findings
    assert finding.kind is FindingKind.IN_FLIGHT
    assert "asynchronous copy by thread 0 was waited for" in finding.message
    assert (data == 0).all()  # poison, −1, plus 1


def test_the_oldest_groups_arrive_first() -> None:
    second = "%other = add i32 %thread, 128"
    place = "%place = getelementptr i32, ptr addrspace(3) @shared, i32 %other"
    copies = [COPY_OWN, COMMIT, second, place, COPY.format("%place"), COMMIT]
    older, newer = TAKE, "%late = load i32, ptr addrspace(3) %place"
    assert findings_of(body(*copies, wait(1), older, wait(0), newer)) == {}
    assert findings_of(body(*copies, wait(1), older, newer, wait(0))) == {FindingKind.IN_FLIGHT: 128}


def test_a_copy_may_not_be_overwritten_on_its_way() -> None:
    store = "store i32 1, ptr addrspace(3) %own"
    assert FindingKind.IN_FLIGHT in findings_of(body(COPY_OWN, store, WAIT_ALL))
    assert FindingKind.IN_FLIGHT in findings_of(body(COPY_OWN, COPY_OWN, WAIT_ALL))
    assert findings_of(body(COPY_OWN, WAIT_ALL, store)) == {}


def test_a_wait_is_for_the_lane_s_own_copies() -> None:
    found = findings_of(body(COPY_NEXT, WAIT_ALL, TAKE))
    assert FindingKind.UNINITIALIZED in found
    assert findings_of(body(COPY_NEXT, WAIT_ALL, BARRIER, TAKE)) == {}


def test_a_barrier_without_a_wait_delivers_nothing() -> None:
    found = findings_of(body(COPY_NEXT, COMMIT, BARRIER, TAKE, WAIT_ALL))
    assert FindingKind.IN_FLIGHT in found


@pytest.mark.parametrize("closing", [[], [COMMIT]])
def test_copies_that_nobody_waits_for_are_found_at_the_end(closing: list[str]) -> None:
    report, _ = run(body(COPY_OWN, *closing))
    (finding,) = report.findings
    assert finding.kind is FindingKind.PENDING_COPY
    assert finding.thread == 0
    assert "1 asynchronous copies not waited for" in finding.message


def test_what_a_lane_left_in_flight_is_no_concern_of_the_next_workgroup() -> None:
    text = threads(
        "  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        "  %is_first = icmp eq i32 %group, 0\n  br i1 %is_first, label %copy, label %use\n"
        f"copy:\n  {COPY_OWN}\n  ret void\n"
        f"use:\n  store i32 1, ptr addrspace(3) %own\n  {TAKE}\n  ret void"
    )
    report, _ = run(text, grid=2)
    assert [finding.kind for finding in report.findings] == [FindingKind.PENDING_COPY]


def test_copies_of_other_warps_race_like_stores() -> None:
    found = findings_of(body(COPY.format("%far"), WAIT_ALL, TAKE))
    assert FindingKind.RACE in found


def test_a_source_outside_of_its_buffer_is_found() -> None:
    report, _ = run(body(COPY_OWN, WAIT_ALL), 60)
    (finding,) = report.findings
    assert finding.kind is FindingKind.OUT_OF_BOUNDS
    assert finding.count == 4


def test_a_wait_is_no_barrier_for_other_warps() -> None:
    """A barrier between the copy and its wait does not order the copy's data before what follows."""
    found = findings_of(body(COPY.format("%far"), BARRIER, WAIT_ALL, TAKE))
    assert FindingKind.RACE in found
    assert findings_of(body(COPY.format("%far"), WAIT_ALL, BARRIER, TAKE)) == {}
