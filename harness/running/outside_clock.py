"""What a call takes by the clock of this process, until its output is there.

A worker times its calls itself, to the microsecond, and a worker runs code that nobody has read: one that
returns before it is done, that hands out what it has computed before, or whose clock is wrong, would look
fast.  So this process times some calls of each start as well, by requests that involve no clock of the
worker: it cannot be deceived, and is less exact by the time of a request, some tens of microseconds.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from harness.running.checking import CheckFailure
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import (
    CallRequest,
    ChangeInputsRequest,
    ConvertOutputRequest,
    CopyInputsRequest,
    Done,
    FetchRequest,
    GiveInputsRequest,
    InputsGiven,
    PoisonRequest,
    Request,
)

Answer = TypeVar("Answer", Done, InputsGiven)

WINDOW_S = 0.002
"""Calls are repeated until they take this long together, so that the time of a request does not count."""
WINDOWS = 5
"""The shortest of so many counts: whatever disturbs makes calls longer."""
SHORT_WINDOW_S = 0.0003
"""Windows of confirmations: on a crowded machine a process is interrupted every few milliseconds, and waits
for as long as several of these.  Many short windows lie between two interruptions, hardly any long ones."""
MANY_WINDOWS = 40
"""Of confirmations, of which the shortest counts."""
ENOUGH_S = 0.005
"""A call that takes this long is timed alone."""
LONG_CALLS = 2
"""So often in each start."""
MORE_LONG_CALLS = 8
"""So often in confirmations, or until one takes less."""
MOST_CALLS = 1 << 14
GROWTH = 4
"""By how much more calls make a window, until it is long enough."""

MOST_TIMES_LONGER = 3.0
"""A call may take so many times what its worker says."""
SLACK_S = 5e-6
"""And so much more: a call that does nothing takes some time, too."""
MOST_TIMES_LONGER_ON_NEW_INPUTS = 5.0
NEW_INPUTS_SLACK_S = 100e-6
"""The first call on other inputs may take so much longer, with nothing in the caches."""
MOST_COPIES = 10.0
"""Taking inputs, poisoning outputs and reading them may take so many times what copying inputs takes."""
HANDLING_SLACK_S = 1e-3
"""And so much more: what is on a device is copied from and to it."""
READING_SLACK_S = 100e-6
"""Or so much, where outputs are read that are in the processor's memory."""
MOST_CONVERSIONS = 3.0
"""Reading outputs may take so many times what it takes to bring them into another layout and type, or as long
as a call."""
MOST_CALLS_HANDLED = 5.0
"""And, where that is more, so many times what a call takes."""
MOST_TIMES_THE_PEAK = 3.0
"""Nothing is faster than the machine; so many times its measured peak is no error of that any more."""
CONFIRMATIONS = 6
"""What is not to be trusted is timed so often again before it is said to be wrong."""


@dataclass(frozen=True)
class OutsideTimes:
    """What calls of one candidate took in one start, and what was done beside them, in seconds."""

    seconds: float
    """One of many calls on the same inputs."""
    on_new_inputs_s: float
    """The first call on inputs that it has not seen before."""
    after_poison_s: float = 0.0
    """One of many calls before each of which outputs are poisoned, without the poisoning."""
    give_s: float = 0.0
    """Taking other inputs; 0 of code that is bound anew, which may do what it has to."""
    poison_s: float = 0.0
    """Poisoning outputs."""
    read_s: float = 0.0
    """Reading outputs that were read before."""
    copy_s: float = 0.0
    """Copying all inputs, as code of ours does it."""
    convert_s: float = 0.0
    """Converting the output."""


class OutsideClock:
    """Times calls of a worker by this process's clock."""

    def __init__(
        self,
        worker: WorkerProcess,
        limit_s: float,
        numbers: Iterable[int],
        clock: Callable[[], float] = time.perf_counter,
        *,
        confirms: bool = False,
    ) -> None:
        """Take inputs of `numbers`, which are others each time (`harness.problem.changing_inputs`).

        One that `confirms` takes many short windows instead of few long ones.
        """
        self._worker = worker
        self._limit_s = limit_s
        self._numbers = iter(numbers)
        self._clock = clock
        self._windows = MANY_WINDOWS if confirms else WINDOWS
        self._window_s = SHORT_WINDOW_S if confirms else WINDOW_S
        self._long_calls = MORE_LONG_CALLS if confirms else LONG_CALLS
        self._request_s = self._copy_s = self._convert_s = self._give_s = 0.0

    def times(self) -> OutsideTimes:
        """Time calls; raises `CheckFailure` when the worker fails."""
        self._request_s = min(self._asked(CallRequest(calls=0)) for _ in range(self._windows))
        self._copy_s = min(self._beyond_a_request(CopyInputsRequest()) for _ in range(self._windows))
        self._convert_s = min(self._beyond_a_request(ConvertOutputRequest()) for _ in range(2))
        self._give_s = float("inf")
        first = self._first_of_long_calls()
        if first >= ENOUGH_S:
            read_s = min(self._beyond_a_request(FetchRequest()) for _ in range(2))
            poison_s = min(self._beyond_a_request(PoisonRequest()) for _ in range(2))
            return self._told(first, first, first, poison_s, read_s)
        seconds = self._per_call(self._calls)
        read_s = self._per_call(lambda times: self._beyond_a_request(FetchRequest(times=times)))
        new = min(self._first_call() for _ in range(self._windows))
        poison_s = self._per_call(lambda times: self._beyond_a_request(PoisonRequest(times=times)))
        poisoned = self._per_call(
            lambda calls: self._beyond_a_request(CallRequest(calls=calls, poisons=True))
        )
        return self._told(seconds, new, max(0.0, poisoned - poison_s), poison_s, read_s)

    def _told(
        self, seconds: float, new: float, after_poison_s: float, poison_s: float, read_s: float
    ) -> OutsideTimes:
        """Return what was found in this start."""
        return OutsideTimes(
            seconds=seconds,
            on_new_inputs_s=new,
            after_poison_s=after_poison_s,
            give_s=self._give_s,
            poison_s=poison_s,
            read_s=read_s,
            copy_s=self._copy_s,
            convert_s=self._convert_s,
        )

    def _first_of_long_calls(self) -> float:
        """Return what the shortest of a few first calls takes; at least two are made."""
        first = float("inf")
        for number in range(self._long_calls):
            first = min(first, self._first_call())
            if number + 1 >= LONG_CALLS and first < ENOUGH_S:
                break
        return first

    def _first_call(self) -> float:
        """Return what the first call on other inputs takes, and note what giving them takes."""
        self._ask(ChangeInputsRequest(number=next(self._numbers)), Done)
        began = self._clock()
        given = self._ask(GiveInputsRequest(), InputsGiven)
        took = max(0.0, self._clock() - began - self._request_s) if given.is_in_place else 0.0
        self._give_s = min(self._give_s, took)
        self._ask(PoisonRequest(), Done)
        return self._calls(1)

    def _calls(self, calls: int) -> float:
        """Return what so many calls take until their output is there, less what a request takes.

        What is read a second time is there: where the first time takes longer, by more than copying explains,
        a call was not done yet.
        """
        called = self._asked(CallRequest(calls=calls)) - self._request_s
        waited = self._asked(FetchRequest()) - self._asked(FetchRequest()) - MOST_COPIES * self._copy_s
        return max(0.0, called) + (waited if waited > called + self._request_s else 0.0)

    def _per_call(self, window: Callable[[int], float]) -> float:
        """Return what a call takes, of windows of more and more calls until one is long.

        Of each length the shortest of some windows counts: one alone may be long by chance.
        """
        calls = 1
        while True:
            seconds = min(window(calls) for _ in range(self._windows))
            if seconds >= self._window_s or calls >= MOST_CALLS:
                return seconds / calls
            calls *= GROWTH

    def _beyond_a_request(self, request: Request) -> float:
        return max(0.0, self._asked(request) - self._request_s)

    def _asked(self, request: Request) -> float:
        started = self._clock()
        self._ask(request, Done)
        return self._clock() - started

    def _ask(self, request: Request, answer: type[Answer]) -> Answer:
        try:
            return self._worker.request(request, self._limit_s, answer)
        except WorkerFailure as failure:
            raise CheckFailure("time", failure) from failure


def typical(taken: Iterable[OutsideTimes]) -> float:
    """Return what a call takes, of the times of some starts, at least one."""
    return median(one.seconds for one in taken)


def distrust(
    taken: Iterable[OutsideTimes],
    claimed_s: float,
    launch_s: float,
    reading_slack_s: float = READING_SLACK_S,
) -> WorkerFailure | None:
    """Return why the time that a worker claims for a call is not to be trusted, or None.

    `taken` are the times of some starts, of which the typical counts; `launch_s` is what a launch takes
    besides the time that a device counts.  Reading outputs may take `reading_slack_s` besides.
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
    poisoned = median(one.after_poison_s for one in times)
    if poisoned > MOST_TIMES_LONGER * expected + SLACK_S + median(one.poison_s for one in times):
        return _distrusted(
            f"a call takes {_shown(poisoned)} where its output was poisoned, {_shown(expected)} by its own "
            "clock: calls leave what was computed before"
        )
    return _distrust_of_handling(times, expected, reading_slack_s)


def _distrust_of_handling(
    times: Sequence[OutsideTimes], expected_s: float, reading_slack_s: float
) -> WorkerFailure | None:
    """Return why code seems to compute outside of its calls, or None.

    What takes a few times as long as a call hides little: a padded batch, say, takes many times its inputs'
    memory, one sequence after the other.
    """
    copy_s, hidden_s = median(one.copy_s for one in times), MOST_CALLS_HANDLED * expected_s
    read_s = max(expected_s, MOST_CONVERSIONS * median(one.convert_s for one in times))
    handled = {
        "it takes other inputs": (median(one.give_s for one in times), hidden_s, HANDLING_SLACK_S),
        "outputs are poisoned": (median(one.poison_s for one in times), hidden_s, HANDLING_SLACK_S),
        "its outputs are read": (median(one.read_s for one in times), read_s, reading_slack_s),
    }
    for what, (seconds, allowed_s, slack_s) in handled.items():
        if seconds > max(allowed_s, MOST_COPIES * copy_s + slack_s):
            return _distrusted(
                f"{_shown(seconds)} pass while {what}, {_shown(copy_s)} while all inputs are copied: "
                "it computes there"
            )
    return None


def beyond_the_peak(flops: int, claimed_s: float, peak_flops: float) -> WorkerFailure | None:
    """Return why a time is not to be trusted that this peak, in FLOP/s, does not allow, or None."""
    if flops / claimed_s <= MOST_TIMES_THE_PEAK * peak_flops:
        return None
    rate, peak = (f"{one / 1e9:.3g} GFLOP/s" for one in (flops / claimed_s, peak_flops))
    return _distrusted(f"{rate} are computed, and the measured peak is {peak}")


def persists(
    clock: OutsideClock, claimed_s: float, launch_s: float, reading_slack_s: float = READING_SLACK_S
) -> bool:
    """Return whether there is a reason for distrust each time that calls are timed again.

    On a machine with more to do than it has processors, a call may wait several times as long as it takes:
    that happens to honest code, but not again and again to a `clock` that confirms.  Code that deceives is
    found out each time.
    """
    return all(
        distrust([clock.times()], claimed_s, launch_s, reading_slack_s) is not None
        for _ in range(CONFIRMATIONS)
    )


def _distrusted(reason: str) -> WorkerFailure:
    return WorkerFailure(Status.WRONG, f"the time is not to be trusted: {reason}")


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
