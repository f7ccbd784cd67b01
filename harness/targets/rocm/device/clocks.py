"""What AMD's management library says of a device: clock, slowdowns, temperature, energy.

Sources: AMD SMI, Python library reference, `amdsmi_get_clock_info`, `amdsmi_get_gpu_metrics_info` and
`amdsmi_get_energy_count`, whose resolution is in microjoules; the bits of `indep_throttle_status` are those
of the Linux kernel's `amdgpu_smu.h`, `SMU_THROTTLER_…_BIT`.
"""

from typing import Any

from harness.targets.gpu.clocks import ClockReading, Clocks

POWER_BITS, CURRENT_BITS, TEMPERATURE_BITS = range(16), range(16, 24), range(32, 48)


def _mask(bits: range) -> int:
    return sum(1 << bit for bit in bits)


SLOWDOWNS = {
    _mask(POWER_BITS): "power cap",
    _mask(CURRENT_BITS): "current cap",
    _mask(TEMPERATURE_BITS): "temperature",
}
"""Groups of bits that say why a device runs below its clock."""


MICROJOULE = 1e-6


def amd_clocks(bus: str) -> Clocks:
    """Return what watches the device at a place of the PCI bus."""
    return Clocks(_watch(bus), SLOWDOWNS)


def _watch(bus: str) -> "AmdWatch | None":
    try:
        import amdsmi
    except Exception:  # it is made for one version of ROCm, and fails in many ways without that
        return None
    try:
        amdsmi.amdsmi_init()
        return AmdWatch(amdsmi, amdsmi.amdsmi_get_processor_handle_from_bdf(bus))
    except amdsmi.AmdSmiException:
        return None


class AmdWatch:
    """AMD SMI's handle of one device."""

    def __init__(self, library: Any, handle: Any) -> None:
        """Take the module `amdsmi` and its handle of the device."""
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
        """Return what a function tells by name, or None where the library cannot or may not."""
        try:
            told: dict[str, Any] = getattr(self._library, function)(self._handle, *arguments)
        except self._library.AmdSmiException:
            return None
        return told


def _number(value: Any) -> int | None:
    """Return a number, or None for what the library writes where a device does not tell: `N/A`."""
    return value if isinstance(value, int) else None
