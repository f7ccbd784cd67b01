"""CUDA's events on one stream, and the timer that is made of them."""

from typing import Any

from cuda.bindings import driver

from harness.targets.cuda.device.calls import checked
from harness.targets.cuda.device.clocks import nvidia_clocks
from harness.targets.cuda.device.context import Device
from harness.targets.cuda.device.memory import CudaMemory
from harness.targets.gpu.event_timer import FLUSHED_CACHES, EventTimer

MILLISECOND = 1e-3


class CudaEvents:
    """Events on one stream."""

    def __init__(self, stream: int) -> None:
        self._stream = stream

    def create(self) -> Any:
        """Return an event that measures time."""
        return checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DEFAULT))

    def record(self, event: Any) -> None:
        """Enqueue an event."""
        checked(driver.cuEventRecord(event, self._stream))

    def wait(self, event: Any) -> None:
        """Wait until an event was reached."""
        checked(driver.cuEventSynchronize(event))

    def seconds_between(self, start: Any, end: Any) -> float:
        """Return the time between two events."""
        return float(checked(driver.cuEventElapsedTime(start, end))) * MILLISECOND

    def synchronize(self) -> None:
        """Wait until the stream is empty."""
        checked(driver.cuStreamSynchronize(self._stream))


def event_timer(device: Device, stream: int) -> EventTimer:
    """Return a timer of what is enqueued on a stream of a device."""
    caches = CudaMemory(FLUSHED_CACHES * max(device.l2_bytes, 1), stream)
    return EventTimer(CudaEvents(stream), caches, nvidia_clocks(device.bus))
