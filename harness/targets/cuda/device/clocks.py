"""The clock of a device and what slows it down, as NVIDIA's management library tells them.

Source of the reasons: NVML API Reference Guide, "nvmlClocksEventReasons".
"""

import time
from dataclasses import dataclass
from typing import Any

SLOWDOWNS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "clocks synchronized with other devices",
    0x20: "temperature, by software",
    0x40: "temperature, by hardware",
    0x80: "power brake",
}
"""Bits that say why a device runs below the clock that it was set to; others (idle, set by a user) do not."""

READ_INTERVAL_S = 0.01
"""A reading takes as long as a short kernel: not each call is worth one."""


@dataclass(frozen=True)
class ClockState:
    """What was read; None is what is not known."""

    megahertz: int | None = None
    throttled: str | None = None


class Clocks:
    """Watches one device; without the library, or where it may not look, nothing is known."""

    def __init__(self, bus: str) -> None:
        self._library, self._handle = _open(bus)
        self.start_sample()

    def start_sample(self) -> None:
        """Forget what was read: what slowed down an earlier sample says nothing of the next one."""
        self.state = ClockState()
        self._reasons = 0
        self._read_at = float("-inf")

    def read(self) -> None:
        """Read clock and reasons while the device is busy; to be called often.

        A reason counts for the whole sample, whenever it was read.
        """
        if self._handle is None or time.monotonic() - self._read_at < READ_INTERVAL_S:
            return
        library = self._library
        try:
            clock = library.nvmlDeviceGetClockInfo(self._handle, library.NVML_CLOCK_SM)
            reasons = library.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle)
        except library.NVMLError:
            self._handle, self.state = None, ClockState()
            return
        self._reasons |= int(reasons)
        self.state = ClockState(int(clock), slowdown(self._reasons))
        self._read_at = time.monotonic()


def slowdown(reasons: int) -> str | None:
    """Return why a device is slowed down, or None."""
    return ", ".join(name for bit, name in SLOWDOWNS.items() if reasons & bit) or None


def _open(bus: str) -> tuple[Any, Any]:
    """Return the library and its handle of a device, or None for both."""
    try:
        import pynvml
    except ImportError:
        return None, None
    try:
        pynvml.nvmlInit()
        return pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode())
    except pynvml.NVMLError:
        return None, None
