"""What AMD's management library says of a device: clock, slowdowns, temperature, energy.

Sources: AMD SMI, Python library reference, `amdsmi_get_clock_info`, `amdsmi_get_gpu_metrics_info` and
`amdsmi_get_energy_count`, whose resolution is in microjoules; the bits of `indep_throttle_status` are those
of the Linux kernel's `amdgpu_smu.h`, `SMU_THROTTLER_…_BIT`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from harness.targets.gpu.clocks import ClockReading, Clocks

MICROJOULE = 1e-6


def amd_clocks(bus: str) -> Clocks:
    """Return what watches the device at a place of the PCI bus."""
    try:
        import amdsmi
    except Exception:  # it is made for one version of ROCm, and fails in many ways without that
        return Clocks()
    try:
        amdsmi.amdsmi_init()
        return AmdClocks(amdsmi, amdsmi.amdsmi_get_processor_handle_from_bdf(bus))
    except amdsmi.AmdSmiException:
        return Clocks()


class AmdClocks(Clocks):
    """AMD SMI's handle of one device."""

    slowdowns: ClassVar[Mapping[int, str]] = {
        0xFFFF: "power cap",
        0xFF << 16: "current cap",
        0xFFFF << 32: "temperature",
    }

    def __init__(self, library: Any, handle: Any) -> None:
        """Take the module `amdsmi` and its handle of the device."""
        super().__init__()
        self._library = library
        self._handle = handle

    def clock(self) -> ClockReading | None:
        """Return the clock of the compute units and what slows them down."""
        clock = self._asked("amdsmi_get_clock_info", self._library.AmdSmiClkType.GFX)
        metrics = self._asked("amdsmi_get_gpu_metrics_info")
        if clock is None or metrics is None:
            return None
        return ClockReading(_number(clock.get("clk")), _number(metrics.get("indep_throttle_status")) or 0)

    def temperature_c(self) -> int | None:
        """Return the temperature of the chip's hottest place in degrees Celsius."""
        return _number((self._asked("amdsmi_get_gpu_metrics_info") or {}).get("temperature_hotspot"))

    def energy_j(self) -> float | None:
        """Return the energy in J that the counter has added up."""
        counted = self._asked("amdsmi_get_energy_count") or {}
        steps = _number(counted.get("energy_accumulator"))
        return None if steps is None else steps * float(counted["counter_resolution"]) * MICROJOULE

    def _asked(self, function: str, *arguments: Any) -> dict[str, Any] | None:
        try:
            return dict(getattr(self._library, function)(self._handle, *arguments))
        except self._library.AmdSmiException:
            return None


def _number(value: Any) -> int | None:
    """Return a number, or None for what the library writes where a device does not tell: `N/A`."""
    return value if isinstance(value, int) else None
