"""What the executable of GPU kernels asks of a driver: memory, launches, and events where it has a clock.

CUDA's driver, the emulator, HIP and OpenCL differ behind this and nowhere else.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from harness.artifact.device_facts import DriverMetrics
from harness.system.errors import HarnessError
from harness.targets.gpu.launch import GpuKernel

if TYPE_CHECKING:
    from harness.targets.gpu.event_timer import EventTimer

Enqueue = Callable[[], None]
"""Starts work on a device, or does it at once."""


class DeviceError(HarnessError):
    """A driver refused a call, or a kernel failed on the device."""


class Fillable(Protocol):
    """Memory of a device, as what empties caches needs it."""

    def fill(self, byte: int) -> None:
        """Set every byte, before what is enqueued next."""


class DeviceMemory(Fillable, Protocol):
    """An allocation, freed with its object."""

    def write(self, array: np.ndarray) -> None:
        """Copy a contiguous array of the allocation's size to the device."""

    def read(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return a copy of the contents."""


class Driver(ABC):
    """Runs the kernels of one artifact on one device."""

    @abstractmethod
    def allocate(self, bytes_: int, name: str, *, is_input: bool) -> DeviceMemory:
        """Return memory for a buffer of this name, an input if kernels only read it; raises `MemoryError`.

        Kernels count on an address that is a multiple of `harness.codegen.layouts.alignment.BUFFER_ALIGNMENT`
        bytes.
        """

    @abstractmethod
    def prepare(self, kernel: GpuKernel, arguments: Sequence[Any]) -> Enqueue:
        """Return what launches a kernel with these allocations."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything is done; an error of a kernel is raised here."""

    def turn(self) -> AbstractContextManager[object]:
        """Return what a thread is in while it uses the driver, see `Executable.turn`; by default nothing."""
        return nullcontext()

    def timer(self) -> "EventTimer | None":
        """Return what times launches on the device's own clock; None where it has none."""
        return None

    has_graphs: ClassVar[bool] = False
    """Whether `captured` makes graphs; elsewhere calls are launched one by one."""

    def captured(self, work: Enqueue) -> Enqueue:
        """Return what launches, as one graph, all that `work` enqueues."""
        return work

    def metrics(self) -> DriverMetrics:
        """Return what the driver says of the kernels."""
        return DriverMetrics()


@dataclass(frozen=True)
class CallGraphs:
    """Calls that a device takes as one graph, and the same graph without them."""

    launch: Enqueue
    """One call by itself."""
    calls: int
    with_calls: Enqueue
    """Empties the caches and calls, so many times."""
    without_calls: Enqueue
    """Empties the caches so many times."""


class Events(Protocol):
    """Marks in a device's queue, between which it measures time; what `EventTimer` is made of."""

    def record(self, event: Any) -> None:
        """Enqueue a mark."""

    def create(self) -> Any:
        """Return a mark that can be recorded again and again."""

    def wait(self, event: Any) -> None:
        """Wait until the device has reached a mark."""

    def seconds_between(self, start: Any, end: Any) -> float:
        """Return the time between two marks that were reached."""

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
