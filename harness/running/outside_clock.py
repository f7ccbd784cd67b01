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
from typing import TypeVar

from harness.running.checking import CheckFailure
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import (
    CallRequest,
    ChangeInputsRequest,
    ConvertInputsRequest,
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
MOST_WINDOWS_OF_CALLS = 10.0
"""So long may work pile up that calls leave to be done."""
GROWTH = 4
"""By how much more calls make a window, until it is long enough."""

MOST_COPIES = 10.0
"""Taking inputs, poisoning outputs and reading them may take so many times what copying inputs takes."""
GIVING_SLACK_S = 30e-6
"""Taking inputs in the processor's memory may take so much more."""


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
    read_anew_s: float = 0.0
    """By how much longer it takes to read those of a call that were not read before."""
    copy_s: float = 0.0
    """Copying all inputs, as code of ours does it."""
    convert_s: float = 0.0
    """Converting the output."""
    convert_inputs_s: float = 0.0
    """Converting all inputs; 0 where taking them takes no longer than copies do."""


@dataclass(frozen=True)
class _Calls:
    """What a call takes, in seconds."""

    called_s: float
    """Until it returns."""
    until_read_s: float
    """Until its output was read."""
    read_again_s: float
    """Reading that again."""

    @property
    def read_anew_s(self) -> float:
        """By how much longer it takes to read an output the first time."""
        return max(0.0, self.until_read_s - self.called_s - self.read_again_s)


def _shortest(calls: Iterable[_Calls]) -> _Calls:
    """Return the shortest of each: whatever disturbs makes them longer, and their differences either way."""
    taken = list(calls)
    return _Calls(
        min(one.called_s for one in taken),
        min(one.until_read_s for one in taken),
        min(one.read_again_s for one in taken),
    )


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
        self._convert_s = self._per_call(
            lambda times: self._beyond_a_request(ConvertOutputRequest(times=times))
        )
        self._give_s = float("inf")
        first = self._first_of_long_calls()
        if self._until_read(first) >= ENOUGH_S:
            poison_s = min(self._beyond_a_request(PoisonRequest()) for _ in range(2))
            return self._told(first, self._until_read(first), first.called_s, poison_s)
        many = self._many_calls()
        new = _shortest(self._first_call() for _ in range(self._windows))
        poison_s = self._per_call(lambda times: self._beyond_a_request(PoisonRequest(times=times)))
        poisoned = self._per_call(
            lambda calls: self._beyond_a_request(CallRequest(calls=calls, poisons=True))
        )
        return self._told(many, self._until_read(new), max(0.0, poisoned - poison_s), poison_s)

    def _told(self, calls: "_Calls", new: float, after_poison_s: float, poison_s: float) -> OutsideTimes:
        """Return what was found in this start."""
        return OutsideTimes(
            seconds=self._until_read(calls),
            on_new_inputs_s=new,
            after_poison_s=after_poison_s,
            give_s=self._give_s,
            poison_s=poison_s,
            read_s=calls.read_again_s,
            read_anew_s=calls.read_anew_s,
            copy_s=self._copy_s,
            convert_s=self._convert_s,
            convert_inputs_s=self._convert_inputs_s(),
        )

    def _convert_inputs_s(self) -> float:
        """Return what converting inputs takes, 0 where copies explain what taking them does."""
        if self._give_s <= MOST_COPIES * self._copy_s + GIVING_SLACK_S:
            return 0.0
        return min(self._beyond_a_request(ConvertInputsRequest()) for _ in range(2))

    def _until_read(self, calls: "_Calls") -> float:
        """Return what a call takes until its output is there.

        What is read a second time is there: where the first time takes longer, by more than copying explains,
        a call was not done yet.
        """
        return calls.called_s + max(0.0, calls.read_anew_s - MOST_COPIES * self._copy_s)

    def _first_of_long_calls(self) -> "_Calls":
        """Return what the shortest of a few first calls takes; at least two are made."""
        first = [self._first_call() for _ in range(LONG_CALLS)]
        while len(first) < self._long_calls and self._until_read(_shortest(first)) >= ENOUGH_S:
            first.append(self._first_call())
        return _shortest(first)

    def _first_call(self) -> "_Calls":
        """Return what the first call on other inputs takes, and note what giving them takes."""
        self._ask(ChangeInputsRequest(number=next(self._numbers)), Done)
        began = self._clock()
        given = self._ask(GiveInputsRequest(), InputsGiven)
        took = max(0.0, self._clock() - began - self._request_s) if given.is_in_place else 0.0
        self._give_s = min(self._give_s, took)
        began = self._clock()
        called = self._beyond_a_request(CallRequest(calls=1))
        self._ask(FetchRequest(), Done)
        until_read = self._clock() - began - 2 * self._request_s
        return _Calls(called, max(called, until_read), self._beyond_a_request(FetchRequest()))

    def _many_calls(self) -> "_Calls":
        """Return what a call takes, of many.

        Code that has not computed when a call returns is not let pile up more than a few windows of that.
        """
        again = self._per_call(lambda times: self._beyond_a_request(FetchRequest(times=times)))
        until_read = self._per_call(
            lambda calls: self._beyond_a_request(CallRequest(calls=calls, reads=True))
        )
        most = int(MOST_WINDOWS_OF_CALLS * self._window_s / max(until_read - again, 1e-9))
        called = self._per_call(lambda calls: self._beyond_a_request(CallRequest(calls=calls)), most)
        return _Calls(called, until_read, again)

    def _per_call(self, window: Callable[[int], float], most: int = MOST_CALLS) -> float:
        """Return what a call takes, of windows of more and more calls until one is long, or of the `most`.

        Of each length the shortest of some windows counts: one alone may be long by chance.
        """
        calls = 1
        while True:
            seconds = min(window(calls) for _ in range(self._windows))
            if seconds >= self._window_s or calls * GROWTH > min(most, MOST_CALLS):
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
