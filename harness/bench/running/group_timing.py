"""Timing the checked cases of one group: their workers take turns, rounds are journaled, rows are made.

Each start (`harness.bench.measure.rounds`) gives a case's worker a new life, whose arrays, stack and code lie
elsewhere (`harness.bench.running.prepared_case`).  Before each sample inputs are others and outputs poisoned;
what the last sample of a start leaves is compared with the oracle.  `harness.bench.running.trust` says when a
time is believed.
"""

import itertools
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import numpy as np

from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.bench.measure.rounds import MachineLoad, RoundTimer, TimedRound
from harness.bench.row_maker import CaseRecord, GroupTimes
from harness.bench.running.checking import wrong_output
from harness.bench.running.context import RunContext, case_threads
from harness.bench.running.counting import count
from harness.bench.running.peaks import unit_of
from harness.bench.running.prepared_case import TimedSample, call_once, prepare_case, start_case, take_sample
from harness.bench.running.time_spent import SAMPLES
from harness.bench.running.trust import Trial, require_agreement
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Greeting, Request
from harness.oracle.expected import Verdict
from harness.problem.case import Case
from harness.results.manifest import timestamp
from harness.results.statistics import Interval
from harness.results.timing_rounds import Round
from harness.system.digest import digest
from harness.system.machine.cores import available_cores
from harness.system.machine.quiet_cores import MOST_PROBED, fastest_core, quiet_cores
from harness.system.status import Status

QUIET_FOR_S = 3.0
"""Quiet processors are not looked for again sooner: the look itself takes part of a start."""

LONG_SAMPLE_S = 0.02
"""Of samples that confirm: beside these a wait is short."""
LONG_SAMPLES = 10
"""Of what does not agree at most so many are taken before code is called wrong."""
FIRST_CALLS = 60
"""Of at most so many one has to agree: beside others that use the processor most take longer."""

AFTER_TIMING = "right when it was checked, and wrong after the calls that were timed: "


class GroupTiming:
    """Times cases against each other and finishes their rows."""

    def __init__(
        self,
        context: RunContext,
        records: Mapping[str, CaseRecord],
        baseline: Case | None,
        workers: Mapping[str, WorkerProcess],
        stack: ExitStack,
    ) -> None:
        """Prepare to time those of a group's records whose `workers` have checked them; they are closed then.

        The baseline has passed its check: one that keeps its row from an earlier run takes part, too.
        """
        self._context = context
        self._records = records
        self._baseline = baseline
        self._workers = dict(workers)
        if baseline is not None and baseline.id not in self._workers:
            self._workers[baseline.id] = stack.enter_context(context.worker(records[baseline.id]))
        self._prepared: set[str] = set()
        """Candidates whose workers have read their code and inputs."""
        self._next_number = itertools.count(1).__next__
        """Gives the number of the inputs of the next sample: no candidate sees the same ones twice."""
        self._trials: dict[str, list[Trial]] = {}
        """The samples of this start by both clocks."""
        self._samples: dict[str, list[Sample]] = {}
        """The same as they count."""
        self._called_first: set[str] = set()
        """Candidates whose first calls have been looked at."""
        self._start_number = 0
        self._load = MachineLoad(())
        self._processors: list[int] = []
        self._processor: int | None = None
        """On which the candidates of this start are, where they share one."""
        self._is_disturbed = True
        """Whether others may use the processors by now."""
        self._looked_for_quiet_cores = -math.inf
        first = next(iter(records.values())).case
        self._units = {case_id: unit_of(record.case, record.artifact) for case_id, record in records.items()}
        context.peaks.begin(first, next(iter(self._units.values())), case_threads(first))
        keys = {case_id: record.key for case_id, record in records.items()}
        self._check = check = context.experiment.check_of(first)
        self._group_id = digest([keys, check.distributions[0], check.seed])[:12]
        """Names these cases with their keys and inputs: no rounds of others are mixed with theirs."""

    def run(self) -> None:
        """Start and sample the candidates in turns until it is enough, and make their rows."""
        timer = RoundTimer(
            list(self._workers),
            self._timed_baseline_id(),
            self._context.experiment.timing,
            starter=self._start,
            finish_start=self._finish_start,
            sample=self._sample,
            units=sorted(set(self._units.values())),
            sample_peak=self._sample_peak,
            on_round=self._journal,
            on_failure=self._drop,
            load=self._load,
            is_decided=self._is_decided,
            history=self._journaled_rounds(),
        )
        with self._context.spent.timing():
            rounds = timer.run()
        self._tell_missed(timer.missed())
        for worker in self._workers.values():
            worker.close()
        self._context.peaks.save()
        self._finish_rows(rounds)

    def _start(self, number: int, candidates: Sequence[str]) -> dict[str, WorkerFailure]:
        """Give candidates new lives, bound to copies of the same inputs, those of the first distribution.

        Candidates of one thread each share a processor, the fastest of those that others leave alone.
        """
        single = all(case_threads(self._records[case_id].case) == 1 for case_id in candidates)
        if single and self._is_disturbed and time.monotonic() - self._looked_for_quiet_cores > QUIET_FOR_S:
            self._processors, self._is_disturbed = quiet_cores(), False
            self._looked_for_quiet_cores = time.monotonic()
        probed = random.sample(self._processors, min(len(self._processors), MOST_PROBED))
        self._processor = fastest_core(probed) if single else None
        with self._context.spent.spent_on("starts"):
            for case_id in candidates:  # all at once: they begin side by side
                self._workers[case_id].restart()
            failures = self._of_each(candidates, self._begin, available_cores())
        self._start_number = number
        self._trials.clear()
        self._samples.clear()
        with self._context.spent.spent_on("peaks"):
            self._context.peaks.measure_bandwidths()
        self._load.follow([*(worker.pid for worker in self._workers.values()), *self._context.peaks.pids])
        return failures

    def _sample_peak(self, unit: str) -> float | None:
        with self._context.spent.spent_on("peaks"):
            return self._context.peaks.sample(unit, self._processor)

    def _begin(self, case_id: str) -> None:
        worker, limit_s = self._workers[case_id], self._context.step_limit_s
        if case_id not in self._prepared:
            self._context.observer.started(self._records[case_id].case, "time")
            worker.begin_lives(self._preparation(case_id), limit_s)
            self._prepared.add(case_id)
        request = partial(start_case, placement_seed=random.getrandbits(32), processor=self._processor)
        worker.request(request, limit_s)

    def _context_of(self, case_id: str) -> RunContext:
        return self._context

    def _preparation(self, case_id: str) -> Request[Greeting]:
        record, check = self._records[case_id], self._check
        if record.folder is None:
            raise ValueError(f"{case_id} has not been built")
        distribution = check.distributions[0]
        return partial(
            prepare_case,
            folder=record.folder,
            case=record.case,
            code=dict(record.code),
            candidate=record.candidate or 0,
            distribution=distribution,
            seed=check.seed,
            expectation=self._context_of(case_id).expectations.file(record.case.problem, distribution),
        )

    def _finish_start(self, number: int, candidates: Sequence[str]) -> dict[str, WorkerFailure]:
        with self._context.spent.spent_on("looks at clocks"):
            return self._of_each(candidates, self._compare_clocks)

    def _compare_clocks(self, case_id: str) -> None:
        long_samples = (self._take_long_sample(case_id) for _ in range(LONG_SAMPLES))
        require_agreement(itertools.chain(self._trials.get(case_id, []), long_samples))
        if case_id not in self._called_first:
            require_agreement(self._first_calls(case_id))
            self._called_first.add(case_id)

    def _take_long_sample(self, case_id: str) -> Trial:
        request = partial(take_sample, number=self._next_number(), min_seconds=LONG_SAMPLE_S)
        return self._clocked(case_id, request)[1]

    def _first_calls(self, case_id: str) -> Iterator[Trial]:
        """Call a candidate on new inputs, as often as somebody asks, beside what its samples say of calls."""
        samples = self._samples.get(case_id, [])
        if not samples:
            return
        is_of_device = self._is_of_device(case_id)
        launch_s = DeviceFacts.typical(sample.device for sample in samples).launch_s if is_of_device else None
        claimed_s = float(np.percentile([sample.seconds for sample in samples], 25)) + (launch_s or 0.0)
        for _ in range(FIRST_CALLS):
            request = partial(call_once, number=self._next_number(), is_of_device=is_of_device)
            began = time.perf_counter()
            besides_s = self._workers[case_id].request(request, self._context.step_limit_s)
            passed_s = time.perf_counter() - began - besides_s
            what = "a first call on new inputs, until its output is read,"
            yield Trial(what, claimed_s, passed_s, may_take_less=True)

    def _clocked(self, case_id: str, request: Request[TimedSample]) -> tuple[TimedSample, Trial]:
        """Return a sample, and how long it took by both clocks; making inputs new is no part of it."""
        began = time.perf_counter()
        timed = self._workers[case_id].request(request, self._context.step_limit_s)
        passed_s = time.perf_counter() - began - timed.besides_s
        claimed_s = timed.sample.seconds * timed.sample.calls
        trial = Trial("a sample", claimed_s, passed_s, may_take_longer=self._is_of_device(case_id))
        return timed, trial

    def _is_of_device(self, case_id: str) -> bool:
        return self._records[case_id].executor == "device"

    def _of_each(
        self, candidates: Sequence[str], do: Callable[[str], None], at_a_time: int = 1
    ) -> dict[str, WorkerFailure]:
        """Do something with each candidate, one at a time where clocks are read; return what failed."""

        def done(case_id: str) -> WorkerFailure | None:
            try:
                with self._records[case_id].elapsing():
                    do(case_id)
            except WorkerFailure as failure:
                return failure
            return None

        with ThreadPoolExecutor(at_a_time) as threads:
            failures = list(threads.map(done, candidates))
        return {
            case_id: failure
            for case_id, failure in zip(candidates, failures, strict=True)
            if failure is not None
        }

    def _finish_rows(self, rounds: list[TimedRound]) -> None:
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
            units=self._units,
            bandwidths=self._context.peaks.bandwidths(first),
        )
        for case_id in sorted(self._workers, key=lambda case_id: case_id != baseline_id):
            if case_id not in self._context.rows:
                record = self._records[case_id]
                count(self._context, record)
                row = self._context.row_maker.success(record, Status.PASSED, times)
                self._context.finish(record, row)

    def _tell_missed(self, messages: Iterable[str]) -> None:
        for message in messages:
            self._context.observer.message(message)

    def _is_decided(self, interval: Interval) -> bool:
        """Return whether an interval of a paired ratio says enough, however wide it is."""
        return False

    def _timed_baseline_id(self) -> str | None:
        if self._baseline is not None and self._baseline.id in self._workers:
            return self._baseline.id
        return None

    def _sample(self, case_id: str, *, is_verified: bool = False) -> Sample:
        """Take a sample with new inputs, into an output that is poisoned before; raises `WorkerFailure`."""
        record, worker = self._records[case_id], self._workers[case_id]
        timing = self._context.experiment.timing
        tells_energy = case_id not in self._samples
        request = partial(
            take_sample,
            number=self._start_number if is_verified else self._next_number(),
            min_seconds=timing.min_sample_s,
            is_verified=is_verified,
            graphs=timing.graphs,
            energy_s=timing.energy_s if tells_energy else 0.0,
        )
        with record.elapsing():
            timed, trial = self._clocked(case_id, request)
        self._context.spent.add(SAMPLES, trial.claimed_s)
        self._context.spent.add("looks at outputs" if is_verified else "new inputs", timed.besides_s)
        if timed.verdict is not None:
            self._require_right(record, worker, timed.verdict)
        if not (tells_energy and timing.energy_s):
            self._trials.setdefault(case_id, []).append(trial)
        self._samples.setdefault(case_id, []).append(timed.sample)
        return timed.sample

    def _require_right(self, record: CaseRecord, worker: WorkerProcess, verdict: Verdict) -> None:
        distribution = self._check.distributions[0]
        record.note_verdict(verdict, distribution)
        if not verdict.ok:
            raise wrong_output(verdict, distribution, AFTER_TIMING, worker.log())

    def _drop(self, case_id: str, failure: WorkerFailure) -> None:
        """Take a candidate that failed out of the rounds; a baseline's earlier row stands all the same."""
        self._workers.pop(case_id).close()
        record, context = self._records[case_id], self._context_of(case_id)
        if record.case.id in context.rows:
            context.observer.message(f"no comparison with {record.case.describe()}: {failure}")
        else:
            context.fail(record, "time", failure)

    def _journal(self, taken: TimedRound, number: int, widths: Mapping[str, float]) -> None:
        for context, own in self._by_run(taken):
            journaled = self._journaled(own, number)
            self._write(context, journaled)
        self._is_disturbed |= taken.load > self._context.experiment.timing.busy_limit
        self._context.ending.require_none()
        problem = next(iter(self._records.values())).case.problem
        self._context.observer.round(problem.describe(), number, widths)

    def _write(self, context: RunContext, journaled: Round) -> None:
        context.folder.append_round(journaled)

    def _by_run(self, taken: TimedRound) -> Iterable[tuple[RunContext, TimedRound]]:
        """Return the runs whose journals have a part of a round, with that part, by case id."""
        return [(self._context, taken)]

    def _journaled(self, taken: TimedRound, number: int) -> Round:
        return Round(
            group=self._group_id,
            round=number,
            start=taken.start,
            seconds={case_id: [seconds] for case_id, seconds in taken.seconds.items()},
            beside=[case_id for case_id in taken.seconds if case_id in self._context.rows],
            load=taken.load,
            device=taken.device,
            throttled=taken.throttled,
            peak_flops=dict(taken.peaks),
            at=timestamp(),
        )

    def _journaled_rounds(self) -> list[TimedRound]:
        """Return the rounds of this group that an interrupted run has taken.

        Those that a case spent beside others count for its own row as little as they do in the journal.
        """
        rounds = [
            taken
            for taken in self._context.earlier_rounds
            if taken.group == self._group_id and self._workers.keys() & {*taken.seconds, *taken.throttled}
        ]
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
                peaks=taken.peak_flops,
            )
            for taken in rounds
        ]
