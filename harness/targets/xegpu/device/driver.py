"""OpenCL, as the executable of GPU kernels asks for it."""

import ctypes
import weakref
from collections.abc import Sequence
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.targets.gpu.driver import Driver
from harness.targets.gpu.event_timer import EventTimer
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch
from harness.targets.xegpu.chips import CHIPS
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.device.context import Device, open_gpu
from harness.targets.xegpu.device.events import event_timer
from harness.targets.xegpu.device.memory import NO_EVENTS, OpenClMemory
from harness.targets.xegpu.device.program import built

DIMENSIONS = 1


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `xegpu` onto the first GPU of its chip."""
    plan = GpuLaunch.model_validate(artifact.launch)
    device = open_gpu(plan.chip)
    program = built(device, (folder / SPIRV_FILE).read_bytes(), CHIPS[plan.chip].compiler_options)
    return GpuKernels(artifact.case.problem, plan, OpenClDriver(device, program))


class OpenClDriver(Driver):
    """Runs the kernels of one program on a device."""

    def __init__(self, device: Device, program: int) -> None:
        """Take a program that has been built for the device; it is given up with this object."""
        self._device = device
        self._program = program
        weakref.finalize(self, device.calls.call, "clReleaseProgram", program)

    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> OpenClMemory:
        """Return memory of the device."""
        return OpenClMemory(self._device, bytes_)

    def prepare(self, kernel: GpuKernel, arguments: Sequence[OpenClMemory]) -> "PreparedKernel":
        """Return what launches a kernel in the device's queue."""
        addresses = [*(memory.address for memory in arguments), *[None] * kernel.null_arguments]
        return PreparedKernel(self._device, self._program, kernel, addresses)

    def synchronize(self) -> None:
        """Wait until everything in the queue is done."""
        self._device.calls.call("clFinish", self._device.queue)

    def timer(self) -> EventTimer:
        """Return a timer by events in the device's queue."""
        return event_timer(self._device)


class PreparedKernel:
    """A kernel with its arguments, which OpenCL keeps with an object of its own."""

    def __init__(
        self, device: Device, program: int, kernel: GpuKernel, addresses: Sequence[int | None]
    ) -> None:
        """Find the kernel in a program, and set its arguments; raises `DeviceError`."""
        self._device = device
        self._handle = device.calls.made("clCreateKernel", program, kernel.name.encode())
        weakref.finalize(self, device.calls.call, "clReleaseKernel", self._handle)
        for index, address in enumerate(addresses):
            device.calls.call("clSetKernelArgMemPointerINTEL", self._handle, index, address)
        self._lanes = ctypes.c_size_t(kernel.grid * kernel.threads)
        self._workgroup = ctypes.c_size_t(kernel.threads)

    def __call__(self) -> None:
        """Enqueue it."""
        sizes = None, ctypes.byref(self._lanes), ctypes.byref(self._workgroup)
        given = self._device.queue, self._handle, DIMENSIONS, *sizes
        self._device.calls.call("clEnqueueNDRangeKernel", *given, *NO_EVENTS)
