"""The clock of a device and what slows it down, whoever tells it."""

import pytest

from harness.targets.gpu.clocks import READ_INTERVAL_S, ClockReading, Clocks, ClockState


class Watched(Clocks):
    """One device that is read again and again; None when it may not be read any more."""

    slowdowns = {0x1: "power cap", 0x6: "temperature"}  # noqa: RUF012

    def __init__(self, *readings: ClockReading | None) -> None:
        super().__init__()
        self.readings = list(readings)

    def clock(self) -> ClockReading | None:
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one that tests change."""
    time = [100.0]
    monkeypatch.setattr("harness.targets.gpu.clocks.time.monotonic", lambda: time[0])
    return time


def test_readings_in_quick_succession_are_one(now: list[float]) -> None:
    watch = Watched(ClockReading(1980, 0), ClockReading(1200, 0x1))
    watch.read()
    watch.read()
    assert watch.state == ClockState(1980, None)
    now[0] += READ_INTERVAL_S
    watch.read()
    assert watch.state == ClockState(1200, "power cap")


def test_a_slowdown_counts_for_its_sample_and_for_no_other(now: list[float]) -> None:
    watch = Watched(ClockReading(1200, 0x1), ClockReading(1980, 0))
    watch.read()
    now[0] += READ_INTERVAL_S
    watch.read()
    assert watch.state == ClockState(1980, "power cap")
    watch.start_sample()
    watch.read()
    assert watch.state == ClockState(1980, None)


def test_a_reason_without_a_name_is_no_slowdown(now: list[float]) -> None:
    watch = Watched(ClockReading(1980, 0x100))
    watch.read()
    assert watch.state == ClockState(1980, None)


def test_a_device_that_may_not_be_read_any_more_is_not_known(now: list[float]) -> None:
    watch = Watched(ClockReading(1980, 0x1), None)
    watch.read()
    now[0] += READ_INTERVAL_S
    watch.read()
    assert watch.state == ClockState()
