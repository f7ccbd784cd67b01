"""The clock of a device, what slows it down, how warm it is and the energy it takes, read beside samples."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

READ_INTERVAL_S = 0.01
"""Seconds between two readings: one takes as long as a short kernel, so not each call is worth one."""


@dataclass(frozen=True)
class ClockState:
    """What was read of a sample; None is what is not known."""

    megahertz: int | None = None
    throttled: str | None = None


@dataclass(frozen=True)
class ClockReading:
    """What a management library says at one time."""

    megahertz: int | None
    reasons: int
    """Bits that say why the device is slowed down."""


class Clocks:
    """Watches one device; a vendor's management library tells more than this class: nothing."""

    slowdowns: ClassVar[Mapping[int, str]] = {}
    """Names of the reasons for which a device is slowed down, by their bits; others do not slow it down."""

    def __init__(self) -> None:
        self.start_sample()

    def clock(self) -> ClockReading | None:
        """Return the clock of the multiprocessors and what slows them down, where that is known."""
        return None

    def temperature_c(self) -> int | None:
        """Return the temperature of this moment in degrees Celsius."""
        return None

    def energy_j(self) -> float | None:
        """Return the energy in J that the device has taken since some moment."""
        return None

    def start_sample(self) -> None:
        """Forget what was read: what slowed down an earlier sample says nothing of the next one."""
        self.state = ClockState()
        self._reasons = 0
        self._read_at = float("-inf")

    def read(self) -> None:
        """Read clock and reasons while the device is busy; to be called often.

        A reason counts for the whole sample, whenever it was read.
        """
        if time.monotonic() - self._read_at < READ_INTERVAL_S:
            return
        reading, self._read_at = self.clock(), time.monotonic()
        if reading is None:
            self.state = ClockState()
            return
        self._reasons |= reading.reasons
        names = ", ".join(name for bit, name in self.slowdowns.items() if self._reasons & bit)
        self.state = ClockState(reading.megahertz, names or None)

    def megahertz(self) -> int | None:
        """Return the clock of this moment."""
        reading = self.clock()
        return None if reading is None else reading.megahertz
