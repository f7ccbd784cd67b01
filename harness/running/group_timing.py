"""Timing the checked cases of one group: their workers take turns, rounds are journaled, rows are made.

Each start (`harness.measure.rounds`) gives a case's worker a new life, whose arrays, stack and code lie
elsewhere.  Before each sample outputs are poisoned and inputs changed; in each start some calls are timed by
the clock of this process, too (`harness.running.outside_clock`).
"""

import itertools
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from harness.artifact.bound_call import Sample
from harness.digest import digest
from harness.machine.cores import available_cores
from harness.machine.quiet_core import quiet_core
from harness.measure.order_effects import OrderEffect, order_effects
from harness.measure.rounds import TURN_S, MachineLoad, RoundTimer, TimedRound
from harness.problem.case import Case
from harness.problem.changing_inputs import TURNED
from harness.results.manifest import timestamp
from harness.results.row_maker import CaseRecord, GroupTimes
from harness.results.timing_rounds import Round
from harness.running.checking import CheckFailure, bind_inputs, load_case
from harness.running.context import RunContext, case_threads
from harness.running.counting import count
from harness.running.distrust import beyond_what_passed
from harness.running.outside_clock import OutsideClock, OutsideTimes, typical
from harness.running.timing_checks import TimingChecks
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import (
    ChangeInputsRequest,
    Done,
    GiveInputsRequest,
    InputsGiven,
    PoisonRequest,
    Sampled,
    SampleRequest,
)

ENERGY_SAMPLE = 2
"""The sample of a start after which the energy of a call is told: the first one is thrown away."""


def time_group(
    context: RunContext,
    records: Mapping[str, CaseRecord],
    baseline: Case | None,
    workers: Mapping[str, WorkerProcess],
    stack: ExitStack,
) -> None:
    """Time cases against each other and finish their rows.

    `records` holds all cases of the group, `workers` the loaded workers of those to be timed, which are
    closed afterwards.  The baseline has passed its check: one that keeps its row from an earlier run takes
    part, too.
    """
    timing = _GroupTiming(context, records, baseline, workers, stack)
    timing.add_kept_baseline()
    timing.finish_rows(timing.take_rounds())


class _GroupTiming:
    def __init__(
        self,
        context: RunContext,
        records: Mapping[str, CaseRecord],
        baseline: Case | None,
        workers: Mapping[str, WorkerProcess],
        stack: ExitStack,
    ) -> None:
        self._context = context
        self._stack = stack
        self._records = records
        self._baseline = baseline
        self._workers = dict(workers)
        self._is_first_start = True
        self._numbers = itertools.count(TURNED + 1)
        """Of the inputs of the next sample: no candidate sees the same ones twice, and none is enlarged."""
        self._outside: dict[str, dict[int, OutsideTimes]] = {}
        """What calls take by this process's clock, by candidate and start."""
        self._samples_of_start: Counter[str] = Counter()
        self._bound: set[str] = set()
        """The candidates that were called here, on the inputs of the first distribution."""
        self._processor: int | None = None
        """Where the candidates of this start run, if they share a processor."""
        self._load = MachineLoad(())
        first = next(iter(records.values())).case
        self._peak = context.peaks.sampler(first, case_threads(first), stack)
        keys = {case_id: record.key for case_id, record in records.items()}
        self._check = check = context.experiment.check_of(first)
        self._group_id = digest([keys, check.distributions[0], check.seed])[:12]
        """Names these cases with their keys and inputs: no rounds of others are mixed with theirs."""

    def add_kept_baseline(self) -> None:
        """Load a baseline that is not to be timed itself, so that the others can be compared with it."""
        if self._baseline is None or self._baseline.id in self._workers:
            return
        record = self._records[self._baseline.id]
        worker = self._stack.enter_context(self._context.worker(record))
        try:
            load_case(worker, record, self._context.step_limit_s)
        except CheckFailure as failed:
            self._context.observer.message(f"no comparison with {record.case.describe()}: {failed}")
            worker.close()
        else:
            self._workers[record.case.id] = worker

    def take_rounds(self) -> list[TimedRound]:
        """Start and sample the candidates in turns until it is enough, and close their workers."""
        timer = RoundTimer(
            list(self._workers),
            self._timed_baseline_id(),
            self._context.experiment.timing,
            starter=self._start,
            sample=self._sample,
            sample_peak=self._peak.sample,
            on_round=self._journal,
            on_failure=self._drop,
            load=self._load,
            history=self._journaled_rounds(),
        )
        rounds = timer.run()
        self._start_for_checks(rounds)
        checks = TimingChecks(self._context, self._records, self._workers, self._sample_with, self._drop)
        checks.check_outputs(self._bound)
        checks.check_times(rounds, self._outside, self._numbers)
        for worker in self._workers.values():
            worker.close()
        self._peak.close()
        self._context.peaks.save()
        return rounds

    def _start(self, number: int, candidates: Sequence[str]) -> dict[str, WorkerFailure]:
        """Give candidates new lives, and bind them to the same inputs, those of the first distribution.

        The first start uses the lives that the cases were checked in.  Candidates of one thread each share a
        processor.
        """
        self._samples_of_start.clear()
        single = all(case_threads(self._records[case_id].case) == 1 for case_id in candidates)
        self._processor = quiet_core() if single else None
        if not self._is_first_start:
            for case_id in candidates:  # all at once: they begin side by side
                self._workers[case_id].restart()
        for case_id in candidates:
            self._context.observer.started(self._records[case_id].case, "time")
        with ThreadPoolExecutor(available_cores()) as threads:
            prepared = list(threads.map(self._prepare, candidates))
        failures = {
            case_id: failure
            for case_id, failure in zip(candidates, prepared, strict=True)
            if failure is not None
        }
        for case_id in candidates:
            if case_id not in failures:
                failure = self._time_outside(number, case_id)
                failures |= {} if failure is None else {case_id: failure}
        self._is_first_start = False
        self._load.follow([*(worker.pid for worker in self._workers.values()), *self._peak.pids])
        return failures

    def _start_for_checks(self, rounds: Sequence[TimedRound]) -> None:
        """Start candidates whose rounds an interrupted run has all taken: what it found of them is lost."""
        candidates = [case_id for case_id in self._workers if case_id not in self._bound]
        if candidates:
            number = 1 + max((taken.start for taken in rounds), default=-1)
            for case_id, failure in self._start(number, candidates).items():
                self._drop(case_id, failure)

    def _time_outside(self, start: int, case_id: str) -> WorkerFailure | None:
        """Time calls of a candidate by this process's clock; return what failed, if anything."""
        outside = OutsideClock(self._workers[case_id], self._context.step_limit_s, self._numbers)
        try:
            with self._records[case_id].elapsing():
                self._outside.setdefault(case_id, {})[start] = outside.times()
        except CheckFailure as failed:
            return failed.failure
        return None

    def _prepare(self, case_id: str) -> WorkerFailure | None:
        """Load a candidate into its worker, if that is new, and bind it; return what failed, if anything."""
        record, worker = self._records[case_id], self._workers[case_id]
        check, limit_s = self._check, self._context.step_limit_s
        placement = random.getrandbits(32)
        try:
            with record.elapsing():
                if not self._is_first_start:
                    load_case(worker, record, limit_s)
                bind_inputs(worker, check.distributions[0], check.seed, limit_s, placement=placement)
        except CheckFailure as failed:
            return failed.failure
        self._bound.add(case_id)
        if self._processor is not None:
            worker.keep_on(self._processor)
        return None

    def finish_rows(self, rounds: list[TimedRound]) -> None:
        """Make the rows of what was timed, the baseline's first: without it the others are timed again."""
        if not self._workers:
            return
        baseline_id = self._timed_baseline_id()
        first = next(iter(self._records.values())).case
        times = GroupTimes(
            rounds=rounds,
            busy_limit=self._context.experiment.timing.busy_limit,
            baseline=self._baseline if baseline_id is not None else None,
            baseline_key=self._records[baseline_id].key if baseline_id is not None else None,
            peak=self._context.peaks.of(first),
            outside_s={case_id: typical(times.values()) for case_id, times in self._outside.items()},
            order_effects=self._order_effects(rounds),
        )
        for case_id in sorted(self._workers, key=lambda case_id: case_id != baseline_id):
            if case_id not in self._context.rows:
                record = self._records[case_id]
                count(self._context, record)
                row = self._context.row_maker.success(record, Status.PASSED, times)
                self._context.finish(record, row)

    def _order_effects(self, rounds: Sequence[TimedRound]) -> dict[str, OrderEffect]:
        """Return what the candidate before does to one, by case id, and say who that is."""
        effects = order_effects([taken.after for taken in rounds], [taken.start for taken in rounds])
        return {
            case_id: replace(effect, predecessor=self._name(effect.predecessor))
            for case_id, effect in effects.items()
        }

    def _name(self, case_id: str) -> str:
        return f"{self._records[case_id].case.variant} {case_id}"

    def _timed_baseline_id(self) -> str | None:
        """Return the baseline's case id, if it is one of the candidates that are alive."""
        if self._baseline is not None and self._baseline.id in self._workers:
            return self._baseline.id
        return None

    def _sample(self, case_id: str) -> Sample:
        return self._sample_with(case_id, next(self._numbers))

    def _sample_with(self, case_id: str, number: int) -> Sample:
        """Take a sample with inputs of a number, into an output that is poisoned before.

        Raises `WorkerFailure` for one that says more than has passed.
        """
        worker, limit_s = self._workers[case_id], self._context.step_limit_s
        timing = self._context.experiment.timing
        request = SampleRequest(
            min_seconds=min(TURN_S, timing.min_sample_s),
            graphs=timing.graphs,
            energy_s=timing.energy_s if self._is_to_tell_energy(case_id) else 0.0,
        )
        with self._records[case_id].elapsing():
            worker.request(ChangeInputsRequest(number=number), limit_s, Done)
            worker.request(GiveInputsRequest(), limit_s, InputsGiven)
            worker.request(PoisonRequest(), limit_s, Done)
            begin = time.perf_counter()
            taken = worker.request(request, limit_s, Sampled)
            passed_s = time.perf_counter() - begin
        failure = beyond_what_passed(taken.seconds, taken.calls, passed_s)
        if failure is not None:
            raise failure
        return Sample(taken.seconds, taken.calls, taken.device, taken.throttled)

    def _is_to_tell_energy(self, case_id: str) -> bool:
        """Return whether this is the second sample of a candidate in this start: the first warms it up."""
        self._samples_of_start[case_id] += 1
        return self._samples_of_start[case_id] == ENERGY_SAMPLE

    def _drop(self, case_id: str, failure: WorkerFailure) -> None:
        """Take a candidate that failed out of the rounds; a baseline's earlier row stands all the same."""
        self._workers.pop(case_id).close()
        record = self._records[case_id]
        if case_id in self._context.rows:
            self._context.observer.message(f"no comparison with {record.case.describe()}: {failure}")
        else:
            self._context.fail(record, "time", failure)

    def _journal(self, taken: TimedRound, number: int, widths: Mapping[str, float]) -> None:
        journaled = Round(
            group=self._group_id,
            round=number,
            start=taken.start,
            seconds={case_id: [seconds] for case_id, seconds in taken.seconds.items()},
            beside=[case_id for case_id in taken.seconds if case_id in self._context.rows],
            load=taken.load,
            device=taken.device,
            throttled=taken.throttled,
            peak_flops={} if taken.peak.flops is None else {self._peak.name: taken.peak.flops},
            bandwidths={self._peak.name: dict(taken.peak.bandwidths)} if taken.peak.bandwidths else {},
            at=timestamp(),
        )
        self._context.folder.append_round(journaled)
        self._context.peaks.note(journaled)
        self._context.ending.require_none()
        problem = next(iter(self._records.values())).case.problem
        self._context.observer.round(problem.describe(), number, widths)

    def _journaled_rounds(self) -> list[TimedRound]:
        """Return the rounds of this group that an interrupted run has taken.

        Those that a case spent beside others count for its own row as little as they do in the journal.
        """
        return [
            TimedRound(
                seconds={
                    case: times[0]
                    for case, times in taken.seconds.items()
                    if case in self._workers and (case in self._context.rows or case not in taken.beside)
                },
                load=taken.load,
                start=taken.start,
                device=taken.device,
                throttled=taken.throttled,
            )
            for taken in self._context.earlier_rounds
            if taken.group == self._group_id and self._workers.keys() & {*taken.seconds, *taken.throttled}
        ]
