"""CUDA's driver, as the executable of GPU kernels asks for it."""

import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from harness.artifact.artifact import Artifact
from harness.artifact.device_facts import DriverMetrics
from harness.targets.cuda.device.calls import checked
from harness.targets.cuda.device.context import Device, open_device, synchronize
from harness.targets.cuda.device.events import event_timer
from harness.targets.cuda.device.graphs import captured
from harness.targets.cuda.device.memory import CudaMemory
from harness.targets.cuda.images import image_for
from harness.targets.gpu.driver import Driver, Enqueue, PackedArguments
from harness.targets.gpu.event_timer import EventTimer
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `cuda` onto the first device that runs its code."""
    plan = GpuLaunch.model_validate(artifact.launch)
    device = open_device(plan.chip)
    image = image_for(folder, plan.chip, device.chip)
    return GpuKernels(artifact.case.problem, plan, CudaDriver(device, image, plan.kernels))


class CudaDriver(Driver):
    """Runs the kernels of one image on a device."""

    has_graphs = True

    def __init__(self, device: Device, image: bytes, kernels: Sequence[GpuKernel]) -> None:
        """Load the image and find its kernels; raises `DeviceError` where the driver refuses one."""
        self._device = device
        self._stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_DEFAULT))
        weakref.finalize(self, driver.cuStreamDestroy, self._stream)
        self._module = checked(driver.cuModuleLoadData(image))
        self._functions = {kernel.name: self._function(kernel) for kernel in kernels}

    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> CudaMemory:
        """Return memory of the device."""
        return CudaMemory(bytes_)

    def prepare(self, kernel: GpuKernel, arguments: Sequence[CudaMemory]) -> Enqueue:
        """Return what launches a kernel on the driver's stream, which waits for copies and they for it."""
        addresses = PackedArguments([*(memory.address for memory in arguments), *[0] * kernel.null_arguments])
        return partial(_launch, self._functions[kernel.name], kernel, addresses, int(self._stream))

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
        synchronize()

    def turn(self) -> AbstractContextManager[object]:
        """Make the device this thread's own."""
        self._device.make_current()
        return nullcontext()

    def timer(self) -> EventTimer:
        """Return a timer by events on the stream of the kernels."""
        return event_timer(self._device, int(self._stream))

    def captured(self, work: Enqueue) -> Enqueue:
        """Return a graph of what is enqueued on the stream of the kernels."""
        return captured(work, int(self._stream))

    def metrics(self) -> DriverMetrics:
        """Return registers and local memory of a thread, the most of all kernels."""
        attributes = driver.CUfunction_attribute
        return DriverMetrics(
            driver_registers=self._most(attributes.CU_FUNC_ATTRIBUTE_NUM_REGS),
            driver_local_bytes=self._most(attributes.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        )

    def _most(self, attribute: Any) -> int:
        """Return the largest value of an attribute of the kernels."""
        functions = self._functions.values()
        return max(int(checked(driver.cuFuncGetAttribute(attribute, function))) for function in functions)

    def _function(self, kernel: GpuKernel) -> Any:
        """Return a kernel's function, which may use as much shared memory as its launch asks for."""
        function = checked(driver.cuModuleGetFunction(self._module, kernel.name.encode()))
        largest = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(function, largest, kernel.shared_bytes))
        return function


def _launch(function: Any, kernel: GpuKernel, arguments: PackedArguments, stream: int) -> None:
    grid, block = (kernel.grid, 1, 1), (kernel.threads, 1, 1)
    launch = (*grid, *block, kernel.shared_bytes, stream, arguments.address, 0)
    checked(driver.cuLaunchKernel(function, *launch))
