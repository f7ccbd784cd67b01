"""Which part of the time that timings take is spent in samples, and where the rest goes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SAMPLES = "samples"
"""The part that timings are for."""


@dataclass
class TimedShare:
    """Counts seconds over a run, by this process's clock."""

    seconds: float = 0.0
    """Of all timings, from a group's first start to its last sample."""
    parts: dict[str, float] = field(default_factory=dict)
    """Seconds of each part: samples, starts, new inputs, looks at outputs, peaks."""

    @contextmanager
    def spent_on(self, part: str) -> Iterator[None]:
        """Count the time that passes in here."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(part, time.perf_counter() - began)

    def add(self, part: str, seconds: float) -> None:
        """Count seconds that another clock has measured."""
        self.parts[part] = self.parts.get(part, 0.0) + seconds

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Count the time that passes in here as that of the timing of a group."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - began

    @property
    def share(self) -> float | None:
        """The part that is spent in samples; None where nothing was timed."""
        return None if self.seconds <= 0 else min(1.0, self.parts.get(SAMPLES, 0.0) / self.seconds)

    def described(self) -> str:
        """Return where the time went, in words."""
        rest = self.seconds - sum(self.parts.values())
        largest = sorted(self.parts.items(), key=lambda part: -part[1])
        parts = [*largest, ("the rest", max(0.0, rest))]
        shares = ", ".join(f"{part} {seconds / self.seconds:.0%}" for part, seconds in parts)
        return f"timing took {self.seconds:.1f} s: {shares}"
