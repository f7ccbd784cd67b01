"""Timing on the device: events around each call, caches emptied before it, clocks watched."""

import time
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

from harness.artifact.artifact import Sample
from harness.targets.cuda.device.calls import checked
from harness.targets.cuda.device.clocks import Clocks
from harness.targets.cuda.device.context import Device
from harness.targets.cuda.device.memory import DeviceMemory

MILLISECOND = 1e-3

FLUSHED_CACHES = 2
"""Sizes of the L2 cache that are written before each call: nothing of the call before is left in it."""


class EventTimer:
    """Times what a function enqueues on a stream.

    The L2 cache is overwritten before each call.  That also keeps the device busy while the host enqueues the
    call, so that the time between the events is the kernels' own, without the host's.  What the host needs is
    told apart: the time of a call on an idle device, until its result is there, less its time by events.
    """

    def __init__(self, device: Device, stream: int) -> None:
        self._stream = stream
        self._caches = DeviceMemory(FLUSHED_CACHES * max(device.l2_bytes, 1))
        self._start, self._end = _event(), _event()
        self._clocks = Clocks(device.bus)

    def sample(self, launch: Callable[[], None], min_seconds: float) -> Sample:
        """Call again and again until the calls together took at least `min_seconds`."""
        launch_s = self._launch_seconds(launch)
        self._clocks.start_sample()
        seconds = 0.0
        calls = 0
        while calls == 0 or seconds < min_seconds:
            seconds += self._call_seconds(launch)
            calls += 1
        state = self._clocks.state
        return Sample(
            seconds=seconds / calls,
            calls=calls,
            launch_s=launch_s,
            clock_mhz=state.megahertz,
            throttled=state.throttled,
        )

    def _call_seconds(self, launch: Callable[[], None]) -> float:
        """Return the time of one call, with nothing of its inputs in the caches."""
        self._caches.fill(0, self._stream)
        self._enqueue(launch)
        self._clocks.read()
        return self._wait()

    def _launch_seconds(self, launch: Callable[[], None]) -> float:
        """Return what one call on an idle device takes besides the time between its events."""
        checked(driver.cuStreamSynchronize(self._stream))
        started = time.perf_counter()
        self._enqueue(launch)
        on_device = self._wait()
        return max(0.0, time.perf_counter() - started - on_device)

    def _enqueue(self, launch: Callable[[], None]) -> None:
        checked(driver.cuEventRecord(self._start, self._stream))
        launch()
        checked(driver.cuEventRecord(self._end, self._stream))

    def _wait(self) -> float:
        """Wait for the end of a call and return its time by the events."""
        checked(driver.cuEventSynchronize(self._end))
        return float(checked(driver.cuEventElapsedTime(self._start, self._end))) * MILLISECOND


def _event() -> Any:
    return checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DEFAULT))
