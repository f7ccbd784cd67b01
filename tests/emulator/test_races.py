"""Races, uninitialised reads and bounds of shared memory."""

import pytest
from snippets import findings_of, loaded, nvidia, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.launching import LaunchSettings

BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
WARP_BARRIER = "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
SHUFFLE = "%ignored = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 0, i32 1, i32 31)"
PUT = "store i32 %thread, ptr addrspace(3) %own"
TAKE_FAR = "%taken = load i32, ptr addrspace(3) %far"

WITHIN_WARPS = LaunchSettings(orders=(0, 1), checks_within_warps=True)


# ------------------------------------------------------------------ between warps


def test_a_load_of_what_another_warp_stores_is_a_race() -> None:
    report, _ = run(threads(f"  {PUT}\n  {TAKE_FAR}"))
    by_kind = {finding.kind: finding for finding in report.findings}
    assert by_kind.keys() == {FindingKind.RACE, FindingKind.UNINITIALIZED}
    race = by_kind[FindingKind.RACE]
    assert (race.operation, race.warp, race.count) == ("llvm.load", 1, 32)
    assert "stored by thread 0, with no barrier in between" in race.message


def test_a_store_to_what_another_warp_loads_is_a_race() -> None:
    report, _ = run(threads(f"  {PUT}\n  {BARRIER}\n  {TAKE_FAR}\n  {PUT}"))
    (race,) = (finding for finding in report.findings if finding.operation == "llvm.store")
    assert (race.kind, race.count) == (FindingKind.RACE, 32)
    assert "loaded by warp 1" in race.message


def test_two_stores_to_one_place_are_a_race() -> None:
    found = findings_of(threads("  store i32 1, ptr addrspace(3) @shared"))
    assert found.keys() == {FindingKind.RACE}


def test_several_warps_may_load_one_place() -> None:
    text = threads(
        f"  %is_zero = icmp eq i32 %thread, 0\n  br i1 %is_zero, label %put, label %go\n"
        f"put:\n  store i32 1, ptr addrspace(3) @shared\n  br label %go\n"
        f"go:\n  {BARRIER}\n  %taken = load i32, ptr addrspace(3) @shared\n"
        f"  {BARRIER}\n  br i1 %is_zero, label %again, label %end\n"
        f"again:\n  store i32 2, ptr addrspace(3) @shared\n  br label %end\nend:\n  ret void"
    )
    report, _ = run(text, block=128)
    assert report.findings == ()
    lines = text.split(BARRIER)
    report, _ = run(f"{lines[0]}{BARRIER}{lines[1]}{lines[2]}", block=128)
    assert {finding.kind for finding in report.findings} == {FindingKind.RACE}


def test_a_race_with_the_first_of_several_loads_is_found() -> None:
    """Warp 1 has loaded, then warp 2: only warp 2 is ordered before the store of warp 0."""
    text = threads(
        f"  {PUT}\n  {BARRIER}\n"
        "  switch i32 %warp, label %third [ i32 0, label %first i32 1, label %second ]\n"
        "first:\n  call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)\n"
        "  store i32 0, ptr addrspace(3) @shared\n  ret void\n"
        "second:\n  %a = load i32, ptr addrspace(3) @shared\n  ret void\n"
        "third:\n  %b = load i32, ptr addrspace(3) @shared\n"
        "  call void @llvm.nvvm.barrier.cta.arrive.count(i32 1, i32 64)\n  ret void"
    )
    report, _ = run(text, block=96)
    assert {finding.kind for finding in report.findings} == {FindingKind.RACE}


def test_an_earlier_workgroup_is_no_race_and_no_initialisation() -> None:
    report, _ = run(threads(f"  {PUT}\n  {BARRIER}\n  {TAKE_FAR}"), grid=4)
    assert report.findings == ()
    text = threads(
        "  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        "  %is_first = icmp eq i32 %group, 0\n  br i1 %is_first, label %put, label %take\n"
        f"put:\n  {PUT}\n  ret void\ntake:\n  %taken = load i32, ptr addrspace(3) %own\n  ret void"
    )
    report, _ = run(text, grid=2)
    (finding,) = report.findings
    assert finding.kind is FindingKind.UNINITIALIZED
    assert finding.workgroup == (1, 0, 0)


def test_an_earlier_launch_with_more_warps_is_no_race() -> None:
    store_all = loaded(threads(f"  {PUT}"))
    store_few = loaded(threads("  store i32 1, ptr addrspace(3) %far"))
    for _ in range(3):
        assert run(store_all, block=64)[0].findings == ()
        assert run(store_few, block=32)[0].findings == ()


# ------------------------------------------------------------------ within a warp

PUT_NEXT = "store i32 %thread, ptr addrspace(3) %next"
TAKE_OWN = "%taken = load i32, ptr addrspace(3) %own"


def within_one_warp(body: str) -> dict[FindingKind, int]:
    report, _ = run(threads(body.replace("%next", "%near")), block=32, settings=WITHIN_WARPS)
    return {finding.kind: finding.count for finding in report.findings}


NEAR = (
    "  %near_lane = xor i32 %lane, 1\n  %near = getelementptr i32, ptr addrspace(3) @shared, i32 %near_lane\n"
)


@pytest.mark.parametrize("between", [WARP_BARRIER, SHUFFLE, BARRIER])
def test_warp_wide_operations_and_barriers_order_lanes(between: str) -> None:
    assert within_one_warp(f"{NEAR}  {PUT_NEXT}\n  {between}\n  {TAKE_OWN}") == {}


def test_lanes_of_a_warp_race_where_nothing_orders_them() -> None:
    found = within_one_warp(f"{NEAR}  {PUT}\n  {WARP_BARRIER}\n  {PUT_NEXT}\n  {TAKE_OWN}")
    assert found.keys() == {FindingKind.RACE}


def test_a_load_after_another_lane_s_store_is_a_race_within_the_warp() -> None:
    body = (
        "  %is_zero = icmp eq i32 %lane, 0\n  br i1 %is_zero, label %put, label %take\n"
        "put:\n  store i32 0, ptr addrspace(3) @shared\n  br label %end\n"
        "take:\n  %taken = load i32, ptr addrspace(3) @shared\n  br label %end\nend:\n  ret void"
    )
    settings = LaunchSettings(orders=(0,), checks_within_warps=True)
    report, _ = run(threads(body), block=2, settings=settings)
    (finding,) = report.findings
    assert (finding.kind, finding.operation) == (FindingKind.RACE, "llvm.load")


def test_a_store_after_another_lane_s_load_is_a_race_within_the_warp() -> None:
    body = f"{NEAR}  {PUT}\n  {WARP_BARRIER}\n  {TAKE_OWN}\n  {{}}{PUT_NEXT}"
    assert within_one_warp(body.format("")).keys() == {FindingKind.RACE}
    assert within_one_warp(body.format(f"{WARP_BARRIER}\n  ")) == {}


def test_a_store_after_loads_of_several_lanes_is_a_race_even_of_the_last_to_load() -> None:
    body = (
        f"  {PUT}\n  {WARP_BARRIER}\n"
        "  %taken = load i32, ptr addrspace(3) @shared\n"
        "  %is_last = icmp eq i32 %lane, 31\n  br i1 %is_last, label %put, label %end\n"
        "put:\n  store i32 0, ptr addrspace(3) @shared\n  br label %end\nend:\n  ret void"
    )
    report, _ = run(threads(body), block=32, settings=LaunchSettings(orders=(0,), checks_within_warps=True))
    assert {finding.kind for finding in report.findings} == {FindingKind.RACE}


def test_a_race_right_after_a_barrier_is_found_within_a_warp() -> None:
    found = within_one_warp(f"{NEAR}  {PUT}\n  {BARRIER}\n  {PUT_NEXT}\n  {TAKE_OWN}")
    assert found.keys() == {FindingKind.RACE}


def test_lanes_of_a_warp_count_as_ordered_unless_asked_for() -> None:
    body = f"{NEAR}  {PUT}\n  {WARP_BARRIER}\n  {PUT.replace('%own', '%near')}\n  {TAKE_OWN}"
    report, _ = run(threads(body), block=32)
    assert report.findings == ()


# ------------------------------------------------------------------ uninitialised reads and bounds


def test_shared_memory_begins_as_nan() -> None:
    report, data = run(threads(f"  {TAKE_OWN}\n  store i32 %taken, ptr addrspace(1) %out"))
    (finding,) = report.findings
    assert finding.kind is FindingKind.UNINITIALIZED
    assert "which nothing has written" in finding.message
    assert (data == -1).all()


def test_a_load_that_is_partly_initialised_is_found() -> None:
    text = threads(
        "  %byte = getelementptr i8, ptr addrspace(3) %own, i32 3\n"
        "  store i16 0, ptr addrspace(3) %own\n"
        f"  {TAKE_OWN}\n  store i8 0, ptr addrspace(3) %byte"
    )
    report, _ = run(text, block=1)
    (finding,) = report.findings
    assert finding.kind is FindingKind.UNINITIALIZED
    offset = int(finding.message.split("+")[1].split(",")[0])
    assert offset % 4 == 2


ARRAYS = (
    "@one = internal addrspace(3) global [5 x i32] undef\n@two = internal addrspace(3) global [3 x i32] undef"
)


@pytest.mark.parametrize("array", ["one", "two"])
@pytest.mark.parametrize(("index", "is_inside"), [(-1, False), (0, True), (2, True), (5, False), (9, False)])
@pytest.mark.parametrize("is_store", [True, False])
def test_what_lies_next_to_an_array_is_out_of_bounds(
    array: str, index: int, is_inside: bool, is_store: bool
) -> None:
    place = f"getelementptr (i32, ptr addrspace(3) @{array}, i32 {index})"
    access = (
        f"store i32 1, ptr addrspace(3) {place}" if is_store else f"%v = load i32, ptr addrspace(3) {place}"
    )
    report, _ = run(nvidia(f"  {access}", before=ARRAYS), block=1)
    kinds = {finding.kind for finding in report.findings} - {FindingKind.UNINITIALIZED}
    assert kinds == (set() if is_inside else {FindingKind.SHARED_OUT_OF_BOUNDS})


def test_an_access_across_the_end_names_the_first_byte_outside() -> None:
    text = nvidia(
        "  store i64 1, ptr addrspace(3) getelementptr (i32, ptr addrspace(3) @one, i32 4), align 4",
        before=ARRAYS,
    )
    report, _ = run(text, block=1)
    (finding,) = report.findings
    start, outside = (int(part.split()[0].rstrip(",")) for part in finding.message.split("+")[1:])
    assert outside == start + 4


def test_the_launch_says_how_large_the_dynamic_array_is() -> None:
    dynamic = "@dynamic = external addrspace(3) global [0 x i32], align 16"
    text = nvidia(
        "  store i32 1, ptr addrspace(3) getelementptr (i32, ptr addrspace(3) @dynamic, i32 7)",
        before=dynamic,
    )
    kernel = loaded(text)
    assert findings_of(kernel, block=1, shared_bytes=32) == {}
    assert findings_of(kernel, block=1, shared_bytes=31) == {FindingKind.SHARED_OUT_OF_BOUNDS: 2}
    assert findings_of(kernel, block=1) == {FindingKind.SHARED_OUT_OF_BOUNDS: 2}
