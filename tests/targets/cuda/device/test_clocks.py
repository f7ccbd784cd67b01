"""The clock of a device and what slows it down, as a library that stands in for NVIDIA's tells it."""

import sys
from types import ModuleType

import pytest

from harness.targets.cuda.device.clocks import READ_INTERVAL_S, Clocks, ClockState, slowdown


class Library(ModuleType):
    """One device that is read again and again."""

    NVML_CLOCK_SM = 1

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.readings = [(1980, 0)]
        self.refuses = False
        self.bus: bytes | None = None

    def nvmlInit(self) -> None:  # noqa: N802
        if self.refuses:
            raise self.NVMLError

    def nvmlDeviceGetHandleByPciBusId(self, bus: bytes) -> str:  # noqa: N802
        self.bus = bus
        return "device"

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        if self.refuses:
            raise self.NVMLError
        return self.readings[0][0]

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:  # noqa: N802
        reasons = self.readings[0][1]
        self.readings = self.readings[1:] or self.readings
        return reasons


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    monkeypatch.setitem(sys.modules, "pynvml", stand_in)
    return stand_in


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one that tests change."""
    time = [100.0]
    monkeypatch.setattr("harness.targets.cuda.device.clocks.time.monotonic", lambda: time[0])
    return time


def test_a_reading_is_clock_and_reason(library: Library, now: list[float]) -> None:
    library.readings = [(1200, 0x04 | 0x40)]
    clocks = Clocks("0000:01:00.0")
    assert clocks.state == ClockState()
    clocks.read()
    assert clocks.state == ClockState(1200, "power cap, temperature, by hardware")
    assert library.bus == b"0000:01:00.0"


def test_readings_in_quick_succession_are_one(library: Library, now: list[float]) -> None:
    library.readings = [(1980, 0), (1200, 0x08)]
    clocks = Clocks("bus")
    clocks.read()
    clocks.read()
    assert clocks.state == ClockState(1980, None)
    now[0] += READ_INTERVAL_S
    clocks.read()
    assert clocks.state == ClockState(1200, "hardware slowdown")


def test_a_slowdown_counts_for_its_sample_and_for_no_other(library: Library, now: list[float]) -> None:
    library.readings = [(1200, 0x08), (1980, 0)]
    clocks = Clocks("bus")
    clocks.read()
    now[0] += READ_INTERVAL_S
    clocks.read()
    assert clocks.state == ClockState(1980, "hardware slowdown")
    clocks.start_sample()
    clocks.read()
    assert clocks.state == ClockState(1980, None)


def test_a_device_that_is_idle_or_set_by_its_user_is_not_slowed_down() -> None:
    assert slowdown(0x01 | 0x02) is None


def test_where_the_library_may_not_look_nothing_is_known(library: Library, now: list[float]) -> None:
    clocks = Clocks("bus")
    clocks.read()
    library.refuses = True
    now[0] += READ_INTERVAL_S
    clocks.read()
    assert clocks.state == ClockState()
    refused = Clocks("bus")
    refused.read()
    assert refused.state == ClockState()


def test_without_the_library_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    clocks = Clocks("bus")
    clocks.read()
    assert clocks.state == ClockState()
