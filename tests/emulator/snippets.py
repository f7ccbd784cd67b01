"""Kernels of a few lines for tests of the emulator's core: what all of them need is written here once."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.findings import FindingKind, Report
from harness.emulator.importing import imported
from harness.emulator.launching import FORWARD, DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel
from harness.emulator.retarget.retarget import retarget
from harness.emulator.retarget.retargeted import Retargeted

ONE_ORDER = LaunchSettings(orders=(FORWARD,))

DATA = "ptr addrspace(1) %data"

NVIDIA_HEADER = """\
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.count(i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.cp.async.wait.all()
"""

AMD_HEADER = """\
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32(ptr addrspace(1), i16, i32, i32)
"""


def nvidia(body: str, arguments: str = DATA, before: str = "") -> str:
    """Return a kernel for NVIDIA, `@kernel`; a body without `ret` gets one.

    Args:
        body: instructions and blocks.
        arguments: of the kernel.
        before: globals and functions.
    """
    return _kernel(f"{NVIDIA_HEADER}\n{before}", f"ptx_kernel void @kernel({arguments})", body)


def amd(body: str, arguments: str = DATA, before: str = "") -> str:
    """Return a kernel for AMD likewise."""
    return _kernel(f"{AMD_HEADER}\n{before}", f"amdgpu_kernel void @kernel({arguments})", body)


def threads(body: str, arguments: str = DATA) -> str:
    """Return a kernel for NVIDIA in which %thread, %warp and %lane have values.

    There is a shared array of 256 integers, @shared; %own is the thread's place in it, %next the one of the
    next thread of 64, %far the one of the thread 32 places on, and %out the thread's place in %data.
    """
    positions = """
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %warp = lshr i32 %thread, 5
  %lane = and i32 %thread, 31
  %one_on = add i32 %thread, 1
  %next_thread = and i32 %one_on, 63
  %far_thread = xor i32 %thread, 32
  %own = getelementptr i32, ptr addrspace(3) @shared, i32 %thread
  %next = getelementptr i32, ptr addrspace(3) @shared, i32 %next_thread
  %far = getelementptr i32, ptr addrspace(3) @shared, i32 %far_thread
  %out = getelementptr i32, ptr addrspace(1) %data, i32 %thread
"""
    shared = "@shared = internal addrspace(3) global [256 x i32] undef, align 4"
    return nvidia(positions.strip("\n") + "\n" + body, arguments, before=shared)


def loaded(text: str, chip: str = "sm_80") -> LoadedKernel:
    """Compile device code with one kernel and load it."""
    (kernel,) = compile_for_emulator(text, device(chip)).load().values()
    return kernel


def retargeted(text: str, chip: str = "sm_80") -> Retargeted:
    """Return device code as it goes to the CPU's code generator."""
    return retarget(imported(text), device(chip).models)


def lines_of(code: Retargeted, function: str = "kernel") -> list[str]:
    """Return the instructions of a function, without space around them."""
    match = re.search(rf"^define \S+ @{function}\(.*?^}}", code.llvm_ir, re.MULTILINE | re.DOTALL)
    assert match is not None, code.llvm_ir
    return [line.strip() for line in match[0].splitlines()[1:-1] if line.startswith("  ")]


def _kernel(header: str, signature: str, body: str) -> str:
    end = "" if re.search(r"^\s*ret\b", body, re.MULTILINE) else "\n  ret void"
    return f"{header}\ndefine {signature} {{\n{body.strip(chr(10))}{end}\n}}\n"


def run(
    kernel: LoadedKernel | str,
    count: int = 64,
    *,
    block: int = 64,
    grid: int = 1,
    scalars: Sequence[np.generic] = (),
    initial: int = -1,
    shared_bytes: int = 0,
    settings: LaunchSettings = ONE_ORDER,
) -> tuple[Report, np.ndarray]:
    """Launch on a buffer of integers; returns what was found and the buffer."""
    data = DeviceBuffer(4 * count, "data")
    data.view(np.dtype(np.int32), (count,))[:] = initial
    kernel = loaded(kernel) if isinstance(kernel, str) else kernel
    try:
        report = launch(
            kernel,
            (grid, 1, 1),
            (block, 1, 1),
            [data, *scalars],
            shared_bytes=shared_bytes,
            settings=settings,
        )
        return report, data.view(np.dtype(np.int32), (count,)).copy()
    finally:
        data.free()


def findings_of(
    kernel: LoadedKernel | str, *, block: int = 64, shared_bytes: int = 0
) -> dict[FindingKind, int]:
    """Launch in both orders; returns how often each kind of mistake was found."""
    report, _ = run(kernel, block=block, shared_bytes=shared_bytes, settings=LaunchSettings())
    counts = Counter[FindingKind]()
    for finding in report.findings:
        counts[finding.kind] += finding.count
    return dict(counts)
