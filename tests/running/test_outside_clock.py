"""What a call takes by the clock of who asks for it: requests that jitter do not make calls look long."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from harness.running.distrust import CONFIRMATIONS, persists
from harness.running.outside_clock import OutsideClock
from harness.workers.protocol import CallRequest, Done, FetchRequest, InputsGiven, PoisonRequest, Request


class SimulatedWorker:
    """Answers after the time of a request, which jitters, and of the calls that it is asked for."""

    def __init__(self, call_s: float, seed: int = 0, pending_s: float = 0.0, read_s: float = 0.0) -> None:
        self.now = 0.0
        self.call_s = call_s
        self.pending_s = pending_s
        """What each call still has to do when it returns."""
        self.read_s = read_s
        self._pending = 0.0
        self._random = np.random.default_rng(seed)

    def request(self, request: Request, limit_s: float, answer: type[Done | InputsGiven]) -> object:
        self.now += 40e-6 + self._random.exponential(60e-6) + (3e-3 if self._random.random() < 0.1 else 0)
        if isinstance(request, CallRequest):
            self.now += request.calls * self.call_s
            self._pending += request.calls * self.pending_s
            if request.reads:
                self.now += self._pending + request.calls * self.read_s
                self._pending = 0.0
        elif isinstance(request, FetchRequest):
            self.now += self._pending + request.times * self.read_s
            self._pending = 0.0
        return InputsGiven(is_in_place=True) if answer is InputsGiven else Done()


def times_of(worker: SimulatedWorker) -> SimpleNamespace:
    clock = OutsideClock(worker, 1.0, itertools.count(2), clock=lambda: worker.now)  # type: ignore[arg-type]
    times = clock.times()
    return SimpleNamespace(seconds=times.seconds, first=times.on_new_inputs_s)


@pytest.mark.parametrize("call_s", [1e-6, 7e-6, 50e-6, 1e-3, 20e-3])
def test_a_call_takes_what_it_takes_however_requests_jitter(call_s: float) -> None:
    found = [times_of(SimulatedWorker(call_s, seed)).seconds for seed in range(20)]
    assert max(found) < 1.5 * call_s
    assert min(found) > 0.7 * call_s


def test_what_is_done_after_the_return_counts() -> None:
    found = [times_of(SimulatedWorker(1e-6, seed, pending_s=2e-3)).seconds for seed in range(20)]
    assert np.median(found) == pytest.approx(2e-3, rel=0.3)


@pytest.mark.parametrize("call_s", [1e-6, 50e-6, 1e-3, 20e-3])
def test_what_is_computed_when_an_output_is_read_first_is_found_out(call_s: float) -> None:
    late_s = max(10e-6, 0.6 * call_s)
    for seed in range(20):
        assert is_distrusted(SimulatedWorker(call_s, seed, pending_s=late_s, read_s=5e-6), call_s)
        assert is_distrusted(InterruptedWorker(call_s, seed, pending_s=late_s, read_s=5e-6), call_s)


@pytest.mark.parametrize("call_s", [1e-6, 50e-6, 1e-3, 20e-3])
def test_reading_an_output_may_take_its_time_each_time(call_s: float) -> None:
    for seed in range(20):
        assert not is_distrusted(SimulatedWorker(call_s, seed, read_s=80e-6), call_s)


def test_work_that_is_left_to_be_done_does_not_pile_up() -> None:
    worker = SimulatedWorker(1e-6, pending_s=4e-3)
    assert times_of(worker).seconds == pytest.approx(4e-3, rel=0.3)
    assert worker.now < 5.0


class ForgetfulWorker(SimulatedWorker):
    """Has no output from when it is poisoned to the next call, as code whose library allocates it."""

    has_output = False

    def request(self, request: Request, limit_s: float, answer: type[Done | InputsGiven]) -> object:
        if isinstance(request, CallRequest) and request.calls:
            self.has_output = True
        elif isinstance(request, PoisonRequest):
            self.has_output = False
        elif isinstance(request, FetchRequest):
            assert self.has_output, "output() before run()"
        return super().request(request, limit_s, answer)


@pytest.mark.parametrize("call_s", [1e-6, 1e-3, 20e-3])
def test_outputs_are_read_only_after_a_call(call_s: float) -> None:
    times_of(ForgetfulWorker(call_s))


class CrowdedWorker(SimulatedWorker):
    """On a machine with more to do than processors: for a while, every request waits."""

    def __init__(self, call_s: float, crowded_for_s: float) -> None:
        super().__init__(call_s)
        self._crowded_for_s = crowded_for_s

    def request(self, request: Request, limit_s: float, answer: type[Done | InputsGiven]) -> object:
        if self.now < self._crowded_for_s and isinstance(request, CallRequest) and request.calls:
            self.now += 10e-3
        return super().request(request, limit_s, answer)


def is_distrusted(worker: SimulatedWorker, claimed_s: float) -> bool:
    clock = OutsideClock(
        worker,  # type: ignore[arg-type]
        1.0,
        itertools.count(2),
        clock=lambda: worker.now,
        confirms=True,
    )
    return persists(clock, claimed_s, 0.0)


def test_honest_code_on_a_crowded_machine_is_timed_again_until_it_is_seen_alone() -> None:
    crowded = CrowdedWorker(1e-4, crowded_for_s=0.05)
    assert times_of(CrowdedWorker(1e-4, crowded_for_s=0.05)).seconds > 3 * 1e-4
    assert not is_distrusted(crowded, claimed_s=1e-4)


class InterruptedWorker(SimulatedWorker):
    """Beside three others on its processor all the time: it gets 3 ms, then waits for 9."""

    def request(self, request: Request, limit_s: float, answer: type[Done | InputsGiven]) -> object:
        before = self.now
        result = super().request(request, limit_s, answer)
        self._worked = getattr(self, "_worked", 0.0) + self.now - before
        interruptions, self._worked = divmod(self._worked, 3e-3)
        self.now += interruptions * 9e-3
        return result


@pytest.mark.parametrize("call_s", [6e-6, 15e-6, 100e-6, 2e-3])
def test_honest_code_on_a_machine_that_stays_crowded_is_not_distrusted(call_s: float) -> None:
    for seed in range(20):
        assert not is_distrusted(InterruptedWorker(call_s, seed), claimed_s=call_s)
        assert is_distrusted(InterruptedWorker(4 * call_s + 10e-6, seed), claimed_s=call_s)


def test_what_takes_longer_than_it_says_is_found_out_each_time() -> None:
    worker = SimulatedWorker(1e-3)
    assert is_distrusted(worker, claimed_s=1e-4)
    assert worker.now > CONFIRMATIONS * 1e-3
