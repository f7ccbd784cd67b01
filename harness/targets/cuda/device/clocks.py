"""What NVIDIA's management library says of a device: clock, slowdowns, temperature, energy.

Source: NVML API Reference Guide; of the reasons, "nvmlClocksEventReasons".
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from harness.targets.gpu.clocks import ClockReading, Clocks

MILLIJOULE = 1e-3


def nvidia_clocks(bus: str) -> Clocks:
    """Return what watches the device at a place of the PCI bus."""
    try:
        import pynvml
    except ImportError:
        return Clocks()
    try:
        pynvml.nvmlInit()
        return NvidiaClocks(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode()))
    except pynvml.NVMLError:
        return Clocks()


class NvidiaClocks(Clocks):
    """NVML's handle of one device."""

    slowdowns: ClassVar[Mapping[int, str]] = {
        0x04: "power cap",
        0x08: "hardware slowdown",
        0x10: "clocks synchronized with other devices",
        0x20: "temperature, by software",
        0x40: "temperature, by hardware",
        0x80: "power brake",
    }

    def __init__(self, library: Any, handle: Any) -> None:
        """Take the module `pynvml` and its handle of the device."""
        super().__init__()
        self._library = library
        self._handle = handle

    def clock(self) -> ClockReading | None:
        """Return the clock of the multiprocessors and what slows them down."""
        megahertz = self._asked(self._library.nvmlDeviceGetClockInfo, self._library.NVML_CLOCK_SM)
        reasons = self._asked(self._library.nvmlDeviceGetCurrentClocksThrottleReasons)
        return None if megahertz is None or reasons is None else ClockReading(megahertz, reasons)

    def temperature_c(self) -> int | None:
        """Return the temperature of the chip in degrees Celsius."""
        return self._asked(self._library.nvmlDeviceGetTemperature, self._library.NVML_TEMPERATURE_GPU)

    def energy_j(self) -> float | None:
        """Return the energy in J since the driver was loaded."""
        millijoules = self._asked(self._library.nvmlDeviceGetTotalEnergyConsumption)
        return None if millijoules is None else millijoules * MILLIJOULE

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> int | None:
        try:
            return int(function(self._handle, *arguments))
        except self._library.NVMLError:
            return None
