"""Launches: what is refused, what a kernel may touch, what is reported, and what ends with a process."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from callers import at_once
from snippets import ONE_ORDER, amd, loaded, nvidia, run, threads

from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.findings import FindingKind, Report
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
from harness.system.errors import HarnessError, InputError, OutOfMemoryError

STORE_THREAD = threads("  store i32 %thread, ptr addrspace(1) %out")
STORE_FIRST = threads("  store i32 %thread, ptr addrspace(1) %data")


@pytest.fixture(scope="module")
def store_thread():
    """Store each thread's number at its place."""
    return loaded(STORE_THREAD)


def kinds(report: Report) -> list[FindingKind]:
    return [finding.kind for finding in report.findings]


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("block", "arguments", "message"),
    [
        ((64, 1, 1), [], "kernel: 0 arguments; expected 1"),
        ((64, 1, 1), [np.int32(1)], "argument 0 has 4 bytes; expected 8"),
        *((block, [np.uint64(0)], "1 to 1024 threads") for block in ((0, 1, 1), (1025, 1, 1), (32, 33, 1))),
    ],
)
def test_arguments_and_workgroups_fit_the_kernel(store_thread, block, arguments, message):
    with pytest.raises(InputError, match=message):
        launch(store_thread, (1, 1, 1), block, arguments)


def test_a_workgroup_is_no_larger_than_the_code_says():
    kernel = loaded('define ptx_kernel void @kernel() "nvvm.maxntid"="64" {\n  ret void\n}\n')
    assert launch(kernel, (1, 1, 1), (32, 2, 1), []).findings == ()
    with pytest.raises(InputError, match=r"workgroup of \(96, 1, 1\); its code is for \(64, 1, 1\)"):
        launch(kernel, (1, 1, 1), (96, 1, 1), [])


def test_a_launch_has_up_to_16_processes(store_thread):
    with pytest.raises(InputError, match="up to 16 processes"):
        run(store_thread, settings=LaunchSettings(processes=17))


@pytest.mark.parametrize(
    ("array", "shared_bytes"),
    [
        ("@dynamic = external addrspace(3) global [0 x i8], align 16", 1 << 20),
        ("@large = internal addrspace(3) global [300000 x float] undef", 0),
    ],
)
def test_shared_memory_has_an_end(array, shared_bytes):
    kernel = loaded(nvidia("", before=array))
    with pytest.raises(InputError, match="more than 1 MiB of shared memory"):
        launch(kernel, (1, 1, 1), (1, 1, 1), [np.uint64(0)], shared_bytes=shared_bytes)


def test_launches_of_several_threads_wait_for_one_another(store_thread):
    def store(number: int) -> list[np.ndarray]:
        outputs = []
        for size in range(64, 96, 8):
            data = DeviceBuffer(4 * size, f"data of {number}")
            report = launch(store_thread, (1, 1, 1), (size, 1, 1), [data], settings=ONE_ORDER)
            outputs.append(data.view(np.dtype(np.int32), (size,)).copy())
            assert (report.workgroups, report.findings) == (1, ())
            data.free()
        return outputs

    for outputs in at_once(store):
        assert all((output == np.arange(len(output))).all() for output in outputs)


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("size", [1, 64, 4096, 5000])
def test_buffers_begin_as_nan_between_guard_pages(size):
    data = DeviceBuffer(size, "data")
    assert (data.view(np.dtype(np.uint8), (size,)) == 0xFF).all()
    mapped = re.findall(r"^(\w+)-(\w+) (\S+)", Path("/proc/self/maps").read_text(), re.MULTILINE)
    forbidden = [(int(a, 16), int(b, 16)) for a, b, permissions in mapped if permissions.startswith("---")]
    end = data.address + -(-size // 64) * 64
    assert any(start == end for start, _ in forbidden)
    assert any(data.address - 4096 <= stop <= data.address for _, stop in forbidden)
    with pytest.raises(InputError, match=f"bytes asked for, it has {size}"):
        data.view(np.dtype(np.int32), (size,))
    data.free()


def test_memory_that_cannot_be_had_is_told():
    with pytest.raises(OutOfMemoryError, match=f"no memory for {2**60} bytes of data"):
        DeviceBuffer(2**60, "data")
    buffers = []

    def fill() -> None:
        while len(buffers) < 1000:
            buffers.append(DeviceBuffer(4, f"buffer {len(buffers)}"))

    try:
        with pytest.raises(HarnessError, match=r"buffer \d+: the emulator has no room for more buffers"):
            fill()
    finally:
        for buffer in buffers:
            buffer.free()
    DeviceBuffer(4, "after").free()


def test_kernels_only_read_buffers_of_arrays(store_thread):
    data = DeviceBuffer.of(np.full(64, 7, np.int32), "weights")
    report = launch(store_thread, (1, 1, 1), (64, 1, 1), [data], settings=ONE_ORDER)
    (finding,) = report.findings
    assert (finding.kind, finding.count) == (FindingKind.READ_ONLY, 64)
    assert "weights +0" in finding.message
    assert (data.view(np.dtype(np.int32), (64,)) == 7).all()
    data.free()


@pytest.mark.parametrize("offset", [-4, 253, 256, 1 << 20, 1 << 40])
def test_a_load_outside_is_poison_and_no_crash(offset):
    report, data = run(
        nvidia(
            f"  %place = getelementptr i8, ptr addrspace(1) %data, i64 {offset}\n"
            "  %value = load i32, ptr addrspace(1) %place, align 1\n"
            "  store i32 %value, ptr addrspace(1) %data"
        ),
        block=1,
    )
    (finding,) = report.findings
    assert (finding.kind, finding.operation) == (FindingKind.OUT_OF_BOUNDS, "llvm.load")
    assert data[0] == -1
    if abs(offset) <= 256:
        assert f"data {offset:+} (it has 256 bytes)" in finding.message


def test_an_address_that_is_not_aligned_is_found():
    report, _ = run(
        nvidia(
            "  %place = getelementptr i8, ptr addrspace(1) %data, i64 4\n"
            "  store <2 x i32> zeroinitializer, ptr addrspace(1) %place, align 8"
        ),
        block=1,
    )
    assert kinds(report) == [FindingKind.UNALIGNED]


@pytest.mark.parametrize(
    ("first", "expected", "found"),
    [(1, [-1, 0, -1, 0], []), (2, [-1, -1, 0, -1], [FindingKind.OUT_OF_BOUNDS])],
)
def test_masked_elements_are_not_touched(first, expected, found):
    before = "declare void @llvm.masked.store.v4i32.p1(<4 x i32>, ptr addrspace(1), i32, <4 x i1>)"
    body = (
        f"  %place = getelementptr i32, ptr addrspace(1) %data, i64 {first}\n"
        "  call void @llvm.masked.store.v4i32.p1(<4 x i32> zeroinitializer, ptr addrspace(1) %place, "
        "i32 4, <4 x i1> <i1 true, i1 false, i1 true, i1 false>)"
    )
    report, data = run(nvidia(body, before=before), 4, block=1)
    assert kinds(report) == found
    assert data.tolist() == expected


def test_constant_tables_can_be_read_and_not_written():
    table = "@table = private addrspace(4) constant [2 x i32] [i32 3, i32 5]"
    place = "getelementptr (i32, ptr addrspace(4) @table, i64 1)"
    read = f"  %v = load i32, ptr addrspace(4) {place}\n  store i32 %v, ptr addrspace(1) %data"
    report, data = run(nvidia(read, before=table), block=1)
    assert (report.findings, data[0]) == ((), 5)
    written, _ = run(nvidia(f"  store i32 1, ptr addrspace(4) {place}", before=table), block=1)
    assert kinds(written) == [FindingKind.OUT_OF_BOUNDS]


def test_accesses_that_hardware_clamps_are_counted():
    body = (
        "  %thread = call i32 @llvm.amdgcn.workitem.id.x()\n  %offset = shl i32 %thread, 2\n"
        "  %buffer = call ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32("
        "ptr addrspace(1) %data, i16 0, i32 40, i32 0)\n"
        "  %place = getelementptr i8, ptr addrspace(7) %buffer, i32 %offset\n"
        "  %value = load i32, ptr addrspace(7) %place\n  store i32 %thread, ptr addrspace(7) %place"
    )
    report, data = run(loaded(amd(body), "gfx942"), 64)
    assert (report.clamped_loads, report.clamped_stores, report.findings) == (54, 54, ())
    assert data.tolist() == [*range(10), *[-1] * 54]


# ------------------------------------------------------------------ what is reported


def test_a_report_counts(store_thread):
    report, data = run(store_thread, settings=LaunchSettings(orders=(0, 1, 5)), grid=2)
    assert data.tolist() == list(range(64))
    counted = (report.kernel, report.workgroups, report.accesses, report.collectives)
    assert counted == ("kernel", 2 * 3, 64 * 2 * 3, 0)
    shuffle = "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)"
    report, _ = run(threads(f"  %a = {shuffle}\n  %b = {shuffle}"), block=96)
    assert report.collectives == 2 * 3  # once a warp


def test_a_finding_names_its_place_and_its_lane():
    text = threads(
        "  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n  %is_second = icmp eq i32 %group, 1\n"
        "  %is_late = icmp ugt i32 %thread, 36\n  %is_bad = and i1 %is_second, %is_late\n"
        "  br i1 %is_bad, label %bad, label %end\n"
        "bad:\n  %far_out = getelementptr i32, ptr addrspace(1) %data, i32 1000\n"
        "  store i32 1, ptr addrspace(1) %far_out\n  br label %end\nend:\n  ret void"
    )
    code = compile_for_emulator(text, device("sm_80"))
    (kernel,) = code.load().values()
    report, _ = run(kernel, grid=3)
    (finding,) = report.findings
    assert (finding.thread, finding.warp, finding.lane, finding.workgroup) == (37, 1, 5, (1, 0, 0))
    assert (finding.count, finding.operation) == (64 - 37, "llvm.store")
    assert "llvm.store" in code.device_code.splitlines()[finding.line - 1]
    place = f"out-of-bounds at kernel:{finding.line} llvm.store: workgroup (1, 0, 0), warp 1, lane 5"
    assert str(finding).startswith(place)
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_findings_of_one_kind_do_not_hide_others():
    loads = "\n".join(
        f"  %far{i} = getelementptr i32, ptr addrspace(1) %data, i32 {1000 + i}\n"
        f"  %value{i} = load i32, ptr addrspace(1) %far{i}"
        for i in range(300)
    )
    report, _ = run(threads(f"{loads}\n  %read = load i32, ptr addrspace(3) %own"))
    assert kinds(report).count(FindingKind.OUT_OF_BOUNDS) == 16
    assert kinds(report).count(FindingKind.UNINITIALIZED) == 1


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_processes_share_the_workgroups_and_their_findings(store_thread, processes):
    report, data = run(store_thread, 40, grid=7, settings=LaunchSettings(processes=processes, orders=(0,)))
    (finding,) = report.findings
    assert (report.workgroups, finding.count) == (7, 24 * 7)
    assert data.tolist() == list(range(40))


def test_a_kernel_that_depends_on_the_order_is_found():
    kernel = loaded(STORE_FIRST)
    alone, data = run(kernel, 1)
    assert (alone.findings, data[0]) == ((), 63)
    both, data = run(kernel, 1, settings=LaunchSettings(orders=(0, 1)))
    assert kinds(both) == [FindingKind.ORDER]
    assert data[0] == 0
    last = {int(run(kernel, 1, settings=LaunchSettings(orders=(seed,)))[1][0]) for seed in range(2, 12)}
    assert len(last) > 4, "seeds give different orders"


def test_each_order_begins_with_the_same_memory():
    body = "  %old = load i32, ptr addrspace(1) %out\n  %new = add i32 %old, 3\n"
    text = threads(f"{body}  store i32 %new, ptr addrspace(1) %out")
    report, data = run(text, settings=LaunchSettings(orders=(0, 1, 7)))
    assert report.findings == ()
    assert (data == 2).all()


# ------------------------------------------------------------------ crashes and endless loops


def test_a_crash_of_a_process_is_an_error_here():
    body = "  %zero = load i32, ptr addrspace(1) %data\n  %crash = udiv i32 7, %zero\n"
    kernel = loaded(nvidia(f"{body}  store i32 %crash, ptr addrspace(1) %data"))
    with pytest.raises(HarnessError, match="kernel: the kernel ended by signal 8"):
        run(kernel, 1, block=1, grid=2, initial=0, settings=LaunchSettings(processes=2))


ENDLESS = """
import sys
sys.path[:0] = {path}
from snippets import loaded, nvidia
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
body = "  br label %again\\nagain:\\n  store i32 1, ptr addrspace(1) %data\\n  br label %again"
kernel = loaded(nvidia(body))
print("started", flush=True)
launch(kernel, (2, 1, 1), (32, 1, 1), [DeviceBuffer(4, "data")], settings=LaunchSettings(processes=2))
"""


def test_an_endless_loop_ends_with_the_process_that_launched_it():
    program = ENDLESS.format(path=[str(Path(__file__).parent)])
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert worker.stdout.readline() == "started\n"
    listed = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
    wait_until(lambda: len(listed.read_text().split()) == 2)
    children = listed.read_text().split()
    worker.kill()
    worker.wait()
    wait_until(lambda: not any(is_running(child) for child in children))


def is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
