"""Samples on a device, whose events and clocks a test makes up."""

import pytest

from harness.targets.gpu.clocks import ClockReading, Clocks
from harness.targets.gpu.event_timer import ENERGY_CALLS, GRAPH_CALLS, EventTimer, call_graphs


class Device(Clocks):
    """A queue that knows how long each kind of work takes, and counts 100 W."""

    def __init__(self, call_s: float = 1e-5, flush_s: float = 1e-4, mark_s: float = 0.0) -> None:
        super().__init__()
        self.call_s, self.flush_s, self.mark_s = call_s, flush_s, mark_s
        self.now = 0.0
        self.calls = 0
        self.counts_energy = True

    def call(self) -> None:
        self.calls += 1
        self.now += self.call_s

    def fill(self, byte: int) -> None:
        self.now += self.flush_s

    def create(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float]) -> None:
        self.now += self.mark_s
        event[0] = self.now

    def wait(self, event: list[float]) -> None:
        pass

    def seconds_between(self, start: list[float], end: list[float]) -> float:
        return end[0] - start[0]

    def synchronize(self) -> None:
        pass

    def clock(self) -> ClockReading:
        return ClockReading(1980, 0)

    def temperature_c(self) -> int:
        return 40

    def energy_j(self) -> float | None:
        return 100 * self.now if self.counts_energy else None

    def timer(self) -> EventTimer:
        return EventTimer(self, self, self)  # type: ignore[arg-type]


def test_emptied_caches_are_no_part_of_a_call() -> None:
    device = Device()
    sample = device.timer().sample(device.call, 1e-4)
    assert sample.seconds == pytest.approx(1e-5)
    facts = sample.device
    assert (facts.clock_before_mhz, facts.clock_mhz, facts.clock_after_mhz) == (1980, 1980, 1980)
    assert facts.temperature_c == 40


def test_marks_are_part_of_an_event_s_time_and_not_of_a_graph_s() -> None:
    device = Device(mark_s=2e-6)
    timer = device.timer()
    assert timer.sample(device.call, 0.0).seconds == pytest.approx(1.2e-5)
    graphs = call_graphs(lambda work: work, timer.empty_caches, device.call)
    sample = timer.sample_graphs(graphs, 0.0)
    assert (sample.calls, sample.device.timed_by) == (GRAPH_CALLS, "graphs")
    assert sample.seconds == pytest.approx(1e-5)


def test_a_graph_of_calls_that_do_nothing_has_a_time() -> None:
    device = Device(call_s=0.0)
    timer = device.timer()
    graphs = call_graphs(lambda work: work, timer.empty_caches, device.call)
    assert timer.sample_graphs(graphs, 0.0).seconds > 0


def test_the_energy_of_a_call_is_without_emptied_caches() -> None:
    device = Device()
    assert device.timer().energy(device.call, 0.0) == pytest.approx(100 * 1e-5)
    assert device.calls == 1 + ENERGY_CALLS


def test_a_device_that_counts_no_energy_has_none() -> None:
    device = Device()
    device.counts_energy = False
    assert device.timer().energy(device.call, 0.0) is None
