"""Launches of loaded kernels, in two orders of lanes, on buffers that the emulator watches."""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.emulator.findings import Finding, FindingKind, Report
from harness.emulator.loading import LoadedKernel
from harness.emulator.native_library import library
from harness.emulator.retarget.retargeted import Site
from harness.emulator.structures import CLaunchOptions, CLaunchOutcome
from harness.system.errors import HarnessError, InputError, OutOfMemoryError

FORWARD, REVERSED = 0, 1
"""Orders of lanes and warps; any larger number is the seed of a random one."""

BOTH_ORDERS = (FORWARD, REVERSED)

MAXIMUM_PROCESSES = 16
"""`MAXIMUM_PROCESSES` of `emulator/runtime/launch.h`."""


@dataclass(frozen=True)
class LaunchSettings:
    """How a launch is executed."""

    processes: int = 1
    """Processes that share the workgroups; 1: this one runs them all."""
    orders: tuple[int, ...] = BOTH_ORDERS
    """Orders of lanes and warps; the results must be the same bytes in all of them."""
    checks_within_warps: bool = False
    """Whether lanes of one warp race, too, unless a warp-wide operation orders them."""


class DeviceBuffer:
    """Memory between guard pages, filled with 0xFF, that kernels may access."""

    def __init__(self, bytes_: int, name: str, *, is_writable: bool = True) -> None:
        runtime = library()
        runtime.emulator_allocate.restype = ctypes.c_void_p
        address = runtime.emulator_allocate(ctypes.c_size_t(bytes_), name.encode(), int(is_writable))
        if not address and not runtime.emulator_has_room():
            raise HarnessError(f"{name}: the emulator has no room for more buffers")
        if not address:
            raise OutOfMemoryError(f"no memory for {bytes_} bytes of {name}")
        self.address: int = address
        self.bytes = bytes_
        self.name = name

    @classmethod
    def of(cls, array: np.ndarray, name: str) -> "DeviceBuffer":
        """Return a buffer that holds a copy of an array and that kernels may only read."""
        buffer = cls(array.nbytes, name, is_writable=False)
        buffer.write(array)
        return buffer

    def view(self, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return the memory as an array; it must not be used after `free`."""
        size = math.prod(shape) * dtype.itemsize
        if size > self.bytes:
            raise InputError(f"{self.name}: {size} bytes asked for, it has {self.bytes}")
        raw = (ctypes.c_uint8 * size).from_address(self.address)
        return np.frombuffer(memoryview(raw), dtype=np.uint8).view(dtype).reshape(tuple(shape))

    def write(self, array: np.ndarray) -> None:
        """Copy an array."""
        self.view(array.dtype, array.shape)[...] = array

    def fill(self, byte: int) -> None:
        """Set every byte."""
        self.view(np.dtype(np.uint8), (self.bytes,)).fill(byte)

    def read(self, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        """Return a copy of the contents."""
        return self.view(dtype, shape).copy()

    def free(self) -> None:
        """Give the memory back."""
        free(self.address)


def free(address: int) -> None:
    """Give the memory of a buffer back."""
    library().emulator_free(ctypes.c_void_p(address))


Argument = DeviceBuffer | np.generic


def launch(
    kernel: LoadedKernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: Sequence[Argument],
    *,
    shared_bytes: int = 0,
    settings: LaunchSettings | None = None,
) -> Report:
    """Run a kernel once on `grid` workgroups of `block` threads; buffers hold its results afterwards.

    Scalars are NumPy scalars of the size that the kernel takes; `shared_bytes` is the size of the shared
    array that has none in the code.  Raises `InputError` for arguments that do not fit, and
    `HarnessError` where the kernel crashed.
    """
    settings = settings or LaunchSettings()
    outcome = CLaunchOutcome()
    _check_block(kernel, block)
    pointers, keeps = _argument_pointers(kernel, arguments)
    options = launch_options(settings)
    done = library().emulator_launch(
        ctypes.byref(kernel.structure),
        (ctypes.c_uint32 * 3)(*grid),
        (ctypes.c_uint32 * 3)(*block),
        ctypes.c_uint32(shared_bytes),
        pointers,
        ctypes.byref(options),
        ctypes.byref(outcome),
    )
    del keeps
    if done != 0:
        raise InputError(f"{kernel.description.name}: {outcome.findings[0].message.decode()}")
    if outcome.signal:
        raise HarnessError(f"{kernel.description.name}: the kernel ended by signal {outcome.signal}")
    return report_of(kernel, outcome)


def launch_options(settings: LaunchSettings) -> CLaunchOptions:
    """Return settings as the runtime reads them."""
    return CLaunchOptions(
        processes=settings.processes,
        checks_within_warps=settings.checks_within_warps,
        order_count=len(settings.orders),
        orders=(ctypes.c_uint64 * len(settings.orders))(*settings.orders),
    )


def report_of(kernel: LoadedKernel, outcome: CLaunchOutcome) -> Report:
    """Return what a launch did, with findings at their places in the device code."""
    findings = [_finding(kernel, outcome, number) for number in range(outcome.finding_count)]
    if outcome.differs:
        message = f"another order of lanes and warps leaves other bytes at {outcome.differing_address:#x}"
        findings.append(Finding(kind=FindingKind.ORDER, kernel=kernel.description.name, message=message))
    clamped = list(outcome.clamped)
    return Report(
        kernel=kernel.description.name,
        workgroups=outcome.workgroups,
        collectives=outcome.collectives,
        accesses=outcome.accesses,
        clamped_loads=clamped[0] + clamped[2],
        clamped_stores=clamped[1] + clamped[3],
        findings=tuple(findings),
    )


def _check_block(kernel: LoadedKernel, block: tuple[int, int, int]) -> None:
    stated = kernel.description.block
    if stated is not None and math.prod(block) > math.prod(stated):
        raise InputError(f"{kernel.description.name}: a workgroup of {block}; its code is for {stated}")


def _argument_pointers(
    kernel: LoadedKernel, arguments: Sequence[Argument]
) -> tuple["ctypes.Array[ctypes.c_void_p]", list[object]]:
    expected = kernel.description.argument_bytes
    if len(arguments) != len(expected):
        raise InputError(f"{kernel.description.name}: {len(arguments)} arguments; expected {len(expected)}")
    pointers = (ctypes.c_void_p * len(arguments))()
    keeps: list[object] = []
    for position, (argument, size) in enumerate(zip(arguments, expected, strict=True)):
        value = np.uint64(argument.address) if isinstance(argument, DeviceBuffer) else argument
        raw = value.tobytes()
        if len(raw) != size:
            raise InputError(
                f"{kernel.description.name}: argument {position} has {len(raw)} bytes; expected {size}"
            )
        memory = ctypes.create_string_buffer(raw, len(raw))
        keeps.append(memory)
        pointers[position] = ctypes.addressof(memory)
    return pointers, keeps


def _finding(kernel: LoadedKernel, outcome: CLaunchOutcome, number: int) -> Finding:
    raw = outcome.findings[number]
    has_place = 0 <= raw.site < len(kernel.sites)
    site = kernel.sites[raw.site] if has_place else Site("", 0)
    return Finding(
        kind=FindingKind(raw.kind),
        kernel=kernel.description.name,
        operation=site.operation,
        line=site.line,
        thread=raw.thread,
        lane=raw.lane,
        warp=raw.warp,
        workgroup=tuple(raw.workgroup),
        count=raw.count,
        message=raw.message.decode(errors="replace"),
    )
