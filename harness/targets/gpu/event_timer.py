"""Timing on a device: events around each call, caches emptied before it, clocks watched."""

import time

from harness.artifact.bound_call import Sample
from harness.targets.gpu.clocks import Clocks
from harness.targets.gpu.driver import DeviceMemory, Enqueue, Events

FLUSHED_CACHES = 2
"""Sizes of the last-level cache that are written before each call: nothing of an earlier call is left."""


class EventTimer:
    """Times what a function enqueues on a device's queue.

    The last-level cache is overwritten before each call.  That also keeps the device busy while the host
    enqueues the call, so that the time between the events is the kernels' own, without the host's.  What the
    host needs is told apart: the time of a call on an idle device, until its result is there, less its time
    by events.
    """

    def __init__(self, events: Events, caches: DeviceMemory, clocks: Clocks) -> None:
        """Take the device's events, memory of `FLUSHED_CACHES` times its last-level cache, and its clocks."""
        self._events = events
        self._caches = caches
        self._clocks = clocks
        self._start, self._end = events.create(), events.create()

    def sample(self, launch: Enqueue, min_seconds: float) -> Sample:
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

    def _call_seconds(self, launch: Enqueue) -> float:
        """Return the time of one call, with nothing of its inputs in the caches."""
        self._caches.fill(0)
        self._enqueue(launch)
        self._clocks.read()
        return self._wait()

    def _launch_seconds(self, launch: Enqueue) -> float:
        """Return what one call on an idle device takes besides the time between its events."""
        self._events.synchronize()
        started = time.perf_counter()
        self._enqueue(launch)
        on_device = self._wait()
        return max(0.0, time.perf_counter() - started - on_device)

    def _enqueue(self, launch: Enqueue) -> None:
        self._events.record(self._start)
        launch()
        self._events.record(self._end)

    def _wait(self) -> float:
        """Wait for the end of a call and return its time by the events."""
        self._events.wait(self._end)
        return self._events.seconds_between(self._start, self._end)
