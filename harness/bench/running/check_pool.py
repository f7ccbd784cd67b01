"""Checks of built cases, several at a time unless the processor is to be timed."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace

from harness.artifact.artifact import EMULATING
from harness.bench.row_maker import CaseRecord
from harness.bench.running.checking import EMULATOR, CaseCheck
from harness.bench.running.context import RunContext, case_threads
from harness.bench.running.memory_needs import memory_shortage
from harness.bench.running.peaks import unit_of
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.system.machine.cores import available_cores
from harness.system.status import Status

NATIVE = "native"
TIMED_EXECUTORS = (NATIVE, "device")


class CheckPool:
    """Checks cases, as many at a time as `--jobs`; one at a time where code for the processor is timed after.

    Each case has a worker of its own, but for what stands in for a device, where the next case, of whatever
    group, gets the worker of one that passed: starting a worker takes about as long as a check.

    A thread of this process waits for each worker.  The workers are started by the caller's thread, because
    they die with the thread that started them.
    """

    def __init__(self, context: RunContext, stack: ExitStack, records: Sequence[CaseRecord]) -> None:
        """Workers live until they are closed or the stack is: it ends them before it joins the threads."""
        self._context = context
        self._stack = stack
        self._records = records
        times_the_processor = any(
            context.times(record.case) and record.executor == NATIVE for record in records
        )
        self._at_a_time = 1 if times_the_processor else context.settings.jobs
        self._threads = stack.enter_context(ThreadPoolExecutor(self._at_a_time))
        self._running: dict[Future[None], tuple[CaseRecord, WorkerProcess]] = {}
        self._to_be_timed: dict[str, WorkerProcess] = {}

    def run(self) -> dict[str, WorkerProcess]:
        """Finish the row of each case that fails or is not timed; return the workers of the others."""
        waiting = deque(self._records)
        while waiting or self._running:
            while waiting and len(self._running) < self._at_a_time:
                record = waiting.popleft()
                page_size = None if record.artifact is None else record.artifact.page_size
                memory_gb = self._context.experiment.limits.memory_gb
                shortage = memory_shortage(record.case.problem, memory_gb, page_size)
                if shortage is not None:
                    self._context.fail(record, "check", shortage)
                    continue
                try:
                    self._start(record)
                except WorkerFailure as failure:
                    reason = f"the oracle: {failure.reason}"
                    self._context.fail(record, "check", replace(failure, reason=reason))
            self._end_some()
        return self._to_be_timed

    def _start(self, record: CaseRecord) -> None:
        """Start the check of a case; raises `WorkerFailure` when the oracle has nothing to check it with."""
        settings = self._context.experiment.check_of(record.case)
        self._context.observer.started(record.case, "check")
        record.checked_inputs = settings.inputs
        worker = self._worker(record)
        expectations, problem = self._context.expectations, record.case.problem
        expected = expectations.of_check(
            problem, settings.distributions, with_others=record.executor != EMULATOR
        )
        limit_s = self._context.step_limit_s
        dump, keep = self._context.settings.dump, self._context.kept_outputs(record)
        check = CaseCheck(worker, record, expected, settings.seed, limit_s, dump, keep)
        self._running[self._threads.submit(check.run)] = (record, worker)

    def _worker(self, record: CaseRecord) -> WorkerProcess:
        if record.executor not in EMULATING:
            return self._stack.enter_context(self._context.worker(record))
        share = max(1, available_cores() // self._at_a_time)
        worker = self._idle_emulator() or self._context.worker(record, share)
        self._stack.callback(self._end_unless_idle, worker)
        return worker

    def _idle_emulator(self) -> WorkerProcess | None:
        while self._context.idle_emulators:
            worker = self._context.idle_emulators.pop()
            if worker.alive:
                return worker
            worker.close()
        return None

    def _end_unless_idle(self, worker: WorkerProcess) -> None:
        if worker not in self._context.idle_emulators:
            worker.close()

    def _end_some(self) -> None:
        """Wait until a check ends, if any goes on, and take what has ended to its row or to its timing."""
        context = self._context
        for check in wait(self._running, return_when=FIRST_COMPLETED).done:
            record, worker = self._running.pop(check)
            failure = check.exception()
            if failure is not None and not isinstance(failure, WorkerFailure):
                raise failure
            if failure is None and context.times(record.case) and record.executor in TIMED_EXECUTORS:
                self._to_be_timed[record.case.id] = worker
                unit = unit_of(record.case, record.artifact)
                context.peaks.begin(record.case, unit, case_threads(record.case))  # starts meanwhile
            elif failure is None and record.executor in EMULATING:
                context.idle_emulators.append(worker)
                context.finish(record, context.row_maker.success(record, Status.EMULATED))
            else:
                worker.close()
                if failure is not None:
                    context.fail(record, failure.phase, failure)
                else:
                    context.finish(record, context.row_maker.success(record, Status.PASSED))
