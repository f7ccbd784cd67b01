"""OpenCL, as the executable of GPU kernels asks for it.

Memory is named by its address, as kernels take it (`cl_intel_unified_shared_memory`).
"""

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.artifact.artifact import Artifact
from harness.targets.gpu.clocks import Clocks
from harness.targets.gpu.driver import DeviceError, Driver, Enqueue
from harness.targets.gpu.event_timer import FLUSHED_CACHES, EventTimer
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch
from harness.targets.xegpu.chips import CHIPS
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.device.context import Device, one, open_gpu

ALIGNMENT = 64
"""Bytes that the address of a matrix has to be a multiple of, for messages that move blocks."""
BLOCKING = 1
NO_EVENTS = (0, None, None)
DIMENSIONS = 1
ENDED = 0x1283
"""CL_PROFILING_COMMAND_END, in nanoseconds of the device's clock."""
NANOSECOND = 1e-9
BUILD_LOG = 0x1183
"""CL_PROGRAM_BUILD_LOG."""
LOG_BYTES = 1 << 20


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `xegpu` onto the first GPU of its chip."""
    plan = GpuLaunch.model_validate(artifact.launch)
    device, image = open_gpu(plan.chip), (folder / SPIRV_FILE).read_bytes()
    program = device.calls.made("clCreateProgramWithIL", device.context, image, len(image))
    options = CHIPS[plan.chip].compiler_options.encode()
    with_log(device, program, "clBuildProgram", program, 1, one(device.handle), options, None, None)
    return GpuKernels(artifact.case.problem, plan, OpenClDriver(device, program))


class OpenClDriver(Driver):
    """Runs the kernels of one program on a device."""

    def __init__(self, device: Device, program: int) -> None:
        """Take a program that has been built for the device; it is given up with this object."""
        self._device = device
        self._program = program
        weakref.finalize(self, device.calls.call, "clReleaseProgram", program)

    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> "OpenClMemory":
        """Return memory of the device."""
        return OpenClMemory(self._device, bytes_)

    def prepare(self, kernel: GpuKernel, arguments: Sequence["OpenClMemory"]) -> Enqueue:
        """Return what launches a kernel in the device's queue."""
        addresses = [*(memory.address for memory in arguments), *[None] * kernel.null_arguments]
        return _Launch(self._device, self._program, kernel, addresses)

    def synchronize(self) -> None:
        """Wait until everything in the queue is done."""
        self._device.calls.call("clFinish", self._device.queue)

    def timer(self) -> EventTimer:
        """Return a timer by events in the device's queue; nothing here watches its clock."""
        caches = OpenClMemory(self._device, FLUSHED_CACHES * max(self._device.cache_bytes, 1))
        return EventTimer(OpenClEvents(self._device), caches, Clocks())


class _Launch:
    """A kernel with its arguments, which OpenCL keeps with an object of its own."""

    def __init__(
        self, device: Device, program: int, kernel: GpuKernel, addresses: Sequence[int | None]
    ) -> None:
        self._calls = device.calls
        handle = device.calls.made("clCreateKernel", program, kernel.name.encode())
        weakref.finalize(self, device.calls.call, "clReleaseKernel", handle)
        for index, address in enumerate(addresses):
            device.calls.call("clSetKernelArgMemPointerINTEL", handle, index, address)
        lanes, workgroup = (
            (ctypes.c_size_t * DIMENSIONS)(size) for size in (kernel.grid * kernel.threads, kernel.threads)
        )
        self._arguments = device.queue, handle, DIMENSIONS, None, lanes, workgroup, *NO_EVENTS

    def __call__(self) -> None:
        self._calls.call("clEnqueueNDRangeKernel", *self._arguments)


class OpenClMemory:
    """An allocation on the device, freed with this object."""

    def __init__(self, device: Device, bytes_: int) -> None:
        """Allocate; what fills it is in the order of the device's queue.  Raises `MemoryError`."""
        self.bytes = bytes_
        self._device = device
        allocation = device.context, device.handle, None, max(bytes_, 1), ALIGNMENT
        try:
            self.address = device.calls.made("clDeviceMemAllocINTEL", *allocation)
        except DeviceError as error:  # drivers have several names for it
            raise MemoryError(f"{bytes_} bytes: {error}") from error
        weakref.finalize(self, device.calls.call, "clMemBlockingFreeINTEL", device.context, self.address)

    def write(self, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        self._copy(self.address, array.ctypes.data, array.nbytes)

    def fill(self, byte: int) -> None:
        """Set every byte, in the order of the queue."""
        pattern = ctypes.c_ubyte(byte)
        filling = self.address, ctypes.byref(pattern), ctypes.sizeof(pattern), self.bytes
        self._device.calls.call("clEnqueueMemFillINTEL", self._device.queue, *filling, *NO_EVENTS)

    def read(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents as an array of the host."""
        array = np.empty(shape, dtype)
        self._copy(array.ctypes.data, self.address, array.nbytes)
        return array

    def _copy(self, destination: int, source: int, bytes_: int) -> None:
        copy = self._device.queue, BLOCKING, destination, source, bytes_
        self._device.calls.call("clEnqueueMemcpyINTEL", *copy, *NO_EVENTS)


@dataclass
class Mark:
    """A place for an event: OpenCL makes one each time that something is enqueued."""

    event: int = 0


class OpenClEvents:
    """Events of markers in the queue of a device."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def create(self) -> Mark:
        """Return a mark without an event."""
        return Mark()

    def record(self, event: Mark) -> None:
        """Enqueue a marker; the event of the one before is given up."""
        made = ctypes.c_void_p()
        marker = self._device.queue, 0, None, ctypes.byref(made)
        self._device.calls.call("clEnqueueMarkerWithWaitList", *marker)
        if event.event:
            self._device.calls.call("clReleaseEvent", event.event)
        event.event = made.value or 0

    def wait(self, event: Mark) -> None:
        """Wait until a marker was reached."""
        self._device.calls.call("clWaitForEvents", 1, one(event.event))

    def seconds_between(self, start: Mark, end: Mark) -> float:
        """Return the time between two markers."""
        return (self._nanoseconds(end) - self._nanoseconds(start)) * NANOSECOND

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        self._device.calls.call("clFinish", self._device.queue)

    def _nanoseconds(self, event: Mark) -> int:
        time = ctypes.c_uint64()
        asked = event.event, ENDED, ctypes.sizeof(time), ctypes.byref(time), None
        self._device.calls.call("clGetEventProfilingInfo", *asked)
        return time.value


def with_log(device: Device, program: int, function: str, *arguments: object) -> None:
    """Call what compiles a program; its error has the first line that the compiler says."""
    try:
        device.calls.call(function, *arguments)
    except DeviceError as error:
        raise DeviceError(f"{error}{_said(device, program)}") from error


def _said(device: Device, program: int) -> str:
    """Return the first line that a compiler says of a program, after a colon; nothing where it is silent."""
    log = ctypes.create_string_buffer(LOG_BYTES)
    try:
        asked = program, device.handle, BUILD_LOG, len(log), log, None
        device.calls.call("clGetProgramBuildInfo", *asked)
    except DeviceError:
        return ""
    lines = [line.strip() for line in log.value.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return "".join(f": {line}" for line in (telling or lines)[:1])
