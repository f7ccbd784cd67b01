"""Where the time of a run goes, and which part of that of timings is spent in samples."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter

import psutil

START_UP, BUILD, CHECK = "start-up", "build", "check"
SAMPLES = "samples"
"""The part that timings are for."""
TIMING = "else in timings"
REST = "the rest"


def seconds_of_this_process() -> float:
    """Return for how long this process has been there: what imports took is a part of a command's time."""
    return max(0.0, time.time() - psutil.Process().create_time())


@dataclass
class TimeSpent:
    """Counts seconds over a run, by this process's clock; what it begins with has passed before."""

    parts: dict[str, float] = field(default_factory=dict)
    """Seconds of each part: build, check, starts, samples, …, none of them within another."""
    timing_s: float = 0.0
    """Of all timings, from a group's first start to its last sample."""

    def __post_init__(self) -> None:
        self._began = time.perf_counter() - sum(self.parts.values())

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
        began, before = time.perf_counter(), sum(self.parts.values())
        try:
            yield
        finally:
            seconds = time.perf_counter() - began
            self.timing_s += seconds
            self.add(TIMING, max(0.0, seconds - (sum(self.parts.values()) - before)))

    @property
    def share(self) -> float | None:
        """The part of timings that is spent in samples; None where nothing was timed."""
        return None if self.timing_s <= 0 else min(1.0, self.parts.get(SAMPLES, 0.0) / self.timing_s)

    @property
    def seconds(self) -> float:
        """What the run has taken until now."""
        return time.perf_counter() - self._began

    def by_part(self) -> dict[str, float]:
        """Return the seconds of all parts until now, the rest among them."""
        rest = self.seconds - sum(self.parts.values())
        return {**self.parts, REST: max(0.0, rest)}


def described(by_part: dict[str, float]) -> str:
    """Return where the time of a run went, on one line, the largest part first."""
    parts = [(name, seconds) for name, seconds in by_part.items() if name != REST]
    parts.sort(key=itemgetter(1), reverse=True)
    words = [f"{name} {seconds:.1f} s" for name, seconds in [*parts, (REST, by_part.get(REST, 0.0))]]
    return f"took {sum(by_part.values()):.1f} s: {', '.join(words)}"
