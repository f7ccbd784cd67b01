"""What a library that stands in for NVIDIA's says of a device's clock."""

import sys
from types import ModuleType

import pytest

from harness.targets.cuda.device.clocks import nvidia_clocks
from harness.targets.gpu.clocks import ClockState


class Library(ModuleType):
    """One device."""

    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.reasons = 0
        self.refuses = False
        self.counts_nothing = False
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
        return 1200

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:  # noqa: N802
        return self.reasons

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:  # noqa: N802
        return 61

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:  # noqa: N802
        if self.counts_nothing:
            raise self.NVMLError
        return 123_456


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    monkeypatch.setitem(sys.modules, "pynvml", stand_in)
    return stand_in


def read(bus: str = "0000:01:00.0") -> ClockState:
    clocks = nvidia_clocks(bus)
    clocks.read()
    return clocks.state


def test_a_reading_is_clock_and_reason(library: Library) -> None:
    library.reasons = 0x04 | 0x40
    assert read() == ClockState(1200, "power cap, temperature, by hardware")
    assert library.bus == b"0000:01:00.0"


def test_a_device_that_is_idle_or_set_by_its_user_is_not_slowed_down(library: Library) -> None:
    library.reasons = 0x01 | 0x02
    assert read() == ClockState(1200, None)


def test_where_the_library_may_not_look_nothing_is_known(library: Library) -> None:
    clocks = nvidia_clocks("bus")
    library.refuses = True
    clocks.read()
    assert clocks.state == ClockState()
    assert read() == ClockState()


def test_temperature_and_energy_are_in_degrees_and_joules(library: Library) -> None:
    clocks = nvidia_clocks("bus")
    assert (clocks.megahertz(), clocks.temperature_c(), clocks.energy_j()) == (1200, 61, 123.456)


def test_an_older_device_counts_no_energy(library: Library) -> None:
    library.counts_nothing = True
    assert nvidia_clocks("bus").energy_j() is None


def test_without_the_library_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert read() == ClockState()
