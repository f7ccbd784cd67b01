"""Whether claims of a worker agree with this process's clock; the worker is a test's."""

import itertools

import pytest

from harness.bench.running import trust
from harness.bench.running.prepared_case import FreshCallsRequest, SampleRequest
from harness.bench.running.trust import (
    ClockedSample,
    FirstCalls,
    distrust_of_first_calls,
    distrust_of_samples,
)
from harness.bench.workers.protocol import Done, Sampled


def test_new_inputs_are_no_part_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 10.5])
    monkeypatch.setattr(trust.time, "perf_counter", lambda: next(now))

    class Answers:
        def request(self, request: SampleRequest, limit_s: float) -> Sampled:
            return Sampled(seconds=0.05, calls=4, besides_s=0.25)

    request = SampleRequest(number=2, min_seconds=0.1)
    _, clocked = trust.take_sample(Answers(), request, 1.0)  # type: ignore[arg-type]
    assert clocked == ClockedSample(claimed_s=0.2, passed_s=0.25)


def test_the_sample_that_was_disturbed_least_counts() -> None:
    waited = [ClockedSample(1e-3, 9e-3)] * 9
    assert distrust_of_samples([*waited, ClockedSample(1e-3, 1.1e-3)], is_of_device=False) is None
    assert distrust_of_samples(waited, is_of_device=False) is not None


def test_what_says_more_than_has_passed_is_not_believed() -> None:
    for is_of_device in (False, True):
        failure = distrust_of_samples([ClockedSample(1.0, 1e-3)], is_of_device=is_of_device)
        assert failure is not None
        assert "a sample says 1e+03 ms, and 1 ms have passed meanwhile" in failure.reason


def test_a_device_counts_less_than_passes() -> None:
    assert distrust_of_samples([ClockedSample(1e-3, 9e-3)], is_of_device=True) is None


def test_a_first_call_may_find_nothing_in_the_caches() -> None:
    assert distrust_of_first_calls(fresh_s=1.9e-3, claimed_s=1e-3) is None
    assert distrust_of_first_calls(fresh_s=400e-6, claimed_s=1e-6) is None
    assert distrust_of_first_calls(fresh_s=2.1e-3, claimed_s=1e-3) is not None


class Worker:
    """Takes so long for each kind of first call."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.numbers: list[int] = []

    def request(self, request: FreshCallsRequest, limit_s: float) -> Done:
        self.now += 1e-4 + request.times * self.seconds[request.call]
        self.numbers += range(request.number, request.number + request.times)
        return Done()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    stand_in = Worker({"run": 3e-3, "copy": 1e-3, "read": 2e-3})
    monkeypatch.setattr(trust.time, "perf_counter", lambda: stand_in.now)
    return stand_in


def first_calls(worker: Worker, *, is_of_device: bool = False) -> FirstCalls:
    numbers = itertools.count(2)
    return FirstCalls(worker, 1.0, lambda: next(numbers), is_of_device=is_of_device)  # type: ignore[arg-type]


def test_what_is_done_besides_is_taken_off(worker: Worker) -> None:
    assert first_calls(worker).seconds() == pytest.approx(2e-3)
    assert first_calls(worker, is_of_device=True).seconds() == pytest.approx(1e-3)


def test_no_inputs_are_seen_twice(worker: Worker) -> None:
    first_calls(worker).seconds()
    assert len(set(worker.numbers)) == len(worker.numbers)


def test_what_is_too_long_again_is_distrusted(worker: Worker) -> None:
    calls = first_calls(worker)
    assert calls.confirm(claimed_s=2e-3) is None
    assert calls.confirm(claimed_s=1e-6) is not None
