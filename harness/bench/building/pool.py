"""A few persistent workers that compute keys and build cases; a worker that dies is replaced."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from harness.artifact.code_digests import code_digests, require_same_code
from harness.bench.building.case_build import build_request, key_request, tell_if_slow
from harness.bench.row_maker import CaseRecord
from harness.bench.workers.process import DEATH_POLL_S, WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Built, KeyFound, Request
from harness.problem.case import Case
from harness.system.errors import ChangedCodeError, PluginError
from harness.system.machine.cores import available_cores
from harness.system.processes.open_files import readable
from harness.system.status import Status

Asked = tuple[CaseRecord, str, Request[KeyFound | Built]]
"""A case, the phase that it enters, and what a worker is asked of it."""
OnStart = Callable[[Case, str], None]
"""Is told of each case, and of the phase that it enters, when work on it begins."""


@dataclass(eq=False)
class BuildPool:
    """Finds keys of cases and builds them with up to `jobs` workers, which come with the first requests."""

    jobs: int
    timeout_s: float
    memory_gb: float | None
    cache_root: Path | None = None
    while_waiting: Callable[[], None] = lambda: None
    sources: Sequence[Path] = ()
    tell: Callable[[str], None] = lambda line: None
    """Hears of requests that take long."""
    _idle: list[WorkerProcess] = field(default_factory=list, init=False)
    _busy: dict[WorkerProcess, tuple[CaseRecord, float, threading.Timer]] = field(
        default_factory=dict, init=False
    )
    """What each is asked about, since when, and what tells of it."""

    def find_keys(
        self, records: Iterable[CaseRecord], on_start: OnStart
    ) -> Iterator[tuple[CaseRecord, WorkerFailure]]:
        """Note key and device of each case in its record; yield the cases that have none, and why."""
        requests = deque(map(self._asking_for_key, records))
        for record, answer in self._answers(requests, on_start):
            failure = note_answer(record, answer, is_of_this_code=not self.sources)
            if failure is not None:
                yield record, failure

    def build(
        self, records: Iterable[CaseRecord], on_start: OnStart
    ) -> Iterator[tuple[CaseRecord, WorkerFailure | None]]:
        """Note in its record what each case was built into; yield it with None, or with why it has no code.

        A case without a key gets that first, and is then built by what has found it, which has generated its
        kernels already.  What a toolchain has refused is unsupported, with an artifact of the stages before.
        """
        requests = deque(
            self._asking_for_build(record) if record.key else self._asking_for_key(record)
            for record in records
        )
        for record, answer in self._answers(requests, on_start):
            failure = note_answer(record, answer, is_of_this_code=not self.sources)
            if failure is not None or isinstance(answer, Built):
                yield record, failure
            else:
                requests.appendleft(self._asking_for_build(record))

    def close(self) -> None:
        """Kill all workers."""
        for _, _, slow in self._busy.values():
            slow.cancel()
        for worker in [*self._idle, *self._busy]:
            worker.close()
        self._idle.clear()
        self._busy.clear()

    @staticmethod
    def _asking_for_key(record: CaseRecord) -> Asked:
        return record, "plan", partial(key_request, case=record.case)

    def _asking_for_build(self, record: CaseRecord) -> Asked:
        root = self.cache_root and self.cache_root.absolute()
        return record, "build", partial(build_request, case=record.case, key=record.key, cache_root=root)

    def _answers(
        self, waiting: deque[Asked], on_start: OnStart
    ) -> Iterator[tuple[CaseRecord, KeyFound | Built | WorkerFailure]]:
        """Yield the answer to each request, in the order in which they end, until none waits."""
        while waiting or self._busy:
            while waiting and len(self._busy) < self.jobs:
                record, phase, request = waiting.popleft()
                on_start(record.case, phase)
                worker, started = self._living_worker(), time.perf_counter()
                slow = tell_if_slow(record.case, phase, self.timeout_s, self.tell)
                self._busy[worker] = record, started, slow
                worker.send(request, self.timeout_s)
            yield from self._finished()

    def _living_worker(self) -> WorkerProcess:
        """Return a worker that is alive: one that died while idle is no fault of the next case."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        threads = max(1, available_cores() // self.jobs)
        return WorkerProcess(threads=threads, memory_gb=self.memory_gb, sources=self.sources)

    def _finished(self) -> Iterator[tuple[CaseRecord, KeyFound | Built | WorkerFailure]]:
        """Wait a moment; yield what the workers say that have answered, died or timed out."""
        patience = min([DEATH_POLL_S, *(worker.time_left for worker in self._busy)])
        ready = readable((worker.fileno() for worker in self._busy), patience)
        self.while_waiting()
        over = [
            worker
            for worker in self._busy
            if worker.fileno() in ready or not worker.alive or worker.time_left == 0
        ]
        for worker in over:
            record, started, slow = self._busy.pop(worker)
            slow.cancel()
            answer: KeyFound | Built | WorkerFailure
            try:
                answer = worker.receive()
            except WorkerFailure as failure:
                answer = failure
            record.elapsed_s += time.perf_counter() - started
            if worker.alive:
                self._idle.append(worker)
            else:
                worker.close()
            yield record, answer


def note_answer(
    record: CaseRecord, answer: KeyFound | Built | WorkerFailure, *, is_of_this_code: bool = True
) -> WorkerFailure | None:
    """Note an answer in the record of its case; return why there is none, or why it has no code."""
    if isinstance(answer, WorkerFailure):
        return answer
    if isinstance(answer, KeyFound):
        try:
            require_same_code(code_digests(answer.code) if is_of_this_code else {}, answer.code)
        except (ChangedCodeError, PluginError) as error:
            return WorkerFailure(Status.CRASHED, str(error), transient=True)
        record.key, record.device, record.code = answer.key, answer.device, answer.code
        return None
    record.note_build(answer)
    refusal = answer.artifact.refusal
    return None if refusal is None else WorkerFailure(Status.UNSUPPORTED, refusal)
