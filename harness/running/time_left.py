"""How long a run still takes, by the cases that have ended so far."""

import time
from collections.abc import Callable


class TimeLeft:
    """An estimate: cases that remain take as long as those that have ended, on average.

    Cases that a resumed run keeps, and those that nothing was done for, do not count as ended.  Cases of a
    problem end together, and later problems are often longer: between ends the estimate counts down, but not
    below the time since the last end.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        self._began = self._last = clock()
        self._remaining = 0
        self._ended = 0

    def planned(self, cases: int) -> None:
        """So many cases are going to end, from now on."""
        self._began = self._last = self._clock()
        self._remaining = cases

    def ended(self, *, took_time: bool) -> None:
        """A case has ended."""
        self._remaining -= 1
        if took_time:
            self._ended += 1
            self._last = self._clock()

    @property
    def seconds(self) -> float | None:
        """Seconds that remain; None before the first case has ended."""
        if not self._remaining:
            return 0.0
        if not self._ended:
            return None
        estimate = (self._last - self._began) / self._ended * self._remaining
        since = self._clock() - self._last
        return max(estimate - since, since)


def in_words(seconds: float | None) -> str:
    """Return `0:01:23 left`, with dashes for what is not known."""
    if seconds is None:
        return "-:--:-- left"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} left"
