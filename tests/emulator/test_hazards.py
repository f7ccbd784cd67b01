"""Races, uninitialised reads, copies under way, barriers that some miss: programs and their findings."""

import pytest
from snippets import AMD_HEADER, loaded, nvidia, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings

BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
WARP_BARRIER = "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
SHUFFLE = "%ignored = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 0, i32 1, i32 31)"
PUT, PUT_FIRST = "store i32 %thread, ptr addrspace(3) %own", "store i32 1, ptr addrspace(3) @shared"
PUT_NEAR, PUT_FAR = (f"store i32 %thread, ptr addrspace(3) %{where}" for where in ("near", "far"))
TAKE, TAKE_FAR, TAKE_FIRST = (
    f"%taken = load i32, ptr addrspace(3) {place}" for place in ("%own", "%far", "@shared")
)
TAKE_FIRST_TOO = TAKE_FIRST.replace("taken", "other")
NEAR = "%near_lane = xor i32 %lane, 1\n  %near = getelementptr i32, ptr addrspace(3) @shared, i32 %near_lane"
COPY, COPY_NEXT, COPY_FAR, COPY_LATER = (
    f"call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %{place}, ptr addrspace(1) %out)"
    for place in ("own", "next", "far", "later")
)
LATER = "%behind = add i32 %thread, 128\n  %later = getelementptr i32, ptr addrspace(3) @shared, i32 %behind"
TAKE_LATER = "%late = load i32, ptr addrspace(3) %later"
COMMIT = "call void @llvm.nvvm.cp.async.commit.group()"
WAIT_ALL = "call void @llvm.nvvm.cp.async.wait.all()"
WAIT_0, WAIT_1 = (f"call void @llvm.nvvm.cp.async.wait.group(i32 {pending})" for pending in range(2))


def sync(barrier: int, count: int) -> str:
    return f"call void @llvm.nvvm.barrier.cta.sync.count(i32 {barrier}, i32 {count})"


def arrive(barrier: int, count: int) -> str:
    return f"call void @llvm.nvvm.barrier.cta.arrive.count(i32 {barrier}, i32 {count})"


def program(*instructions: str) -> str:
    return threads("\n".join(f"  {instruction}" for instruction in instructions))


def where(condition: str, *instructions: str, otherwise: tuple[str, ...] = (), number: int = 0) -> str:
    """Return a branch: some instructions where a comparison of integers holds, others elsewhere."""
    then, other = ("\n  ".join(body) for body in (instructions, otherwise))
    n = number
    return (
        f"%is{n} = icmp {condition}\n  br i1 %is{n}, label %then{n}, label %else{n}\n"
        f"then{n}:\n  {then}\n  br label %end{n}\nelse{n}:\n  {other}\n  br label %end{n}\nend{n}:"
    )


def by_warp(*bodies: tuple[str, ...]) -> str:
    """Return a switch: each warp has instructions of its own."""
    names = [f"warp{number}" for number in range(len(bodies))]
    cases = " ".join(f"i32 {number}, label %{name}" for number, name in enumerate(names))
    blocks = [
        f"{name}:\n  " + "\n  ".join([*body, "ret void"]) for name, body in zip(names, bodies, strict=True)
    ]
    return f"switch i32 %warp, label %{names[-1]} [ {cases} ]\n" + "\n".join(blocks)


GROUP = "%group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"
IN_HALF = "ult i32 %lane, 16"

BETWEEN_WARPS = {
    "load of what another warp stores": ((PUT, TAKE_FAR), "race uninitialized"),
    "store to what another warp loads": ((PUT, BARRIER, TAKE_FAR, PUT), "race"),
    "two stores to one place": ((PUT_FIRST,), "race"),
    "barrier before what another warp stored": ((PUT, BARRIER, TAKE_FAR), ""),
    "loads of several warps and a store after a barrier": (
        (where("eq i32 %thread, 0", PUT_FIRST), BARRIER, TAKE_FIRST, BARRIER,
         where("eq i32 %thread, 0", PUT_FIRST, number=1)), "",
    ),
    "loads of several warps and a store without a barrier": (
        (where("eq i32 %thread, 0", PUT_FIRST), BARRIER, TAKE_FIRST,
         where("eq i32 %thread, 0", PUT_FIRST, number=1)), "race",
    ),
    "a read that nothing has written": ((TAKE,), "uninitialized"),
}  # fmt: skip

COPIES = {
    "waited for by group": ((COPY, COMMIT, WAIT_0, TAKE), ""),
    "waited for with all": ((COPY, WAIT_ALL, TAKE), ""),
    "waited for with all after a commit": ((COPY, COMMIT, WAIT_ALL, TAKE), ""),
    "not waited for": ((COPY, TAKE, WAIT_ALL), "in-flight"),
    "committed only": ((COPY, COMMIT, TAKE, WAIT_ALL), "in-flight"),
    "waited for without a commit": ((COPY, WAIT_0, TAKE, WAIT_ALL), "in-flight"),
    "one group too few waited for": ((COPY, COMMIT, WAIT_1, TAKE, WAIT_ALL), "in-flight"),
    "the oldest group first": (
        (LATER, COPY, COMMIT, COPY_LATER, COMMIT, WAIT_1, TAKE, WAIT_0, TAKE_LATER),
        "",
    ),
    "the newest group not yet": (
        (LATER, COPY, COMMIT, COPY_LATER, COMMIT, WAIT_1, TAKE_LATER, WAIT_0),
        "in-flight",
    ),
    "overwritten on its way": ((COPY, PUT, WAIT_ALL), "in-flight"),
    "copied over on its way": ((COPY, COPY, WAIT_ALL), "in-flight"),
    "overwritten after its wait": ((COPY, WAIT_ALL, PUT), ""),
    "of another lane, after a barrier": ((COPY_NEXT, WAIT_ALL, BARRIER, TAKE), ""),
    "of another warp, after a barrier": ((COPY_FAR, WAIT_ALL, BARRIER, TAKE), ""),
    "never waited for": ((COPY,), "pending-copy"),
    "never waited for but committed": ((COPY, COMMIT), "pending-copy"),
}
AMONG_OTHERS = {
    "a wait is for a lane's own copies": ((COPY_NEXT, WAIT_ALL, TAKE), "uninitialized"),
    "a barrier without a wait delivers nothing": ((COPY_NEXT, COMMIT, BARRIER, TAKE, WAIT_ALL), "in-flight"),
    "copies of other warps race like stores": ((COPY_FAR, WAIT_ALL, TAKE), "race"),
    "a barrier before the wait orders no data": ((COPY_FAR, BARRIER, WAIT_ALL, TAKE), "race"),
    "an arrival does not order what follows it": (
        (by_warp((arrive(1, 64), where("eq i32 %lane, 0", PUT)), (sync(1, 64), TAKE_FAR)),), "race",
    ),
}  # fmt: skip
"""Programs that may have other findings, too."""

BARRIERS = {
    "a warp does not come": ((by_warp((BARRIER,), ()),), "divergent-barrier"),
    "half of a warp does not come": ((where(IN_HALF, BARRIER),), "divergent-barrier"),
    "the barrier of all lanes at two places": ((by_warp((BARRIER,), (BARRIER,)),), "divergent-barrier"),
    "a barrier for a number of lanes at two places": ((by_warp((sync(1, 64),), (sync(1, 64),)),), ""),
    "one warp waits, one arrives": ((by_warp((sync(1, 64),), (arrive(1, 64),)),), ""),
    "different numbers of lanes": ((by_warp((sync(1, 64),), (arrive(1, 32),)),), "divergent-barrier"),
    **{
        f"barrier {barrier} for {count}": ((sync(barrier, count),), "unsupported-operand")
        for barrier, count in ((16, 64), (-1, 64), (1, 40), (1, 0))
    },
}
MEETING = {
    "a barrier of some lets others pass": (where("ult i32 %warp, 2", PUT, sync(3, 64), TAKE_FAR), ""),
    # Of three warps, 0 meets 1 at barrier 1 and 1 meets 2 at barrier 2, so that 0 comes before 2 …
    "order through another warp": (
        by_warp((PUT_FIRST, arrive(1, 64)), (sync(1, 64), arrive(2, 64)), (sync(2, 64), TAKE_FIRST)), "",
    ),
    # … unless 1 does not wait for 0.
    "no order through a warp that only arrives": (
        by_warp((PUT_FIRST, arrive(1, 64)), (arrive(1, 64), arrive(2, 64)), (sync(2, 64), TAKE_FIRST)),
        "race",
    ),
    "warps that take no part are not ordered": (
        f"{PUT}\n  %third_thread = add i32 %lane, 64\n"
        "  %third = getelementptr i32, ptr addrspace(3) @shared, i32 %third_thread\n  "
        + where("ult i32 %warp, 2", sync(3, 64), "store i32 0, ptr addrspace(3) %third"), "race",
    ),
    # Warp 1 has loaded, then warp 2: only warp 2 is ordered before the store of warp 0.
    "a race with the first of several loads": (
        f"{PUT}\n  {BARRIER}\n  "
        + by_warp((sync(1, 64), PUT_FIRST), (TAKE_FIRST,), (TAKE_FIRST_TOO, arrive(1, 64))), "race",
    ),
}  # fmt: skip

WITHIN_ONE_WARP = {
    **{
        f"ordered by {name}": ((NEAR, PUT_NEAR, between, TAKE), "")
        for name, between in (("its barrier", WARP_BARRIER), ("a shuffle", SHUFFLE), ("a barrier", BARRIER))
    },
    "a store, then another lane's load": ((NEAR, PUT, WARP_BARRIER, PUT_NEAR, TAKE), "race"),
    "a race right after a barrier": ((NEAR, PUT, BARRIER, PUT_NEAR, TAKE), "race"),
    "a load, then another lane's store": ((NEAR, PUT, WARP_BARRIER, TAKE, PUT_NEAR), "race"),
    "a load, a barrier, another lane's store": ((NEAR, PUT, WARP_BARRIER, TAKE, WARP_BARRIER, PUT_NEAR), ""),
    "loads of several lanes, then a store of the last": (
        (PUT, WARP_BARRIER, TAKE_FIRST, where("eq i32 %lane, 31", PUT_FIRST)), "race",
    ),
    "a store of one lane and loads of others": (
        (PUT, WARP_BARRIER, where("eq i32 %lane, 0", PUT_FIRST, otherwise=(TAKE_FIRST,))), "race",
    ),
}  # fmt: skip


def kinds(kernel, **options) -> set[str]:
    options = {"settings": LaunchSettings(), **options}
    report, _ = run(kernel, **options)
    return {finding.kind.text for finding in report.findings}


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [pytest.param(*case, id=name) for name, case in {**BETWEEN_WARPS, **COPIES, **BARRIERS}.items()],
)
def test_programs_of_two_warps_have_exactly_these_findings(instructions, expected):
    assert kinds(program(*instructions)) == set(expected.split())


@pytest.mark.parametrize(("instructions", "expected"), AMONG_OTHERS.values(), ids=AMONG_OTHERS)
def test_programs_of_two_warps_have_a_finding_among_others(instructions, expected):
    assert expected in kinds(program(*instructions))


@pytest.mark.parametrize(("body", "expected"), MEETING.values(), ids=MEETING)
def test_barriers_order_the_warps_that_meet(body, expected):
    settings = LaunchSettings(orders=(FORWARD,))
    assert kinds(program(body), count=128, block=96, settings=settings) == set(expected.split())


@pytest.mark.parametrize(("instructions", "expected"), WITHIN_ONE_WARP.values(), ids=WITHIN_ONE_WARP)
def test_lanes_of_a_warp_race_only_where_that_is_checked(instructions, expected):
    kernel = loaded(program(*instructions))
    for order in (FORWARD, REVERSED):
        settings = LaunchSettings(orders=(order,), checks_within_warps=True)
        assert kinds(kernel, block=32, settings=settings) == set(expected.split())
    assert kinds(kernel, block=32) <= {"order"}


# ------------------------------------------------------------------ workgroups and launches


def test_an_earlier_workgroup_is_no_race_and_no_initialisation():
    assert kinds(program(PUT, BARRIER, TAKE_FAR), grid=4) == set()
    report, _ = run(program(GROUP, where("eq i32 %group, 0", PUT, otherwise=(TAKE,))), grid=2)
    (finding,) = report.findings
    assert (finding.kind, finding.workgroup) == (FindingKind.UNINITIALIZED, (1, 0, 0))
    copies = where("eq i32 %group, 0", COPY, otherwise=("store i32 1, ptr addrspace(3) %own", TAKE))
    assert kinds(program(GROUP, copies), grid=2) == {"pending-copy"}


def test_an_earlier_launch_with_more_warps_is_no_race():
    store_all, store_few = loaded(program(PUT)), loaded(program(PUT_FAR))
    for _ in range(3):
        assert kinds(store_all) == kinds(store_few, block=32) == set()


def test_a_workgroup_begins_with_fresh_barriers():
    assert kinds(program(BARRIER), grid=3) == set()
    report, _ = run(program(by_warp((BARRIER,), ())), grid=3)
    assert [finding.count for finding in report.findings] == [3]


# ------------------------------------------------------------------ what findings say, how lanes go on


def test_a_race_names_the_other_side():
    report, _ = run(program(PUT, BARRIER, TAKE_FAR, PUT))
    (race,) = (finding for finding in report.findings if finding.operation == "llvm.store")
    assert (race.kind, race.count) == (FindingKind.RACE, 32)
    assert "loaded by warp 1" in race.message


def test_lanes_go_on_with_poison_before_a_copy_arrives():
    give = "%more = add i32 %taken, 1\n  store i32 %more, ptr addrspace(1) %out"
    _, early = run(program(PUT, COPY, TAKE, give, WAIT_ALL), initial=7)
    _, late = run(program(COPY, WAIT_ALL, TAKE, give), initial=7)
    assert (early == 0).all()  # poison, −1, plus 1
    assert (late == 8).all()


def test_shared_memory_begins_as_nan():
    _, data = run(program(TAKE, "store i32 %taken, ptr addrspace(1) %out"))
    assert (data == -1).all()


def test_lanes_go_on_after_a_barrier_that_some_missed():
    report, data = run(program(by_warp((BARRIER, "store i32 7, ptr addrspace(1) %out"), ())))
    (finding,) = report.findings
    assert (finding.warp, finding.count) == (0, 1)
    assert (data[:32] == 7).all()


def test_all_lanes_wait_at_a_barrier():
    give = "store i32 %taken, ptr addrspace(1) %out"
    _, data = run(program(PUT, BARRIER, TAKE_FAR, give), 128, block=128)
    assert data.tolist() == [thread ^ 32 for thread in range(128)]


def test_a_copy_s_source_outside_of_its_buffer_is_found():
    report, _ = run(program(COPY, WAIT_ALL), 60)
    assert [(finding.kind, finding.count) for finding in report.findings] == [(FindingKind.OUT_OF_BOUNDS, 4)]


# ------------------------------------------------------------------ AMD's split barriers

SIGNAL = "call void @llvm.amdgcn.s.barrier.signal(i32 -1)"
WAIT = "call void @llvm.amdgcn.s.barrier.wait(i16 -1)"


def split(*instructions: str):
    body = "\n".join(f"  {instruction}" for instruction in instructions)
    text = f"""{AMD_HEADER}
declare void @llvm.amdgcn.s.barrier.signal(i32)
declare void @llvm.amdgcn.s.barrier.wait(i16)
@shared = internal addrspace(3) global [64 x i32] undef
define amdgpu_kernel void @kernel(ptr addrspace(1) %data) {{
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %lane = and i32 %thread, 31
  %far_thread = xor i32 %thread, 32
  %own = getelementptr i32, ptr addrspace(3) @shared, i32 %thread
  %far = getelementptr i32, ptr addrspace(3) @shared, i32 %far_thread
{body}
  ret void
}}
"""
    return loaded(text, "gfx1201")


def test_a_split_barrier_orders_what_is_before_the_signal_and_after_the_wait():
    assert kinds(split(PUT, SIGNAL, WAIT, TAKE_FAR)) == set()
    assert "race" in kinds(split(SIGNAL, PUT, WAIT, TAKE_FAR))
    assert "race" in kinds(split(PUT, SIGNAL, TAKE_FAR, WAIT))
    assert kinds(split(WAIT)) == {"deadlock"}
    near = TAKE.replace("%own", "%near")
    settings = LaunchSettings(orders=(FORWARD,), checks_within_warps=True)
    assert "race" in kinds(split(NEAR, SIGNAL, PUT, WAIT, near), block=32, settings=settings)


def test_a_barrier_forgets_those_whose_phase_has_ended():
    """Two warps that meet at a barrier after two others have met there do not come after these."""
    meet = sync(1, 64)
    text = program(
        "%is_writer = icmp ult i32 %warp, 2",
        "br i1 %is_writer, label %write, label %read",
    )
    body = f"""write:
  {PUT}
  {meet}
  ret void
read:
  {meet}
  %other = xor i32 %thread, 64
  %place = getelementptr i32, ptr addrspace(3) @shared, i32 %other
  %taken = load i32, ptr addrspace(3) %place
  ret void"""
    settings = LaunchSettings(orders=(FORWARD,))
    assert "race" in kinds(text.replace("  ret void", body), block=128, settings=settings)


# ------------------------------------------------------------------ bounds of shared arrays

ARRAYS = (
    "@one = internal addrspace(3) global [5 x i32] undef\n@two = internal addrspace(3) global [3 x i32] undef"
)


@pytest.mark.parametrize("array", ["one", "two"])
@pytest.mark.parametrize("access", ["store i32 1, ptr addrspace(3) {}", "%v = load i32, ptr addrspace(3) {}"])
def test_what_lies_next_to_an_array_is_out_of_bounds(array, access):
    for index in (-1, 0, 2, 5, 9):
        place = f"getelementptr (i32, ptr addrspace(3) @{array}, i32 {index})"
        found = kinds(nvidia(f"  {access.format(place)}", before=ARRAYS), block=1) - {"uninitialized"}
        assert found == (set() if index in (0, 2) else {"shared-out-of-bounds"})


@pytest.mark.parametrize("order", [FORWARD, REVERSED])
def test_an_access_across_the_end_names_the_first_byte_outside(order):
    place = "getelementptr (i32, ptr addrspace(3) @one, i32 4)"
    text = nvidia(f"  store i64 1, ptr addrspace(3) {place}, align 4", before=ARRAYS)
    report, _ = run(text, block=1, settings=LaunchSettings(orders=(order,)))
    (finding,) = report.findings
    start, outside = (int(part.split()[0].rstrip(",")) for part in finding.message.split("+")[1:])
    assert outside == start + 4


def test_the_launch_says_how_large_the_dynamic_array_is():
    place = "getelementptr (i32, ptr addrspace(3) @dynamic, i32 7)"
    dynamic = "@dynamic = external addrspace(3) global [0 x i32], align 16"
    kernel = loaded(nvidia(f"  store i32 1, ptr addrspace(3) {place}", before=dynamic))
    assert kinds(kernel, block=1, shared_bytes=32) == set()
    assert kinds(kernel, block=1, shared_bytes=31) == {"shared-out-of-bounds"}
    assert kinds(kernel, block=1) == {"shared-out-of-bounds"}
