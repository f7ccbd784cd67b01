"""HIP's events on the default stream, and the timer that is made of them."""

import ctypes

from harness.targets.gpu.event_timer import FLUSHED_CACHES, EventTimer
from harness.targets.rocm.chips import CHIPS
from harness.targets.rocm.device.calls import call, made
from harness.targets.rocm.device.clocks import amd_clocks
from harness.targets.rocm.device.context import Device
from harness.targets.rocm.device.memory import DEFAULT_STREAM, HipMemory

MILLISECOND = 1e-3


class HipEvents:
    """Events on the default stream."""

    def create(self) -> int:
        """Return an event that measures time."""
        return made("hipEventCreate")

    def record(self, event: int) -> None:
        """Enqueue an event."""
        call("hipEventRecord", event, DEFAULT_STREAM)

    def wait(self, event: int) -> None:
        """Wait until an event was reached."""
        call("hipEventSynchronize", event)

    def seconds_between(self, start: int, end: int) -> float:
        """Return the time between two events."""
        milliseconds = ctypes.c_float()
        call("hipEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value * MILLISECOND

    def synchronize(self) -> None:
        """Wait until the stream is empty."""
        call("hipStreamSynchronize", DEFAULT_STREAM)


def event_timer(device: Device) -> EventTimer:
    """Return a timer of what is enqueued on the default stream of a device.

    Behind the L2 cache some chips have a last-level cache that the runtime does not tell of.
    """
    last_level = max(device.l2_bytes, CHIPS[device.chip].last_level_cache_bytes, 1)
    return EventTimer(HipEvents(), HipMemory(FLUSHED_CACHES * last_level), amd_clocks(device.bus))
