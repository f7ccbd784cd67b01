"""Timing on a device: events around each call, caches emptied before it, clocks watched."""

import time
from collections.abc import Callable

from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.targets.gpu.clocks import Clocks
from harness.targets.gpu.driver import CallGraphs, Enqueue, Events, Fillable

FLUSHED_CACHES = 2
"""Sizes of the last-level cache that are written before each call: nothing of an earlier call is left."""

GRAPH_CALLS = 20
"""Calls of a graph: what beginning and ending it takes is a twentieth of itself in a call's time."""

SHORTEST_S = 1e-9
"""A call's time is at least this: the difference of two graphs may be nothing where a call does nothing."""

ENERGY_CALLS = 10
"""Calls between two looks at the clock while energy is counted."""


class EventTimer:
    """Times what a function enqueues on a device's queue.

    The last-level cache is overwritten before each call.  That also keeps the device busy while the host
    enqueues the call, so that the time between the events is the kernels' own.  What the host needs is told
    apart: the time of a call on an idle device less its time by events.
    """

    def __init__(self, events: Events, caches: Fillable, clocks: Clocks) -> None:
        """Take the device's events, memory of `FLUSHED_CACHES` times its last-level cache, and its clocks."""
        self._events = events
        self._caches = caches
        self._clocks = clocks
        self._start, self._end = events.create(), events.create()

    def empty_caches(self) -> None:
        """Enqueue what leaves nothing of an earlier call in the last-level cache."""
        self._caches.fill(0)

    def sample(self, launch: Enqueue, min_seconds: float) -> Sample:
        """Call again and again until the calls together took at least `min_seconds`."""
        facts = DeviceFacts(timed_by="events", launch_s=self._launch_seconds(launch))

        def calls_seconds() -> tuple[float, float]:
            self.empty_caches()
            seconds = self._seconds(launch)
            return seconds, seconds

        return self._sample(calls_seconds, 1, min_seconds, facts)

    def sample_graphs(self, graphs: CallGraphs, min_seconds: float) -> Sample:
        """Launch graphs until those with calls together took at least `min_seconds`.

        The time of a call is the difference between a graph with calls and one without, so that neither
        marks nor emptied caches are part of it: events alone add microseconds to a call.
        """
        facts = DeviceFacts(timed_by="graphs", launch_s=self._launch_seconds(graphs.launch))

        def calls_seconds() -> tuple[float, float]:
            passed = self._seconds(graphs.with_calls)
            return passed - self._seconds(graphs.without_calls), passed

        return self._sample(calls_seconds, graphs.calls, min_seconds, facts)

    def energy(self, launch: Enqueue, seconds: float) -> float | None:
        """Return the energy in J of a call, over calls one right after another for so many seconds.

        None where the device does not count it.  Caches are warm: emptying them takes energy, too.
        """
        launch()
        self._events.synchronize()
        before, began, calls = self._clocks.energy_j(), time.perf_counter(), 0
        if before is None:
            return None
        while calls == 0 or time.perf_counter() - began < seconds:
            for _ in range(ENERGY_CALLS):
                launch()
            calls += ENERGY_CALLS
            self._events.synchronize()
        after = self._clocks.energy_j()
        return None if after is None or after <= before else (after - before) / calls

    def _sample(
        self,
        calls_seconds: Callable[[], tuple[float, float]],
        calls: int,
        min_seconds: float,
        facts: DeviceFacts,
    ) -> Sample:
        """Time so many calls at once until `min_seconds` have passed, and watch the clocks."""
        self._clocks.start_sample()
        before = self._clocks.megahertz()
        seconds, passed, taken = 0.0, 0.0, 0
        while taken == 0 or passed < min_seconds:
            own, all_of_it = calls_seconds()
            seconds, passed, taken = seconds + own, passed + all_of_it, taken + calls
        state = self._clocks.state
        read = {
            "clock_mhz": state.megahertz,
            "clock_before_mhz": before,
            "clock_after_mhz": self._clocks.megahertz(),
            "temperature_c": self._clocks.temperature_c(),
        }
        return Sample(
            seconds=max(seconds / taken, SHORTEST_S),
            calls=taken,
            device=facts.model_copy(update=read),
            throttled=state.throttled,
        )

    def _seconds(self, work: Enqueue) -> float:
        """Return the time of some work by the events, and read the clocks while it is done."""
        self._enqueue(work)
        self._clocks.read()
        return self._wait()

    def _launch_seconds(self, launch: Enqueue) -> float:
        """Return what one call on an idle device takes besides the time between its events."""
        self._events.synchronize()
        started = time.perf_counter()
        self._enqueue(launch)
        on_device = self._wait()
        return max(0.0, time.perf_counter() - started - on_device)

    def _enqueue(self, work: Enqueue) -> None:
        self._events.record(self._start)
        work()
        self._events.record(self._end)

    def _wait(self) -> float:
        self._events.wait(self._end)
        return self._events.seconds_between(self._start, self._end)


def call_graphs(capture: Callable[[Enqueue], Enqueue], empty_caches: Enqueue, launch: Enqueue) -> CallGraphs:
    """Return the graphs by which `GRAPH_CALLS` calls are timed."""

    def with_calls() -> None:
        for _ in range(GRAPH_CALLS):
            empty_caches()
            launch()

    def without_calls() -> None:
        for _ in range(GRAPH_CALLS):
            empty_caches()

    return CallGraphs(launch, GRAPH_CALLS, capture(with_calls), capture(without_calls))
