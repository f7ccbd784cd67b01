"""Which lanes meet at a warp-wide operation, and where lanes run."""

import pytest
from snippets import findings_of, loaded, nvidia, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings


def shuffle(name: str, value: str, mask: int = -1, distance: int = 1) -> str:
    function = "@llvm.nvvm.shfl.sync.bfly.i32"
    return f"%{name} = call i32 {function}(i32 {mask}, i32 {value}, i32 {distance}, i32 31)"


LOWER, UPPER = 0xFFFF, -0x10000
"""Member masks of the halves of a warp."""


def test_lanes_meet_again_behind_a_branch() -> None:
    """What comes first in the code comes first: the lower half catches up with the upper one."""
    text = threads(
        "  %is_lower = icmp ult i32 %lane, 16\n  br i1 %is_lower, label %lower, label %all\n"
        f"lower:\n  {shuffle('a', '%lane', LOWER)}\n  br label %all\n"
        f"all:\n  {shuffle('b', '%lane', distance=16)}\n  store i32 %b, ptr addrspace(1) %out"
    )
    report, data = run(text, 32, block=32)
    assert report.findings == ()
    assert data.tolist() == [lane ^ 16 for lane in range(32)]
    assert report.collectives == 2


def test_both_sides_of_a_branch_have_operations_of_their_own() -> None:
    text = threads(
        "  %is_lower = icmp ult i32 %lane, 16\n  br i1 %is_lower, label %lower, label %upper\n"
        f"lower:\n  {shuffle('a', '%lane', LOWER)}\n  br label %all\n"
        f"upper:\n  {shuffle('b', '%lane', UPPER, 2)}\n  br label %all\n"
        "all:\n  %other = phi i32 [ %a, %lower ], [ %b, %upper ]\n"
        f"  {shuffle('c', '%other', distance=16)}\n  store i32 %c, ptr addrspace(1) %out"
    )
    report, data = run(text, 32, block=32)
    assert report.findings == ()
    expected = [lane ^ 1 if lane < 16 else lane ^ 2 for lane in range(32)]
    assert data.tolist() == [expected[lane ^ 16] for lane in range(32)]


def test_lanes_leave_a_loop_one_after_another() -> None:
    """Lane n goes round n % 4 + 1 times; all of them meet behind the loop."""
    text = threads(
        "  %turns = and i32 %lane, 3\n  br label %again\n"
        "again:\n  %i = phi i32 [ 0, %0 ], [ %more, %again ]\n  %more = add i32 %i, 1\n"
        "  %is_last = icmp eq i32 %i, %turns\n  br i1 %is_last, label %end, label %again\n"
        f"end:\n  {shuffle('a', '%more')}\n  store i32 %a, ptr addrspace(1) %out\n  ret void"
    )
    report, data = run(text, 32, block=32)
    assert report.findings == ()
    assert data.tolist() == [((lane ^ 1) & 3) + 1 for lane in range(32)]


def test_lanes_that_have_returned_are_not_waited_for() -> None:
    text = threads(
        "  %is_odd = and i32 %lane, 1\n  %leaves = trunc i32 %is_odd to i1\n"
        "  br i1 %leaves, label %end, label %meet\n"
        f"meet:\n  {shuffle('a', '%lane', 0x55555555, 2)}\n  store i32 %a, ptr addrspace(1) %out\n"
        "  br label %end\nend:\n  ret void"
    )
    report, data = run(text, 32, block=32)
    assert report.findings == ()
    assert data[::2].tolist() == [lane ^ 2 for lane in range(0, 32, 2)]


def test_the_last_warp_may_be_smaller() -> None:
    text = threads(f"  {shuffle('a', '%thread', 0xFF, 4)}\n  store i32 %a, ptr addrspace(1) %out")
    report, data = run(text, 40, block=40)
    assert data[32:].tolist() == [(lane ^ 4) + 32 for lane in range(8)]
    assert {finding.warp for finding in report.findings} == {0}  # where lanes 8 to 31 are no members


def test_an_operation_that_lanes_miss_is_found_and_goes_on() -> None:
    text = threads(
        "  %is_lower = icmp ult i32 %lane, 16\n  br i1 %is_lower, label %meet, label %end\n"
        f"meet:\n  {shuffle('a', '%lane')}\n  store i32 %a, ptr addrspace(1) %out\n  br label %end\n"
        f"end:\n  {shuffle('b', '%lane')}"
    )
    report, data = run(text, 32, block=32)
    (finding,) = report.findings
    assert finding.kind is FindingKind.DIVERGENT_COLLECTIVE
    assert "lanes ffff0000 of the member mask ffffffff are elsewhere" in finding.message
    assert data[:16].tolist() == [lane ^ 1 for lane in range(16)]


STACK = nvidia(
    "  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %room = alloca [256 x i32]\n"
    "  %place = getelementptr i32, ptr %room, i32 %thread\n"
    "  store i32 %thread, ptr %place\n"
    "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
    "  %kept = load i32, ptr %place\n"
    "  %out = getelementptr i32, ptr addrspace(1) %data, i32 %thread\n"
    "  store i32 %kept, ptr addrspace(1) %out"
)


@pytest.mark.parametrize("order", [FORWARD, REVERSED, 5])
def test_each_lane_has_a_stack_of_its_own(order: int) -> None:
    report, data = run(loaded(STACK), 200, block=200, settings=LaunchSettings(orders=(order,)))
    assert report.findings == ()
    assert data.tolist() == list(range(200))


def test_a_lane_may_not_touch_another_one_s_stack() -> None:
    address = "store ptr %room, ptr addrspace(3) @place\n  br label %meet"
    text = nvidia(
        "  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %room = alloca i32\n"
        "  %is_zero = icmp eq i32 %thread, 0\n  br i1 %is_zero, label %tell, label %meet\n"
        f"tell:\n  {address}\n"
        "meet:\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
        "  %theirs = load ptr, ptr addrspace(3) @place\n  store i32 1, ptr %theirs",
        before="@place = internal addrspace(3) global ptr undef",
    )
    assert findings_of(text, block=2) == {FindingKind.OUT_OF_BOUNDS: 2}


def test_workgroups_are_numbered_x_first() -> None:
    text = nvidia(
        "  %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        "  %out = getelementptr i32, ptr addrspace(1) %data, i32 %x\n"
        "  store i32 %x, ptr addrspace(1) %out"
    )
    report, data = run(text, 5, block=1, grid=5)
    assert report.workgroups == 5
    assert data.tolist() == [0, 1, 2, 3, 4]
