"""The emulator as a driver: it launches kernels directly, and checks what they do."""

import weakref
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import numpy as np

from harness.artifact.artifact import Artifact
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.device_code import load_saved
from harness.emulator.launching import MAXIMUM_PROCESSES, DeviceBuffer, LaunchSettings, free, launch
from harness.emulator.loading import LoadedKernel
from harness.emulator.native_library import ONE_AT_A_TIME
from harness.system.errors import EmulatorFindingsError
from harness.system.machine.cores import allotted_cores
from harness.targets.gpu.driver import Driver, Enqueue
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuKernel, GpuLaunch

NULL = np.uint64(0)


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of a GPU target for the emulator: allotted cores, both orders of lanes and warps."""
    kernels: dict[str, LoadedKernel] = {}
    for image in load_saved(folder / ARTIFACT_FOLDER):
        kernels |= image.code.load()
    settings = LaunchSettings(processes=min(allotted_cores(), MAXIMUM_PROCESSES))
    plan = GpuLaunch.model_validate(artifact.launch)
    return GpuKernels(artifact.case.problem, plan, EmulatorDriver(kernels, settings))


class EmulatorDriver(Driver):
    """Launches kernels on this processor, one after another."""

    def __init__(self, kernels: Mapping[str, LoadedKernel], settings: LaunchSettings) -> None:
        self._kernels = kernels
        self._settings = settings

    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> DeviceBuffer:
        """Return memory whose accesses are watched; kernels may not write to an input."""
        buffer = DeviceBuffer(bytes_, name, is_writable=not is_input)
        weakref.finalize(buffer, free, buffer.address)
        return buffer

    def prepare(self, kernel: GpuKernel, arguments: Sequence[DeviceBuffer]) -> Enqueue:
        """Return what runs a kernel; it raises `EmulatorFindingsError` if a check finds something."""
        return partial(self._launch, kernel, [*arguments, *[NULL] * kernel.null_arguments])

    def turn(self) -> AbstractContextManager[object]:
        """Wait for other threads: a launch puts back what is in all buffers, those of others included."""
        return ONE_AT_A_TIME

    def synchronize(self) -> None:
        """Do nothing: a launch returns when its kernel is done."""

    def _launch(self, kernel: GpuKernel, arguments: Sequence[DeviceBuffer | np.generic]) -> None:
        report = launch(
            self._kernels[kernel.name],
            (kernel.grid, 1, 1),
            (kernel.threads, 1, 1),
            arguments,
            shared_bytes=kernel.shared_bytes,
            settings=self._settings,
        )
        if report.findings:
            raise EmulatorFindingsError([str(finding) for finding in report.findings])
