"""A few persistent workers that compute keys and build cases; a worker that dies is replaced."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness.building.case_build import BuildRequest, KeyRequest
from harness.machine.cores import available_cores
from harness.problem.case import Case
from harness.processes.open_files import readable
from harness.workers.process import DEATH_POLL_S, WorkerFailure, WorkerProcess
from harness.workers.protocol import Built, KeyFound

CaseRequest = KeyRequest | BuildRequest


@dataclass(frozen=True)
class Outcome:
    """What became of one request: an answer, or the failure that it ended in."""

    case: Case
    answer: KeyFound | Built | WorkerFailure
    seconds: float = 0.0
    """How long the answer took."""


def no_more(outcome: Outcome) -> None:
    """Ask nothing after an outcome."""


class BuildPool:
    """Answers requests about cases with up to `jobs` workers at a time."""

    def __init__(
        self,
        jobs: int,
        timeout_s: float,
        memory_gb: float | None,
        while_waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """Start nothing yet: workers come with the first requests.

        `while_waiting` is called now and then while workers build; what it raises ends the waiting.
        """
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._memory_gb = memory_gb
        self._while_waiting = while_waiting
        self._idle: list[WorkerProcess] = []
        self._busy: dict[WorkerProcess, tuple[Case, float]] = {}
        """What each is asked about, and since when."""

    def run(
        self,
        requests: Iterable[CaseRequest],
        on_start: Callable[[CaseRequest], None],
        next_request: Callable[[Outcome], CaseRequest | None] = no_more,
    ) -> Iterator[Outcome]:
        """Yield the outcome of each request, in the order in which they end.

        What `next_request` asks after an outcome goes to the worker that has just answered and knows the
        case.
        """
        waiting = deque(requests)
        while waiting or self._busy:
            while waiting and len(self._busy) < self._jobs:
                request = waiting.popleft()
                on_start(request)
                self._send(request)
            for outcome in self._finished():
                following = next_request(outcome)
                if following is not None:
                    waiting.appendleft(following)
                yield outcome

    def close(self) -> None:
        """Kill all workers."""
        for worker in [*self._idle, *self._busy]:
            worker.close()
        self._idle.clear()
        self._busy.clear()

    def _send(self, request: CaseRequest) -> None:
        """Give a request to a worker that is alive: one that died while idle is no fault of this case."""
        started = time.perf_counter()
        worker = self._living_worker()
        self._busy[worker] = request.case, started
        worker.send(request, self._timeout_s)

    def _living_worker(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        return WorkerProcess(threads=max(1, available_cores() // self._jobs), memory_gb=self._memory_gb)

    def _finished(self) -> list[Outcome]:
        """Wait a moment; return the outcomes of the workers that have answered, died or timed out."""
        patience = min([DEATH_POLL_S, *(worker.time_left for worker in self._busy)])
        ready = readable((worker.fileno() for worker in self._busy), patience)
        self._while_waiting()
        over = [
            worker
            for worker in self._busy
            if worker.fileno() in ready or not worker.alive or worker.time_left == 0
        ]
        outcomes = []
        for worker in over:
            case, started = self._busy.pop(worker)
            answer: KeyFound | Built | WorkerFailure
            try:
                answer = worker.receive()
            except WorkerFailure as failure:
                answer = failure
            outcomes.append(Outcome(case, answer, time.perf_counter() - started))
            self._put_back(worker)
        return outcomes

    def _put_back(self, worker: WorkerProcess) -> None:
        if worker.alive:
            self._idle.append(worker)
        else:
            worker.close()
