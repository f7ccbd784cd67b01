"""Whether what a worker says of its calls agrees with the clock of this process.

A worker times its calls itself, to the microsecond, and runs code that nobody here has read.  Code that
returns before it is done, hands out what it has computed before, or reads a clock wrongly would look fast.
Three things show it: what a sample leaves is compared with the oracle in each start; the time of a whole
sample is the same by both clocks; and a first call on new inputs, until its output is read, takes about as
long as others.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.bench.running.prepared_case import FreshCallsRequest, SampleRequest
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import FreshCall, Sampled
from harness.system.status import Status

AGREEMENT = 1.5
"""What a worker says and what this process's clock says may differ by this factor."""
SLACK_S = 0.5e-3
"""And by so much more: requests wait for their turn, and a first call finds nothing in the caches."""
LONG_SAMPLE_S = 0.02
"""Of samples that confirm: beside these a wait is short."""
FRESH_WINDOW_S = 0.005
"""First calls are repeated, each on other inputs, until they take this long together."""
FRESH_WINDOWS = 3
"""Of so many the shortest counts: whatever disturbs makes them longer."""
LONG_CALL_S = 0.05
"""One that takes longer is looked at once: what disturbs is short beside it."""
CONFIRMATIONS = 5
"""Of what does not agree so many times as many are taken before code is called wrong."""


@dataclass(frozen=True)
class ClockedSample:
    """A sample by both clocks, in seconds of all of its calls."""

    claimed_s: float
    passed_s: float


def take_sample(
    worker: WorkerProcess, request: SampleRequest, limit_s: float
) -> tuple[Sampled, ClockedSample]:
    """Return a worker's sample, and how long it took by both clocks; raises `WorkerFailure`.

    Making inputs new, and looking at outputs, is no part of it.
    """
    began = time.perf_counter()
    sampled = worker.request(request, limit_s)
    passed_s = time.perf_counter() - began - sampled.besides_s
    return sampled, ClockedSample(sampled.seconds * sampled.calls, passed_s)


def distrust_of_samples(samples: Sequence[ClockedSample], *, is_of_device: bool) -> WorkerFailure | None:
    """Return why the samples of a start are not to be trusted, or None.

    The sample counts that the clocks agree on best: a process that waits for its turn sees more pass.  On a
    device more passes than what it counts, for caches are emptied before each call.
    """
    if not samples:
        return None
    best = min(samples, key=lambda sample: sample.passed_s / sample.claimed_s)
    claimed, passed = _shown(best.claimed_s), _shown(best.passed_s)
    if best.claimed_s > AGREEMENT * best.passed_s:
        return _distrusted(f"a sample says {claimed}, and {passed} have passed meanwhile")
    if not is_of_device and best.passed_s > AGREEMENT * best.claimed_s + SLACK_S:
        return _distrusted(f"a sample takes {passed}, and says {claimed}")
    return None


def confirm_samples(
    worker: WorkerProcess, limit_s: float, next_number: Callable[[], int], *, is_of_device: bool
) -> WorkerFailure | None:
    """Return why longer samples are not to be trusted, either, or None: beside these a wait is short."""
    requests = (SampleRequest(number=next_number(), min_seconds=LONG_SAMPLE_S) for _ in range(CONFIRMATIONS))
    samples = [take_sample(worker, request, limit_s)[1] for request in requests]
    return distrust_of_samples(samples, is_of_device=is_of_device)


def distrust_of_first_calls(fresh_s: float, claimed_s: float) -> WorkerFailure | None:
    """Return why a claimed time is not to be trusted beside that of first calls, or None."""
    if fresh_s <= AGREEMENT * claimed_s + SLACK_S:
        return None
    return _distrusted(
        f"a first call on new inputs takes {_shown(fresh_s)} until its output is read, others "
        f"{_shown(claimed_s)} by its own clock"
    )


class FirstCalls:
    """Times first calls of a worker on new inputs, by this process's clock."""

    def __init__(
        self,
        worker: WorkerProcess,
        limit_s: float,
        next_number: Callable[[], int],
        *,
        is_of_device: bool = False,
    ) -> None:
        """Take inputs of numbers that are others each time.

        From a device outputs are copied however little is computed: reading them does not count.
        """
        self._worker = worker
        self._limit_s = limit_s
        self._next_number = next_number
        self._besides: FreshCall = "read" if is_of_device else "copy"

    def seconds(self, windows: int = FRESH_WINDOWS) -> float:
        """Return what a first call takes until its output is read; raises `WorkerFailure`.

        What it takes to give inputs, to poison outputs and to copy them is taken off.
        """
        first_s = self._passed(1, "run")
        if first_s > LONG_CALL_S and windows == FRESH_WINDOWS:
            return max(0.0, first_s - self._passed(1, self._besides))
        times = max(1, round(FRESH_WINDOW_S / max(first_s, 1e-6)))
        called, besides = [], []
        for _ in range(windows):
            called.append(self._passed(times, "run"))
            besides.append(self._passed(times, self._besides))
        return max(0.0, min(called) - min(besides)) / times

    def confirm(self, claimed_s: float) -> WorkerFailure | None:
        """Return why a claim is not to be trusted when first calls are timed often again, or None."""
        return distrust_of_first_calls(self.seconds(CONFIRMATIONS * FRESH_WINDOWS), claimed_s)

    def _passed(self, times: int, call: FreshCall) -> float:
        number = self._next_number()
        for _ in range(times - 1):
            self._next_number()
        began = time.perf_counter()
        self._worker.request(FreshCallsRequest(number=number, times=times, call=call), self._limit_s)
        return time.perf_counter() - began


def _distrusted(reason: str) -> WorkerFailure:
    return WorkerFailure(Status.WRONG, f"the time is not to be trusted: {reason}")


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
