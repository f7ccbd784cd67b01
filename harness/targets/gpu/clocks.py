"""The clock of a device and what slows it down, read while a sample is taken."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


class Clocks:
    """Watches one device; without its management library, or where it may not look, nothing is known."""

    def __init__(self, read: Callable[[], ClockReading | None] | None, reasons: Mapping[int, str]) -> None:
        """Take what reads a device, or returns None if it may not any more, and the names of the reasons."""
        self._read = read
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
        if self._read is None or time.monotonic() - self._read_at < READ_INTERVAL_S:
            return
        found = self._read()
        if found is None:
            self._read, self.state = None, ClockState()
            return
        self._reasons |= found.reasons
        self.state = ClockState(found.megahertz, named(self._reasons, self._names))
        self._read_at = time.monotonic()


def named(reasons: int, names: Mapping[int, str]) -> str | None:
    """Return why a device is slowed down, or None; bits without a name do not slow it down."""
    return ", ".join(name for bit, name in names.items() if reasons & bit) or None
