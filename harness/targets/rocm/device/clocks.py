"""What AMD's management library says of a device's clock.

Sources: AMD SMI, Python library reference, `amdsmi_get_clock_info` and `amdsmi_get_gpu_metrics_info`; the
bits of `indep_throttle_status` are those of the Linux kernel's `amdgpu_smu.h`, `SMU_THROTTLER_…_BIT`.
"""

from collections.abc import Callable
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


def amd_clocks(bus: str) -> Clocks:
    """Return what watches the device at a place of the PCI bus."""
    return Clocks(_reader(bus), SLOWDOWNS)


def _reader(bus: str) -> Callable[[], ClockReading | None] | None:
    try:
        import amdsmi
    except Exception:  # it is made for one version of ROCm, and fails in many ways without that
        return None
    try:
        amdsmi.amdsmi_init()
        handle = amdsmi.amdsmi_get_processor_handle_from_bdf(bus)
    except amdsmi.AmdSmiException:
        return None

    def read() -> ClockReading | None:
        try:
            clock = amdsmi.amdsmi_get_clock_info(handle, amdsmi.AmdSmiClkType.GFX)["clk"]
            reasons = amdsmi.amdsmi_get_gpu_metrics_info(handle)["indep_throttle_status"]
        except amdsmi.AmdSmiException:
            return None
        return ClockReading(_number(clock), _number(reasons) or 0)

    return read


def _number(value: Any) -> int | None:
    """Return a number, or None for what the library writes where a device does not tell: `N/A`."""
    return value if isinstance(value, int) else None
