"""Launches: what is refused, what a kernel may touch, what is reported, and what ends with a process."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from callers import at_once
from snippets import ONE_ORDER, amd, loaded, nvidia, run, threads

from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.findings import FindingKind, Report
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel
from harness.errors import HarnessError, InputError, OutOfMemoryError

Value = TypeVar("Value")

STORE_THREAD = threads("  store i32 %thread, ptr addrspace(1) %out")


@pytest.fixture(scope="module")
def store_thread() -> LoadedKernel:
    """Store each thread's number at its place."""
    return loaded(STORE_THREAD)


# ------------------------------------------------------------------ what is refused


def test_arguments_are_counted(store_thread: LoadedKernel) -> None:
    with pytest.raises(InputError, match="kernel: 0 arguments; expected 1"):
        launch(store_thread, (1, 1, 1), (64, 1, 1), [])


def test_arguments_have_the_size_that_the_kernel_takes(store_thread: LoadedKernel) -> None:
    with pytest.raises(InputError, match="argument 0 has 4 bytes; expected 8"):
        launch(store_thread, (1, 1, 1), (64, 1, 1), [np.int32(1)])


@pytest.mark.parametrize("block", [(0, 1, 1), (1025, 1, 1), (32, 33, 1)])
def test_a_workgroup_has_up_to_1024_threads(store_thread: LoadedKernel, block: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="1 to 1024 threads"):
        launch(store_thread, (1, 1, 1), block, [np.uint64(0)])


def test_a_workgroup_is_no_larger_than_the_code_says() -> None:
    kernel = loaded('define ptx_kernel void @kernel() "nvvm.maxntid"="64" {\n  ret void\n}\n')
    assert launch(kernel, (1, 1, 1), (32, 2, 1), []).findings == ()
    with pytest.raises(InputError, match=r"workgroup of \(96, 1, 1\); its code is for \(64, 1, 1\)"):
        launch(kernel, (1, 1, 1), (96, 1, 1), [])


def test_a_launch_has_up_to_16_processes(store_thread: LoadedKernel) -> None:
    with pytest.raises(InputError, match="up to 16 processes"):
        run(store_thread, settings=LaunchSettings(processes=17))


def test_shared_memory_has_an_end() -> None:
    kernel = loaded(nvidia("", before="@dynamic = external addrspace(3) global [0 x i8], align 16"))
    with pytest.raises(InputError, match="more than 1 MiB of shared memory"):
        launch(kernel, (1, 1, 1), (1, 1, 1), [np.uint64(0)], shared_bytes=1 << 20)


def test_shared_arrays_of_the_code_count_too() -> None:
    kernel = loaded(nvidia("", before="@large = internal addrspace(3) global [300000 x float] undef"))
    with pytest.raises(InputError, match="more than 1 MiB of shared memory"):
        launch(kernel, (1, 1, 1), (1, 1, 1), [np.uint64(0)])


# ------------------------------------------------------------------ several threads


def test_launches_and_buffers_of_several_threads_wait_for_one_another(store_thread: LoadedKernel) -> None:
    def store(number: int) -> list[np.ndarray]:
        outputs = []
        for size in range(64, 96, 4):
            data = DeviceBuffer(4 * size, f"data of {number}")
            report = launch(store_thread, (1, 1, 1), (size, 1, 1), [data], settings=ONE_ORDER)
            outputs.append(data.view(np.dtype(np.int32), (size,)).copy())
            assert (report.workgroups, report.findings) == (1, ())
            data.free()
        return outputs

    for outputs in at_once(store):
        assert all((output == np.arange(len(output))).all() for output in outputs)


# ------------------------------------------------------------------ memory


def test_buffers_begin_as_nan() -> None:
    data = DeviceBuffer(10, "data")
    assert (data.view(np.dtype(np.uint8), (10,)) == 0xFF).all()
    data.free()


def test_memory_that_the_system_does_not_give_is_told() -> None:
    with pytest.raises(OutOfMemoryError, match=f"no memory for {2**60} bytes of data"):
        DeviceBuffer(2**60, "data")


def test_a_view_fits_into_its_buffer() -> None:
    data = DeviceBuffer(10, "data")
    with pytest.raises(InputError, match="data: 12 bytes asked for, it has 10"):
        data.view(np.dtype(np.int32), (3,))
    data.free()


@pytest.mark.parametrize("size", [1, 64, 4096, 5000])
def test_buffers_lie_between_guard_pages(size: int) -> None:
    data = DeviceBuffer(size, "data")
    mapped = re.findall(r"^(\w+)-(\w+) (\S+)", Path("/proc/self/maps").read_text(), re.MULTILINE)
    forbidden = [(int(a, 16), int(b, 16)) for a, b, permissions in mapped if permissions.startswith("---")]
    end = data.address + -(-size // 64) * 64
    assert any(start == end for start, _ in forbidden)
    assert any(data.address - 4096 <= stop <= data.address for _, stop in forbidden)
    data.free()


def test_kernels_only_read_buffers_of_arrays(store_thread: LoadedKernel) -> None:
    data = DeviceBuffer.of(np.full(64, 7, np.int32), "weights")
    report = launch(store_thread, (1, 1, 1), (64, 1, 1), [data], settings=ONE_ORDER)
    (finding,) = report.findings
    assert finding.kind is FindingKind.READ_ONLY
    assert "weights +0" in finding.message
    assert finding.count == 64
    assert (data.view(np.dtype(np.int32), (64,)) == 7).all()
    data.free()


@pytest.mark.parametrize("offset", [-4, 253, 256, 1 << 20, 1 << 40])
def test_a_load_outside_is_poison_and_no_crash(offset: int) -> None:
    report, data = run(
        nvidia(
            f"  %place = getelementptr i8, ptr addrspace(1) %data, i64 {offset}\n"
            "  %value = load i32, ptr addrspace(1) %place, align 1\n"
            "  store i32 %value, ptr addrspace(1) %data"
        ),
        block=1,
    )
    (finding,) = report.findings
    assert finding.kind is FindingKind.OUT_OF_BOUNDS
    assert finding.operation == "llvm.load"
    assert data[0] == -1
    if abs(offset) <= 256:
        assert f"data {offset:+} (it has 256 bytes)" in finding.message
    elif offset < 1 << 30:  # a buffer that another test has left may be nearer
        assert re.search(r"\w+ [+-]\d+ \(it has \d+ bytes\)", finding.message)


def test_an_address_that_is_not_aligned_is_found() -> None:
    report, _ = run(
        nvidia(
            "  %place = getelementptr i8, ptr addrspace(1) %data, i64 4\n"
            "  store <2 x i32> zeroinitializer, ptr addrspace(1) %place, align 8"
        ),
        block=1,
    )
    (finding,) = report.findings
    assert finding.kind is FindingKind.UNALIGNED
    assert "not a multiple of 8" in finding.message


def test_masked_elements_are_not_touched() -> None:
    before = "declare void @llvm.masked.store.v4i32.p1(<4 x i32>, ptr addrspace(1), i32, <4 x i1>)"
    body = (
        "  %place = getelementptr i32, ptr addrspace(1) %data, i64 {}\n"
        "  call void @llvm.masked.store.v4i32.p1(<4 x i32> zeroinitializer, ptr addrspace(1) %place, "
        "i32 4, <4 x i1> <i1 true, i1 false, i1 true, i1 false>)"
    )
    inside, data = run(nvidia(body.format(1), before=before), 4, block=1)
    assert inside.findings == ()
    assert data.tolist() == [-1, 0, -1, 0]
    outside, data = run(nvidia(body.format(2), before=before), 4, block=1)
    assert [finding.kind for finding in outside.findings] == [FindingKind.OUT_OF_BOUNDS]
    assert data.tolist() == [-1, -1, 0, -1]


def test_constant_tables_can_be_read_and_not_written() -> None:
    table = "@table = private addrspace(4) constant [2 x i32] [i32 3, i32 5]"
    place = "getelementptr (i32, ptr addrspace(4) @table, i64 1)"
    read, data = run(
        nvidia(
            f"  %v = load i32, ptr addrspace(4) {place}\n  store i32 %v, ptr addrspace(1) %data", before=table
        ),
        block=1,
    )
    assert read.findings == ()
    assert data[0] == 5
    written, _ = run(nvidia(f"  store i32 1, ptr addrspace(4) {place}", before=table), block=1)
    assert [finding.kind for finding in written.findings] == [FindingKind.OUT_OF_BOUNDS]


def test_accesses_that_hardware_clamps_are_counted() -> None:
    body = (
        "  %thread = call i32 @llvm.amdgcn.workitem.id.x()\n"
        "  %offset = shl i32 %thread, 2\n"
        "  %buffer = call ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32("
        "ptr addrspace(1) %data, i16 0, i32 40, i32 0)\n"
        "  %place = getelementptr i8, ptr addrspace(7) %buffer, i32 %offset\n"
        "  %value = load i32, ptr addrspace(7) %place\n"
        "  store i32 %thread, ptr addrspace(7) %place"
    )
    report, data = run(loaded(amd(body), "gfx942"), 64)
    assert (report.clamped_loads, report.clamped_stores) == (54, 54)
    assert report.findings == ()
    assert data.tolist() == [*range(10), *[-1] * 54]


# ------------------------------------------------------------------ what is reported


def test_a_report_counts(store_thread: LoadedKernel) -> None:
    report, data = run(store_thread, settings=LaunchSettings(orders=(0, 1, 5)), grid=2)
    assert data.tolist() == list(range(64))
    assert report.kernel == "kernel"
    assert report.workgroups == 2 * 3
    assert report.accesses == 64 * 2 * 3
    assert report.collectives == 0


def test_collectives_count_once_a_warp() -> None:
    shuffle = "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)"
    report, _ = run(threads(f"  %a = {shuffle}\n  %b = {shuffle}"), block=96)
    assert report.collectives == 2 * 3


def test_a_finding_names_its_place_and_its_lane() -> None:
    text = threads(
        "  %group = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        "  %is_second = icmp eq i32 %group, 1\n"
        "  %is_late = icmp ugt i32 %thread, 36\n"
        "  %is_bad = and i1 %is_second, %is_late\n"
        "  br i1 %is_bad, label %bad, label %end\n"
        "bad:\n"
        "  %far_out = getelementptr i32, ptr addrspace(1) %data, i32 1000\n"
        "  store i32 1, ptr addrspace(1) %far_out\n"
        "  br label %end\n"
        "end:\n  ret void"
    )
    report, _ = run(text, grid=3)
    (finding,) = report.findings
    assert (finding.thread, finding.warp, finding.lane) == (37, 1, 5)
    assert finding.workgroup == (1, 0, 0)
    assert finding.count == 64 - 37
    assert finding.operation == "llvm.store"
    shown = str(finding)
    assert shown.startswith(
        f"out-of-bounds at kernel:{finding.line} llvm.store: workgroup (1, 0, 0), warp 1, lane 5"
    )
    assert shown.endswith("(27 times)")


def test_the_line_of_a_finding_is_in_the_device_code() -> None:
    code = compile_for_emulator(STORE_THREAD, device("sm_80"))
    (kernel,) = code.load().values()
    report, _ = run(kernel, 10)
    (finding,) = report.findings
    assert "llvm.store" in code.device_code.splitlines()[finding.line - 1]


def test_findings_of_one_kind_do_not_hide_others() -> None:
    loads = "\n".join(
        f"  %far{i} = getelementptr i32, ptr addrspace(1) %data, i32 {1000 + i}\n"
        f"  %value{i} = load i32, ptr addrspace(1) %far{i}"
        for i in range(300)
    )
    report, _ = run(threads(f"{loads}\n  %read = load i32, ptr addrspace(3) %own"))
    kinds = [finding.kind for finding in report.findings]
    assert kinds.count(FindingKind.OUT_OF_BOUNDS) == 16
    assert kinds.count(FindingKind.UNINITIALIZED) == 1


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_processes_share_the_workgroups_and_their_findings(processes: int) -> None:
    text = threads("  store i32 1, ptr addrspace(1) %out")
    report, data = run(text, 40, grid=7, settings=LaunchSettings(processes=processes, orders=(0,)))
    (finding,) = report.findings
    assert report.workgroups == 7
    assert finding.count == 24 * 7
    assert (data == 1).all()


def test_a_report_is_json_and_back(store_thread: LoadedKernel) -> None:
    report, _ = run(store_thread, 10)
    assert report.findings
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_a_kernel_that_depends_on_the_order_is_found() -> None:
    text = threads("  store i32 %thread, ptr addrspace(1) %data")
    one, data = run(text, 1)
    assert one.findings == ()
    assert data[0] == 63
    both, data = run(text, 1, settings=LaunchSettings(orders=(0, 1)))
    (finding,) = both.findings
    assert finding.kind is FindingKind.ORDER
    assert data[0] == 0
    assert str(finding).startswith(
        "order at kernel: another order of lanes and warps leaves other bytes at 0x"
    )


def test_each_order_begins_with_the_same_memory() -> None:
    text = threads(
        "  %old = load i32, ptr addrspace(1) %out\n"
        "  %new = add i32 %old, 3\n"
        "  store i32 %new, ptr addrspace(1) %out"
    )
    report, data = run(text, settings=LaunchSettings(orders=(0, 1, 7)))
    assert report.findings == ()
    assert (data == 2).all()


def test_seeds_give_different_orders() -> None:
    text = threads("  store i32 %thread, ptr addrspace(1) %data")
    last = {int(run(text, 1, settings=LaunchSettings(orders=(seed,)))[1][0]) for seed in range(2, 12)}
    assert len(last) > 4


# ------------------------------------------------------------------ crashes and endless loops

DIVIDE = nvidia(
    "  %zero = load i32, ptr addrspace(1) %data\n"
    "  %crash = udiv i32 7, %zero\n"
    "  store i32 %crash, ptr addrspace(1) %data"
)


def test_a_crash_of_a_process_is_an_error_here() -> None:
    data = DeviceBuffer(4, "data")
    data.view(np.dtype(np.int32), (1,))[:] = 0
    with pytest.raises(HarnessError, match="kernel: the kernel ended by signal 8"):
        launch(loaded(DIVIDE), (2, 1, 1), (1, 1, 1), [data], settings=LaunchSettings(processes=2))
    data.free()


ENDLESS = """
import sys
sys.path[:0] = {path}
import numpy as np
from snippets import loaded, nvidia
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
body = "  br label %again\\nagain:\\n  store i32 1, ptr addrspace(1) %data\\n  br label %again"
kernel = loaded(nvidia(body))
print("started", flush=True)
launch(kernel, (2, 1, 1), (32, 1, 1), [DeviceBuffer(4, "data")], settings=LaunchSettings(processes=2))
"""


def test_an_endless_loop_ends_with_the_process_that_launched_it() -> None:
    program = ENDLESS.format(path=[str(Path(__file__).parent)])
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "started\n"
    children = wait_until(lambda: children_of(worker.pid))
    worker.kill()
    worker.wait()
    assert len(children) == 2
    assert wait_until(lambda: not any(is_running(child) for child in children))


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started, once there are two."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in listed] if len(listed) == 2 else []


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], Value], seconds: float = 20.0) -> Value:
    """Return what a condition gives once it is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def test_too_many_buffers_end_with_a_message():
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
