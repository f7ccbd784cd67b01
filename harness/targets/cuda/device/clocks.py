"""What NVIDIA's management library says of a device's clock.

Source of the reasons: NVML API Reference Guide, "nvmlClocksEventReasons".
"""

from collections.abc import Callable

from harness.targets.gpu.clocks import ClockReading, Clocks

SLOWDOWNS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "clocks synchronized with other devices",
    0x20: "temperature, by software",
    0x40: "temperature, by hardware",
    0x80: "power brake",
}
"""Bits that say why a device runs below the clock that it was set to; others (idle, set by a user) do not."""


def nvidia_clocks(bus: str) -> Clocks:
    """Return what watches the device at a place of the PCI bus."""
    return Clocks(_reader(bus), SLOWDOWNS)


def _reader(bus: str) -> Callable[[], ClockReading | None] | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode())
    except pynvml.NVMLError:
        return None

    def read() -> ClockReading | None:
        try:
            clock = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
            reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        except pynvml.NVMLError:
            return None
        return ClockReading(int(clock), int(reasons))

    return read
