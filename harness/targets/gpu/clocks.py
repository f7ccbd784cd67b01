"""The clock of a device, what slows it down, how warm it is and the energy it takes, read beside samples."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

READ_INTERVAL_S = 0.01
"""Seconds between two readings: one takes as long as a short kernel, so not each call is worth one."""


@dataclass(frozen=True)
class ClockState:
    """What was read; None is what is not known."""

    megahertz: int | None = None
    throttled: str | None = None


@dataclass(frozen=True)
class ClockReading:
    """What a management library says at one time."""

    megahertz: int | None
    reasons: int
    """Bits that say why the device is slowed down."""


class DeviceWatch(Protocol):
    """A management library that looks at one device; None stands for what it cannot or may not tell."""

    def clock(self) -> ClockReading | None:
        """Return the clock of the multiprocessors and what slows them down."""

    def temperature_c(self) -> int | None:
        """Return the device's temperature in degrees Celsius."""

    def energy_j(self) -> float | None:
        """Return the energy in J that the device has taken since some moment."""


class Clocks:
    """Watches one device; without its management library, or where it may not look, nothing is known."""

    def __init__(self, watch: DeviceWatch | None, reasons: Mapping[int, str]) -> None:
        """Take what looks at a device, and the names of the reasons for which it is slowed down."""
        self._watch = watch
        self._names = reasons
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
        if self._watch is None or time.monotonic() - self._read_at < READ_INTERVAL_S:
            return
        reading = self._watch.clock()
        if reading is None:
            self._watch, self.state = None, ClockState()
            return
        self._reasons |= reading.reasons
        self.state = ClockState(reading.megahertz, named(self._reasons, self._names))
        self._read_at = time.monotonic()

    def megahertz(self) -> int | None:
        """Return the clock of this moment."""
        reading = None if self._watch is None else self._watch.clock()
        return None if reading is None else reading.megahertz

    def temperature_c(self) -> int | None:
        """Return the temperature of this moment in degrees Celsius."""
        return None if self._watch is None else self._watch.temperature_c()

    def energy_j(self) -> float | None:
        """Return the energy in J that the device has taken since some moment."""
        return None if self._watch is None else self._watch.energy_j()


def named(reasons: int, names: Mapping[int, str]) -> str | None:
    """Return why a device is slowed down, or None; bits without a name do not slow it down."""
    return ", ".join(name for bit, name in names.items() if reasons & bit) or None
