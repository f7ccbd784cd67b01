"""The executor `emulator` of kernels that this harness generates: they are launched directly."""

import weakref
from pathlib import Path

import numpy as np

from harness.artifact.artifact import Artifact, BoundCall, Executable
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.findings import Report
from harness.emulator.launching import MAXIMUM_PROCESSES, DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel
from harness.emulator.saved_code import load_saved
from harness.errors import EmulatorFindingsError
from harness.machine.cores import available_cores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import buffer_dtype
from harness.problem.inputs import Inputs
from harness.targets.gpu.launch import POISON, GpuKernel, GpuLaunch
from harness.targets.lowering.buffers import OUTPUT, Buffer, checked_input

NULL = np.uint64(0)


def load(artifact: Artifact, folder: Path) -> "EmulatedKernels":
    """Load an artifact of a GPU target for the emulator: all cores, both orders of lanes and warps."""
    kernels: dict[str, LoadedKernel] = {}
    for image in load_saved(folder / ARTIFACT_FOLDER):
        kernels |= image.code.load()
    settings = LaunchSettings(processes=min(available_cores(), MAXIMUM_PROCESSES))
    return EmulatedKernels(
        artifact.case.problem, GpuLaunch.model_validate(artifact.launch), kernels, settings
    )


class EmulatedKernels(Executable):
    """Kernels that the emulator runs and checks."""

    def __init__(
        self,
        problem: AttentionProblem,
        plan: GpuLaunch,
        kernels: dict[str, LoadedKernel],
        settings: LaunchSettings,
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.kernels = kernels
        self.settings = settings

    def bind(self, inputs: Inputs) -> "EmulatedCall":
        """Copy the inputs to memory that the emulator watches, and allocate output and workspaces there."""
        given = inputs.buffers(self.problem)
        arrays = {
            name: checked_input(given, buffer)
            for name, buffer in self.plan.buffers.items()
            if buffer.is_input
        }
        return EmulatedCall(self, arrays)


class EmulatedCall(BoundCall):
    """Kernels with the memory that they work on."""

    def __init__(self, executable: EmulatedKernels, inputs: dict[str, np.ndarray]) -> None:
        self.reports: list[Report] = []
        """What the launches of the last run did."""
        self._executable = executable
        self._memory: dict[str, DeviceBuffer] = {}
        for name, buffer in executable.plan.buffers.items():
            memory = DeviceBuffer.of(inputs[name], name) if name in inputs else _writable(buffer)
            weakref.finalize(self, memory.free)
            self._memory[name] = memory

    def poison(self) -> None:
        """Fill output and workspaces with NaN."""
        for name, buffer in self._executable.plan.buffers.items():
            if not buffer.is_input:
                memory = self._memory[name]
                memory.view(np.dtype(np.uint8), (memory.bytes,)).fill(POISON)

    def run(self) -> None:
        """Run the kernels one after another; raises `EmulatorFindingsError` if a check finds something."""
        self.reports = []
        for kernel in self._executable.plan.kernels:
            report = launch(
                self._executable.kernels[kernel.name],
                (kernel.grid, 1, 1),
                (kernel.threads, 1, 1),
                self._arguments(kernel),
                shared_bytes=kernel.shared_bytes,
                settings=self._executable.settings,
            )
            self.reports.append(report)
            if report.findings:
                raise EmulatorFindingsError([str(finding) for finding in report.findings])

    def _arguments(self, kernel: GpuKernel) -> list[DeviceBuffer | np.generic]:
        buffers = [self._memory[buffer.name] for buffer in kernel.buffers]
        return [*buffers, *[NULL] * kernel.null_arguments]

    def output(self) -> np.ndarray:
        """Return a copy of the output of the last run."""
        buffer = self._executable.plan.buffers[OUTPUT]
        return self._memory[OUTPUT].view(buffer_dtype(buffer.dtype), buffer.shape).copy()


def _writable(buffer: Buffer) -> DeviceBuffer:
    return DeviceBuffer(buffer.bytes, buffer.name)
