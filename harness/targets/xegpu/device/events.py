"""OpenCL's events as marks in a queue, and the timer that is made of them."""

import ctypes
from dataclasses import dataclass

from harness.targets.gpu.clocks import Clocks
from harness.targets.gpu.event_timer import FLUSHED_CACHES, EventTimer
from harness.targets.xegpu.device.context import Device, one
from harness.targets.xegpu.device.memory import OpenClMemory

ENDED = 0x1283
"""CL_PROFILING_COMMAND_END, in nanoseconds of the device's clock."""
NANOSECOND = 1e-9


@dataclass
class Mark:
    """A place for an event: OpenCL makes one each time that something is enqueued."""

    event: int = 0


class OpenClEvents:
    """Events of markers in the queue of a device."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def create(self) -> Mark:
        """Return a mark without an event."""
        return Mark()

    def record(self, event: Mark) -> None:
        """Enqueue a marker; the event of the one before is given up."""
        made = ctypes.c_void_p()
        self._device.calls.call(
            "clEnqueueMarkerWithWaitList", self._device.queue, 0, None, ctypes.byref(made)
        )
        if event.event:
            self._device.calls.call("clReleaseEvent", event.event)
        event.event = made.value or 0

    def wait(self, event: Mark) -> None:
        """Wait until a marker was reached."""
        self._device.calls.call("clWaitForEvents", 1, one(event.event))

    def seconds_between(self, start: Mark, end: Mark) -> float:
        """Return the time between two markers."""
        return (self._nanoseconds(end) - self._nanoseconds(start)) * NANOSECOND

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        self._device.calls.call("clFinish", self._device.queue)

    def _nanoseconds(self, event: Mark) -> int:
        time = ctypes.c_uint64()
        given = event.event, ENDED, ctypes.sizeof(time), ctypes.byref(time), None
        self._device.calls.call("clGetEventProfilingInfo", *given)
        return time.value


def event_timer(device: Device) -> EventTimer:
    """Return a timer of what is enqueued on a device; nothing here watches its clock."""
    caches = OpenClMemory(device, FLUSHED_CACHES * max(device.cache_bytes, 1))
    return EventTimer(OpenClEvents(device), caches, Clocks(None, {}))
