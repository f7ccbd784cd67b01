"""The executor `device` of kernels that this harness generates."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver

from harness.artifact.artifact import Artifact, BoundCall, Executable, Sample
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import buffer_dtype
from harness.problem.inputs import Inputs
from harness.targets.cuda.device.calls import checked
from harness.targets.cuda.device.context import Device, open_device, synchronize
from harness.targets.cuda.device.event_timer import EventTimer
from harness.targets.cuda.device.memory import DEFAULT_STREAM, DeviceMemory
from harness.targets.cuda.images import image_for
from harness.targets.gpu.launch import POISON, GpuKernel, GpuLaunch
from harness.targets.lowering.buffers import OUTPUT, checked_input


def load(artifact: Artifact, folder: Path) -> "DeviceKernels":
    """Load an artifact of the target `cuda` onto the first device that runs its code."""
    plan = GpuLaunch.model_validate(artifact.launch)
    return DeviceKernels(artifact.case.problem, plan, open_device(plan.chip), folder)


class DeviceKernels(Executable):
    """Kernels on a device."""

    def __init__(self, problem: AttentionProblem, plan: GpuLaunch, device: Device, folder: Path) -> None:
        self.problem = problem
        self.plan = plan
        self.device = device
        self._module = checked(driver.cuModuleLoadData(image_for(folder, plan.chip, device.chip)))
        self.functions = [self._function(kernel) for kernel in plan.kernels]

    def bind(self, inputs: Inputs) -> "DeviceCall":
        """Copy the inputs to the device, and allocate output and workspaces there."""
        given = inputs.buffers(self.problem)
        memory = {
            name: DeviceMemory.of(checked_input(given, buffer))
            if buffer.is_input
            else DeviceMemory(buffer.bytes)
            for name, buffer in self.plan.buffers.items()
        }
        return DeviceCall(self, memory)

    def _function(self, kernel: GpuKernel) -> Any:
        """Return a kernel's function, which may use as much shared memory as its launch asks for."""
        function = checked(driver.cuModuleGetFunction(self._module, kernel.name.encode()))
        largest = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(function, largest, kernel.shared_bytes))
        return function


class DeviceCall(BoundCall):
    """Kernels with the memory that they work on."""

    def __init__(self, executable: DeviceKernels, memory: dict[str, DeviceMemory]) -> None:
        self._executable = executable
        self._memory = memory
        self._arguments = [_arguments(kernel, memory) for kernel in executable.plan.kernels]
        self._timer: EventTimer | None = None

    def poison(self) -> None:
        """Fill output and workspaces with NaN."""
        for name, buffer in self._executable.plan.buffers.items():
            if not buffer.is_input:
                self._memory[name].fill(POISON)

    def run(self) -> None:
        """Launch the kernels one after another and wait for the last one."""
        self._launch()
        synchronize()

    def sample(self, min_seconds: float) -> Sample:
        """Time calls on the device's own clock, see `EventTimer`."""
        if self._timer is None:
            self._timer = EventTimer(self._executable.device, DEFAULT_STREAM)
        return self._timer.sample(self._launch, min_seconds)

    def output(self) -> np.ndarray:
        """Return a copy of the output of the last run."""
        buffer = self._executable.plan.buffers[OUTPUT]
        return self._memory[OUTPUT].copied(buffer_dtype(buffer.dtype), buffer.shape)

    def _launch(self) -> None:
        executable = self._executable
        for kernel, function, arguments in zip(
            executable.plan.kernels, executable.functions, self._arguments, strict=True
        ):
            grid, block = (kernel.grid, 1, 1), (kernel.threads, 1, 1)
            address = ctypes.addressof(arguments.addresses)
            checked(
                driver.cuLaunchKernel(
                    function, *grid, *block, kernel.shared_bytes, DEFAULT_STREAM, address, 0
                )
            )


class _Arguments:
    """A kernel's arguments as the driver takes them: the address of each."""

    def __init__(self, values: list[int]) -> None:
        self._values = (ctypes.c_void_p * len(values))(*values)
        first, size = ctypes.addressof(self._values), ctypes.sizeof(ctypes.c_void_p)
        self.addresses = (ctypes.c_void_p * len(values))(*(first + size * at for at in range(len(values))))


def _arguments(kernel: GpuKernel, memory: dict[str, DeviceMemory]) -> _Arguments:
    addresses = [memory[buffer.name].address for buffer in kernel.buffers]
    return _Arguments([*addresses, *[0] * kernel.null_arguments])
