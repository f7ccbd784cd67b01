"""CUDA's driver, as the executable of GPU kernels asks for it: streams with graphs, and what it says."""

import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from harness.artifact.artifact import Artifact
from harness.artifact.device_facts import DriverMetrics
from harness.targets.cuda.chips import machine_code_runs_on
from harness.targets.cuda.device import CUBIN_FILE, PTX_FILE
from harness.targets.cuda.device.context import checked, open_device
from harness.targets.gpu.driver import Enqueue
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch
from harness.targets.gpu.streams import StreamDevice, StreamDriver


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `cuda` onto the first device that runs its code."""
    plan = GpuLaunch.model_validate(artifact.launch)
    device = open_device(plan.chip)
    image = image_for(folder, plan.chip, device.chip)
    return GpuKernels(artifact.case.problem, plan, CudaDriver(device, image, plan.kernels))


def image_for(folder: Path, chip: str, device_chip: str) -> bytes:
    """Return the machine code if it runs on a device, else the assembly, which its driver compiles."""
    cubin = folder / CUBIN_FILE
    if cubin.exists() and machine_code_runs_on(chip, device_chip):
        return cubin.read_bytes()
    return (folder / PTX_FILE).read_bytes() + b"\0"


class CudaDriver(StreamDriver):
    """Runs the kernels of one image on a stream of its own: those that every device has are not captured."""

    has_graphs = True

    def __init__(self, device: StreamDevice, image: bytes, kernels: Sequence[GpuKernel]) -> None:
        """Load the image and find its kernels, which may use as much shared memory as a launch asks for."""
        stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_DEFAULT))
        weakref.finalize(self, driver.cuStreamDestroy, stream)
        super().__init__(device, image, kernels, int(stream))
        largest = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        for kernel in kernels:
            checked(driver.cuFuncSetAttribute(self.functions[kernel.name], largest, kernel.shared_bytes))

    def captured(self, work: Enqueue) -> Enqueue:
        """Return what launches, as one graph, all that `work` enqueues on the stream of the kernels."""
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        checked(driver.cuStreamBeginCapture(self.stream, mode))
        try:
            work()
        finally:
            graph = checked(driver.cuStreamEndCapture(self.stream))
        return partial(_launch, _Graph(graph), self.stream)

    def metrics(self) -> DriverMetrics:
        """Return registers and local memory of a thread, the most of all kernels."""
        attributes = driver.CUfunction_attribute
        return DriverMetrics(
            driver_registers=self._most(attributes.CU_FUNC_ATTRIBUTE_NUM_REGS),
            driver_local_bytes=self._most(attributes.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        )

    def _most(self, attribute: Any) -> int:
        functions = self.functions.values()
        return max(int(checked(driver.cuFuncGetAttribute(attribute, function))) for function in functions)


class _Graph:
    """An executable graph, freed with this object."""

    def __init__(self, graph: Any) -> None:
        self.executable = checked(driver.cuGraphInstantiate(graph, 0))
        checked(driver.cuGraphDestroy(graph))
        weakref.finalize(self, driver.cuGraphExecDestroy, self.executable)


def _launch(graph: _Graph, stream: int) -> None:
    checked(driver.cuGraphLaunch(graph.executable, stream))
