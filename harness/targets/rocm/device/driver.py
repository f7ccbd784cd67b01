"""HIP, as the executable of GPU kernels asks for it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.targets.gpu.driver import Driver, Enqueue, PackedArguments
from harness.targets.gpu.event_timer import EventTimer
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch
from harness.targets.rocm.code_object import CODE_OBJECT_FILE
from harness.targets.rocm.device.calls import call, made
from harness.targets.rocm.device.context import Device, open_device
from harness.targets.rocm.device.events import event_timer
from harness.targets.rocm.device.memory import DEFAULT_STREAM, HipMemory


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `rocm` onto the first device of its chip."""
    plan = GpuLaunch.model_validate(artifact.launch)
    device = open_device(plan.chip)
    image = (folder / CODE_OBJECT_FILE).read_bytes()
    return GpuKernels(artifact.case.problem, plan, HipDriver(device, image, plan.kernels))


class HipDriver(Driver):
    """Runs the kernels of one code object on a device."""

    def __init__(self, device: Device, image: bytes, kernels: Sequence[GpuKernel]) -> None:
        """Load the code object and find its kernels; raises `DeviceError` where the runtime refuses one."""
        self._device = device
        self._module = made("hipModuleLoadData", image)
        self._functions = {
            kernel.name: made("hipModuleGetFunction", self._module, kernel.name.encode())
            for kernel in kernels
        }

    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> HipMemory:
        """Return memory of the device."""
        return HipMemory(bytes_)

    def prepare(self, kernel: GpuKernel, arguments: Sequence[HipMemory]) -> Enqueue:
        """Return what launches a kernel on the default stream."""
        packed = PackedArguments([*(memory.address for memory in arguments), *[0] * kernel.null_arguments])
        return partial(_launch, self._functions[kernel.name], kernel, packed)

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
        call("hipDeviceSynchronize")

    def turn(self) -> AbstractContextManager[object]:
        """Make the device this thread's own."""
        self._device.make_current()
        return nullcontext()

    def timer(self) -> EventTimer:
        """Return a timer by events on the default stream."""
        return event_timer(self._device)


def _launch(function: int, kernel: GpuKernel, arguments: PackedArguments) -> None:
    grid, block = (kernel.grid, 1, 1), (kernel.threads, 1, 1)
    launch = (*grid, *block, kernel.shared_bytes, DEFAULT_STREAM, arguments.address, None)
    call("hipModuleLaunchKernel", function, *launch)
