"""Kernels of a GPU target, ready to be called: the same for every driver."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.device_facts import DriverMetrics
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import CHANGING
from harness.problem.dtypes import buffer_dtype
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT
from harness.problem.pages import Paging
from harness.system.errors import memory_for
from harness.targets.gpu.driver import CallGraphs, DeviceMemory, Driver
from harness.targets.gpu.event_timer import EventTimer, call_graphs
from harness.targets.gpu.launch import POISON, GpuLaunch
from harness.targets.lowering.buffers import Buffer, checked_input, part_of


class GpuKernels(Executable):
    """The kernels of an artifact, loaded by a driver."""

    def __init__(self, problem: AttentionProblem, plan: GpuLaunch, driver: Driver) -> None:
        self.problem = problem
        self.plan = plan
        self.driver = driver

    def bind(self, inputs: Inputs) -> "GpuCall":
        """Copy the inputs to the device, and allocate output and workspaces there.

        Raises `OutOfMemoryError` where there is no memory for one of these.
        """
        arrays = inputs.buffers(self.problem)
        memory: dict[str, DeviceMemory] = {}
        for name, buffer in self.plan.buffers.items():
            with memory_for(buffer.need):
                memory[name] = self.driver.allocate(buffer.bytes, name, is_input=buffer.is_input)
            if buffer.is_input:
                memory[name].write(checked_input(arrays, buffer))
        return GpuCall(self, memory, inputs.paging)

    def driver_metrics(self) -> DriverMetrics:
        """Return what the driver says of the kernels."""
        return self.driver.metrics()

    def turn(self) -> AbstractContextManager[object]:
        """Return the driver's turn."""
        return self.driver.turn()


class GpuCall(BoundCall):
    """Kernels with the memory that they work on."""

    def __init__(
        self, executable: GpuKernels, memory: Mapping[str, DeviceMemory], paging: Paging | None
    ) -> None:
        self._executable = executable
        self._memory = memory
        self._paging = paging
        self._launches = [
            executable.driver.prepare(kernel, [memory[buffer.name] for buffer in kernel.buffers])
            for kernel in executable.plan.kernels
        ]
        self._timer: EventTimer | None = None
        self._graphs: CallGraphs | None = None

    def poison(self) -> None:
        """Fill output and workspaces with NaN."""
        self._fill(lambda buffer: not buffer.is_input)

    def poison_outputs(self) -> None:
        """Fill outputs with NaN."""
        self._fill(lambda buffer: buffer.is_output)

    def _fill(self, is_wanted: Callable[[Buffer], bool]) -> None:
        for name, buffer in self._executable.plan.buffers.items():
            if is_wanted(buffer):
                self._memory[name].fill(POISON)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy those inputs to the device that differ from one call to the next."""
        arrays = replace(inputs, paging=self._paging).buffers(self._executable.problem)
        for name, buffer in self._executable.plan.buffers.items():
            if buffer.is_input and name in CHANGING:
                self._memory[name].write(checked_input(arrays, buffer))
        return True

    def run(self) -> None:
        """Launch the kernels one after another and wait for the last one."""
        self._launch()
        self._executable.driver.synchronize()

    def sample(self, min_seconds: float) -> Sample:
        """Time calls on the device's own clock where it has one, else by the clock of this process."""
        timer = self._device_timer()
        return super().sample(min_seconds) if timer is None else timer.sample(self._launch, min_seconds)

    def sample_graphs(self, min_seconds: float) -> Sample:
        """Time calls as one graph where the driver has graphs, else as `sample` does."""
        timer, driver = self._device_timer(), self._executable.driver
        if timer is None or not driver.has_graphs:
            return self.sample(min_seconds)
        if self._graphs is None:
            self._graphs = call_graphs(driver.captured, timer.empty_caches, self._launch)
        return timer.sample_graphs(self._graphs, min_seconds)

    def energy(self, seconds: float) -> float | None:
        """Return the energy of a call where the device counts it."""
        timer = self._device_timer()
        return None if timer is None else timer.energy(self._launch, seconds)

    def output(self) -> np.ndarray:
        """Return a copy of the output of the last run."""
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return copies of all outputs of the last run."""
        shapes = {name: kind.shape for name, kind in self._executable.problem.outputs().items()}
        buffers = self._executable.plan.buffers.items()
        return {name: self._read(buffer, shapes[name]) for name, buffer in buffers if buffer.is_output}

    def _read(self, buffer: Buffer, shape: tuple[int, ...]) -> np.ndarray:
        whole = self._memory[buffer.name].read(buffer_dtype(buffer.dtype), buffer.callers_shape)
        return part_of(whole, shape)

    def _device_timer(self) -> EventTimer | None:
        """Return what times calls on the device's own clock, made when it is first asked for."""
        self._timer = self._timer or self._executable.driver.timer()
        return self._timer

    def _launch(self) -> None:
        for launch in self._launches:
            launch()
