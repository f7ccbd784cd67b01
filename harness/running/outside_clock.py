"""What a call takes by the clock of this process, until its output is there.

A worker times its calls itself, to the microsecond, and a worker runs code that nobody has read: one that
returns before it is done, that hands out what it has computed before, or whose clock is wrong, would look
fast.  So this process times some calls of each start as well, by requests that involve no clock of the
worker: it cannot be deceived, and is less exact by the time of a request, some tens of microseconds.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from harness.running.checking import CheckFailure
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import CallRequest, ChangeInputsRequest, Done, FetchRequest, Request

WINDOW_S = 0.002
"""Calls are repeated until they take this long together, so that the time of a request does not count."""
WINDOWS = 3
"""The shortest of so many counts: whatever disturbs makes calls longer."""
ENOUGH_S = 0.005
"""A call that takes this long is timed alone, twice in each start."""
MOST_CALLS = 1 << 14
GROWTH = 4
"""By how much more calls make a window, until it is long enough."""

MOST_TIMES_LONGER = 3.0
"""A call may take so many times what its worker says."""
SLACK_S = 5e-6
"""And so much more: a call that does nothing takes some time, too."""
MOST_TIMES_LONGER_ON_NEW_INPUTS = 10.0
NEW_INPUTS_SLACK_S = 200e-6
"""The first call on other inputs may take so much longer, with nothing in the caches."""
CONFIRMATIONS = 6
"""What is not to be trusted is timed so often again before it is said to be wrong."""


@dataclass(frozen=True)
class OutsideTimes:
    """What calls of one candidate took in one start."""

    seconds: float
    """One of many calls on the same inputs."""
    on_new_inputs_s: float
    """The first call on inputs that it has not seen before."""


class OutsideClock:
    """Times calls of a worker by this process's clock."""

    def __init__(
        self,
        worker: WorkerProcess,
        limit_s: float,
        numbers: Iterable[int],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take inputs of `numbers`, which are others each time (`harness.problem.changing_inputs`)."""
        self._worker = worker
        self._limit_s = limit_s
        self._numbers = iter(numbers)
        self._clock = clock

    def times(self) -> OutsideTimes:
        """Time calls; raises `CheckFailure` when the worker fails."""
        self._request_s = min(self._asked(CallRequest(calls=0)) for _ in range(WINDOWS))
        first = min(self._first_call() for _ in range(2))
        if first >= ENOUGH_S:
            return OutsideTimes(first, first)
        calls = 1
        while (seconds := self._shortest(calls)) < WINDOW_S and calls < MOST_CALLS:
            calls *= GROWTH
        return OutsideTimes(seconds / calls, min(self._first_call() for _ in range(WINDOWS)))

    def _shortest(self, calls: int) -> float:
        """Return the shortest of some windows of so many calls: one alone may be long by chance."""
        return min(self._calls(calls) for _ in range(WINDOWS))

    def _first_call(self) -> float:
        self._asked(ChangeInputsRequest(number=next(self._numbers)))
        return self._calls(1)

    def _calls(self, calls: int) -> float:
        """Return what so many calls take until their output is there, less what a request takes.

        What is read a second time is there: where the first time takes longer, a call was not done yet.
        """
        called = self._asked(CallRequest(calls=calls)) - self._request_s
        waited = self._asked(FetchRequest()) - self._asked(FetchRequest())
        return max(0.0, called) + (waited if waited > called + self._request_s else 0.0)

    def _asked(self, request: Request) -> float:
        started = self._clock()
        try:
            self._worker.request(request, self._limit_s, Done)
        except WorkerFailure as failure:
            raise CheckFailure("time", failure) from failure
        return self._clock() - started


def typical(taken: Iterable[OutsideTimes]) -> float:
    """Return what a call takes, of the times of some starts, at least one."""
    return median(one.seconds for one in taken)


def distrust(taken: Iterable[OutsideTimes], claimed_s: float, launch_s: float) -> WorkerFailure | None:
    """Return why the time that a worker claims for a call is not to be trusted, or None.

    `taken` are the times of some starts, of which the typical counts; `launch_s` is what a launch takes
    besides the time that a device counts.
    """
    times = list(taken)
    if not times:
        return None
    expected = claimed_s + launch_s
    seconds = typical(times)
    if seconds > MOST_TIMES_LONGER * expected + SLACK_S:
        return _distrusted(
            f"a call takes {_shown(seconds)} until its output is there, {_shown(expected)} by its own clock"
        )
    first = median(one.on_new_inputs_s for one in times)
    if first > MOST_TIMES_LONGER_ON_NEW_INPUTS * expected + NEW_INPUTS_SLACK_S:
        return _distrusted(
            f"the first call on other inputs takes {_shown(first)}, those that follow {_shown(seconds)}: "
            "they give what was computed before"
        )
    return None


def persists(clock: OutsideClock, claimed_s: float, launch_s: float) -> bool:
    """Return whether there is a reason for distrust each time that calls are timed again.

    On a machine with more to do than it has processors, a call may wait several times as long as it takes:
    that happens to honest code, but not again and again.  Code that deceives is found out each time.
    """
    return all(distrust([clock.times()], claimed_s, launch_s) is not None for _ in range(CONFIRMATIONS))


def _distrusted(reason: str) -> WorkerFailure:
    return WorkerFailure(Status.WRONG, f"the time is not to be trusted: {reason}")


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
