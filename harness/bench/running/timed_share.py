"""Which part of the time that timings take is spent in samples."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class TimedShare:
    """Counts seconds over a run, by this process's clock."""

    seconds: float = 0.0
    """Of all timings, from a group's first start to its last sample."""
    sampled_s: float = 0.0
    """Of their samples."""

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
        return None if self.seconds <= 0 else min(1.0, self.sampled_s / self.seconds)
