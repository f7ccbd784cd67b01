"""Which lanes meet at a warp-wide operation, and where lanes run."""

import pytest
from snippets import loaded, nvidia, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings

LOWER, UPPER = 0xFFFF, -0x10000
"""Member masks of the halves of a warp."""
IS_LOWER = "%is_lower = icmp ult i32 %lane, 16"


def shuffle(name: str, value: str, mask: int = -1, distance: int = 1) -> str:
    function = "@llvm.nvvm.shfl.sync.bfly.i32"
    return f"%{name} = call i32 {function}(i32 {mask}, i32 {value}, i32 {distance}, i32 31)"


def give(value: str) -> str:
    return f"store i32 %{value}, ptr addrspace(1) %out"


def lane_or_two(lane: int) -> int:
    return lane ^ 1 if lane < 16 else lane ^ 2


MEETINGS = {
    # What comes first in the code comes first: the lower half catches up with the upper one.
    "behind a branch": (
        f"  {IS_LOWER}\n  br i1 %is_lower, label %lower, label %all\n"
        f"lower:\n  {shuffle('a', '%lane', LOWER)}\n  br label %all\n"
        f"all:\n  {shuffle('b', '%lane', distance=16)}\n  {give('b')}",
        [lane ^ 16 for lane in range(32)],
    ),
    "on both sides of a branch, and behind it": (
        f"  {IS_LOWER}\n  br i1 %is_lower, label %lower, label %upper\n"
        f"lower:\n  {shuffle('a', '%lane', LOWER)}\n  br label %all\n"
        f"upper:\n  {shuffle('b', '%lane', UPPER, 2)}\n  br label %all\n"
        "all:\n  %other = phi i32 [ %a, %lower ], [ %b, %upper ]\n"
        f"  {shuffle('c', '%other', distance=16)}\n  {give('c')}",
        [lane_or_two(lane ^ 16) for lane in range(32)],
    ),
    # Lane n goes round n % 4 + 1 times.
    "behind a loop": (
        "  %turns = and i32 %lane, 3\n  br label %again\n"
        "again:\n  %i = phi i32 [ 0, %0 ], [ %more, %again ]\n  %more = add i32 %i, 1\n"
        "  %is_last = icmp eq i32 %i, %turns\n  br i1 %is_last, label %end, label %again\n"
        f"end:\n  {shuffle('a', '%more')}\n  {give('a')}\n  ret void",
        [((lane ^ 1) & 3) + 1 for lane in range(32)],
    ),
    "without lanes that have returned": (
        "  %is_odd = and i32 %lane, 1\n  %leaves = trunc i32 %is_odd to i1\n"
        "  br i1 %leaves, label %end, label %meet\n"
        f"meet:\n  {shuffle('a', '%lane', 0x55555555, 2)}\n  {give('a')}\n  br label %end\nend:\n  ret void",
        [-1 if lane & 1 else lane ^ 2 for lane in range(32)],
    ),
}


@pytest.mark.parametrize(("body", "expected"), MEETINGS.values(), ids=MEETINGS)
def test_lanes_meet_at_warp_wide_operations(body, expected):
    report, data = run(threads(body), 32, block=32)
    assert report.findings == ()
    assert data.tolist() == expected


def test_the_last_warp_may_be_smaller():
    report, data = run(threads(f"  {shuffle('a', '%thread', 0xFF, 4)}\n  {give('a')}"), 40, block=40)
    assert data[32:].tolist() == [(lane ^ 4) + 32 for lane in range(8)]
    assert {finding.warp for finding in report.findings} == {0}  # where lanes 8 to 31 are no members


def test_an_operation_that_lanes_miss_is_found_and_goes_on():
    text = threads(
        f"  {IS_LOWER}\n  br i1 %is_lower, label %meet, label %end\n"
        f"meet:\n  {shuffle('a', '%lane')}\n  {give('a')}\n  br label %end\n"
        f"end:\n  {shuffle('b', '%lane')}"
    )
    report, data = run(text, 32, block=32)
    (finding,) = report.findings
    assert finding.kind is FindingKind.DIVERGENT_COLLECTIVE
    assert "ffff0000" in finding.message
    assert data[:16].tolist() == [lane ^ 1 for lane in range(16)]


@pytest.mark.parametrize("order", [FORWARD, REVERSED, 5])
def test_each_lane_has_a_stack_of_its_own(order):
    text = threads(
        "  %room = alloca [256 x i32]\n  %place = getelementptr i32, ptr %room, i32 %thread\n"
        "  store i32 %thread, ptr %place\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
        f"  %kept = load i32, ptr %place\n  {give('kept')}"
    )
    report, data = run(loaded(text), 200, block=200, settings=LaunchSettings(orders=(order,)))
    assert report.findings == ()
    assert data.tolist() == list(range(200))


def test_a_lane_may_not_touch_another_one_s_stack():
    text = nvidia(
        "  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %room = alloca i32\n"
        "  %is_zero = icmp eq i32 %thread, 0\n  br i1 %is_zero, label %tell, label %meet\n"
        "tell:\n  store ptr %room, ptr addrspace(3) @place\n  br label %meet\n"
        "meet:\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
        "  %theirs = load ptr, ptr addrspace(3) @place\n  store i32 1, ptr %theirs",
        before="@place = internal addrspace(3) global ptr undef",
    )
    report, _ = run(text, block=2)
    assert [(finding.kind, finding.count) for finding in report.findings] == [(FindingKind.OUT_OF_BOUNDS, 1)]


def test_workgroups_are_numbered_x_first():
    text = nvidia(
        "  %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        "  %out = getelementptr i32, ptr addrspace(1) %data, i32 %x\n  store i32 %x, ptr addrspace(1) %out"
    )
    report, data = run(text, 5, block=1, grid=5)
    assert report.workgroups == 5
    assert data.tolist() == [0, 1, 2, 3, 4]
