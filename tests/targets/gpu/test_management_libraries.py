"""What libraries that stand in for NVIDIA's and AMD's say of a device's clock, temperature and energy."""

import sys
from collections.abc import Callable
from enum import Enum
from types import ModuleType
from typing import Any

import pytest

from harness.targets.cuda.device.clocks import nvidia_clocks
from harness.targets.gpu.clocks import Clocks, ClockState
from harness.targets.rocm.device.clocks import amd_clocks


class StandIn(ModuleType):
    """One device, whose library may refuse, or not tell everything."""

    refuses = False
    reasons: object = 0
    bus: object = None

    def ask(self, error: type[Exception]) -> None:
        if self.refuses:
            raise error


class Nvml(StandIn):
    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0
    energy: object = 123_456

    class NVMLError(Exception):
        pass

    def nvmlInit(self) -> None:  # noqa: N802
        self.ask(self.NVMLError)

    def nvmlDeviceGetHandleByPciBusId(self, bus: bytes) -> str:  # noqa: N802
        self.bus = bus.decode()
        return "device"

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        self.ask(self.NVMLError)
        return 1200

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> object:  # noqa: N802
        return self.reasons

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:  # noqa: N802
        return 61

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> object:  # noqa: N802
        if self.energy is None:
            raise self.NVMLError
        return self.energy


class AmdSmi(StandIn):
    clock: object = 1200
    energy: object = 10**6

    class AmdSmiException(Exception):  # noqa: N818
        pass

    class AmdSmiClkType(Enum):
        GFX = 0

    def amdsmi_init(self) -> None:
        self.ask(self.AmdSmiException)

    def amdsmi_get_processor_handle_from_bdf(self, bus: str) -> str:
        self.bus = bus
        return "device"

    def amdsmi_get_clock_info(self, handle: str, kind: Enum) -> dict[str, object]:
        self.ask(self.AmdSmiException)
        return {"clk": self.clock}

    def amdsmi_get_gpu_metrics_info(self, handle: str) -> dict[str, object]:
        return {"indep_throttle_status": self.reasons, "temperature_hotspot": 61}

    def amdsmi_get_energy_count(self, handle: str) -> dict[str, object]:
        return {"energy_accumulator": self.energy, "counter_resolution": 15.3, "timestamp": 1}


LIBRARIES: dict[str, tuple[type[StandIn], Callable[[str], Clocks]]] = {
    "pynvml": (Nvml, nvidia_clocks),
    "amdsmi": (AmdSmi, amd_clocks),
}


@pytest.fixture(params=LIBRARIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def library(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    stand_in = LIBRARIES[name][0](name)
    monkeypatch.setitem(sys.modules, name, stand_in)
    return stand_in


def read(clocks: Clocks) -> ClockState:
    clocks.read()
    return clocks.state


@pytest.mark.parametrize(
    ("name", "reasons", "throttled"),
    [
        ("pynvml", 0x04 | 0x40, "power cap, temperature, by hardware"),
        ("pynvml", 0x01 | 0x02, None),  # idle, or set by its user
        ("amdsmi", 1 << 2 | 1 << 36, "power cap, temperature"),
        ("amdsmi", "N/A", None),
    ],
)
def test_a_reading_is_clock_and_reasons(
    name: str, library: Any, reasons: object, throttled: str | None
) -> None:
    library.reasons = reasons
    assert read(LIBRARIES[name][1]("0000:01:00.0")) == ClockState(1200, throttled)
    assert library.bus == "0000:01:00.0"


def test_where_the_library_may_not_look_nothing_is_known(name: str, library: Any) -> None:
    clocks = LIBRARIES[name][1]("bus")
    library.refuses = True
    assert read(clocks) == read(LIBRARIES[name][1]("bus")) == ClockState()


@pytest.mark.parametrize(("name", "joules", "unknown"), [("pynvml", 123.456, None), ("amdsmi", 15.3, "N/A")])
def test_temperature_and_energy_are_in_degrees_and_joules(
    name: str, library: Any, joules: float, unknown: object
) -> None:
    clocks = LIBRARIES[name][1]("bus")
    assert (clocks.megahertz(), clocks.temperature_c()) == (1200, 61)
    assert clocks.energy_j() == pytest.approx(joules)
    library.energy = unknown
    assert clocks.energy_j() is None


def test_without_the_library_nothing_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    assert read(LIBRARIES[name][1]("bus")) == ClockState()
