"""What a library that stands in for AMD's says of a device's clock."""

import sys
from enum import Enum
from types import ModuleType

import pytest

from harness.targets.gpu.clocks import ClockState
from harness.targets.rocm.device.clocks import amd_clocks


class Library(ModuleType):
    """One device."""

    class AmdSmiException(Exception):  # noqa: N818
        pass

    class AmdSmiClkType(Enum):
        GFX = 0

    def __init__(self) -> None:
        super().__init__("amdsmi")
        self.clock: object = 2100
        self.reasons: object = 0
        self.refuses = False
        self.energy: object = 10**6
        self.bus: str | None = None

    def amdsmi_init(self) -> None:
        if self.refuses:
            raise self.AmdSmiException

    def amdsmi_get_processor_handle_from_bdf(self, bus: str) -> str:
        self.bus = bus
        return "device"

    def amdsmi_get_clock_info(self, handle: str, kind: AmdSmiClkType) -> dict[str, object]:
        if self.refuses:
            raise self.AmdSmiException
        return {"clk": self.clock}

    def amdsmi_get_gpu_metrics_info(self, handle: str) -> dict[str, object]:
        return {"indep_throttle_status": self.reasons, "temperature_hotspot": 71}

    def amdsmi_get_energy_count(self, handle: str) -> dict[str, object]:
        return {"energy_accumulator": self.energy, "counter_resolution": 15.3, "timestamp": 1}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    monkeypatch.setitem(sys.modules, "amdsmi", stand_in)
    return stand_in


def read(bus: str = "0000:c1:00.0") -> ClockState:
    clocks = amd_clocks(bus)
    clocks.read()
    return clocks.state


def test_a_reading_is_clock_and_reasons(library: Library) -> None:
    library.reasons = 1 << 2 | 1 << 36
    assert read() == ClockState(2100, "power cap, temperature")
    assert library.bus == "0000:c1:00.0"


def test_what_a_device_does_not_tell_is_not_known(library: Library) -> None:
    library.clock = library.reasons = "N/A"
    assert read() == ClockState(None, None)


def test_temperature_and_energy_are_in_degrees_and_joules(library: Library) -> None:
    clocks = amd_clocks("bus")
    assert clocks.temperature_c() == 71
    assert clocks.energy_j() == pytest.approx(15.3)
    library.energy = "N/A"
    assert clocks.energy_j() is None


def test_where_the_library_may_not_look_nothing_is_known(library: Library) -> None:
    clocks = amd_clocks("bus")
    library.refuses = True
    clocks.read()
    assert clocks.state == ClockState()
    assert read() == ClockState()


def test_without_the_library_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert read() == ClockState()
