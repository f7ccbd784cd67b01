"""One group of a run: cases that are built and checked together, and timed against each other."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from harness.bench.row_maker import CaseRecord
from harness.bench.running.check_pool import TIMED_EXECUTORS, CheckPool
from harness.bench.running.checking import EMULATOR
from harness.bench.running.context import RunContext
from harness.bench.running.group_timing import GroupTiming
from harness.bench.running.time_spent import BUILD, CHECK
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.problem.case import Case
from harness.system.status import Status

GIGA = 1e-9
"""Operations in GFLOP."""


class GroupRun:
    """Takes the cases of one group from plan to row."""

    def __init__(self, context: RunContext, cases: Sequence[Case]) -> None:
        """Prepare to run `cases`, which differ in variant and parameters only if they are to be timed."""
        self._context = context
        self.records = {case.id: CaseRecord(case) for case in cases}

    def run(self) -> None:
        """Add a row for each case to the context's."""
        self.find_keys_of_earlier()
        self._keep_earlier_rows()
        with ExitStack() as stack:
            workers = self.checked(stack)
            if workers:
                baseline = self._timed_baseline(workers)
                GroupTiming(self._context, self.records, baseline, workers, stack).run()

    def find_keys_of_earlier(self) -> None:
        """Compute every case's content key where a resumed run has some; what fails here is final."""
        if any(case_id in self._context.earlier for case_id in self.records):
            keys = self._context.builders.find_keys(self.records.values(), self._context.observer.started)
            for record, failure in keys:
                self._fail(record, failure)

    def checked(self, stack: ExitStack) -> dict[str, WorkerProcess]:
        """Build and check the cases without a row; return the workers of those that are to be timed now."""
        with self._context.spent.spent_on(BUILD):
            self._build()
        with self._context.spent.spent_on(CHECK):
            return CheckPool(self._context, stack, self._unfinished()).run()

    def _unfinished(self) -> list[CaseRecord]:
        return [record for case_id, record in self.records.items() if case_id not in self._context.rows]

    def _keep_earlier_rows(self) -> None:
        for compared in self._context.experiment.groups(record.case for record in self.records.values()):
            unfinished = [self.records[case.id] for case in compared if case.id not in self._context.rows]
            baseline = self._baseline(compared)
            kept = [
                record
                for record in unfinished
                if self.still_holds(record) and self._is_compared_as_now(baseline, record)
            ]
            redone = [record.case for record in unfinished if record not in kept]
            if baseline in redone:
                kept = [record for record in kept if self._context.earlier[record.case.id].time_s is None]
            for record in kept:
                self._context.keep(record, self._context.earlier[record.case.id])

    def _baseline(self, compared: Sequence[Case]) -> Case | None:
        """Return what the cases of one problem on one target are compared with, asked for now or earlier."""
        return self._context.baselines.get(compared[0].id)

    def still_holds(self, record: CaseRecord) -> bool:
        """Return whether the journal has the row of a case, and it is what this run would find, too."""
        row = self._context.earlier.get(record.case.id)
        if row is None or row.key != record.key or row.status is Status.UNSUPPORTED or row.transient:
            return False
        if row.executor in TIMED_EXECUTORS and row.device not in (None, record.device):
            return False  # what a bundle holds has one key on all machines
        if (
            row.status in (Status.TIMED_OUT, Status.OUT_OF_MEMORY, Status.BUILT)
            and self._context.has_other_limits
        ):
            return False
        if row.checked_inputs not in (None, self._context.experiment.check_of(record.case).inputs):
            return False
        needs_time = self._context.times(record.case) and row.executor in TIMED_EXECUTORS
        return row.status is not Status.PASSED or row.time_s is not None or not needs_time

    def _is_compared_as_now(self, baseline: Case | None, record: CaseRecord) -> bool:
        """Return whether the journal's row of a case has the speed-up that this run would give it."""
        row = self._context.earlier[record.case.id]
        if row.time_s is None or not self._context.times(record.case):
            return True
        if baseline is not None and baseline.id not in self.records:
            return row.baseline_case in (None, baseline.id)
        compared: tuple[str | None, str | None] = (None, None)
        if baseline is not None:
            before = self._context.earlier.get(baseline.id)
            if before is None or before.status is Status.PASSED:
                compared = (baseline.id, self.records[baseline.id].key)
        return (row.baseline_case, row.baseline_key) == compared

    def _build(self) -> None:
        for record, failure in self._built(self._unfinished()):
            if failure is not None:
                self._fail(record, failure)
                continue
            self._leave_unemulated(record)
            if record.executor == "none":
                self._context.finish(record, self._context.row_maker.success(record, Status.BUILT))

    def _leave_unemulated(self, record: CaseRecord) -> None:
        """Let nothing run code that would take the emulator too long."""
        artifact, most = record.artifact, self._context.experiment.limits.emulated_gflop
        if artifact is None or artifact.executor != EMULATOR:
            return
        gflop = (artifact.metrics.flops_executed or record.case.problem.flops()) * GIGA
        if gflop > most:
            reason = (
                f"without a device: {gflop:.3g} GFLOP, and the emulator takes up {most:g} at most; "
                "limits.emulated_gflop says how many"
            )
            nothing = {"executor": "none", "loader": "", "why_not_run": reason}
            record.artifact = artifact.model_copy(update=nothing)

    def _fail(self, record: CaseRecord, failure: WorkerFailure) -> None:
        """Journal why a case has no code: what is refused before it has a key was not built at all."""
        refused = failure.status is Status.UNSUPPORTED and record.key is None
        self._context.fail(record, "plan" if refused else "build", failure)

    def _built(self, records: Sequence[CaseRecord]) -> Iterator[tuple[CaseRecord, WorkerFailure | None]]:
        return self._context.builders.build(records, self._context.observer.started)

    def _timed_baseline(self, workers: Mapping[str, WorkerProcess]) -> Case | None:
        """Return what the checked cases are compared with, None and a line that says why if it has failed."""
        baseline = self._baseline([record.case for record in self.records.values()])
        if baseline is None or baseline.id not in self.records:
            return None
        why = None if baseline.id in workers else self._why_not_timed(baseline)
        if why is None:
            return baseline
        self._context.observer.message(f"no comparison with {baseline.describe()}: {why}")
        return None

    def _why_not_timed(self, baseline: Case) -> str | None:
        """Find what a baseline with a row was built into; return why nothing is compared with it, or None."""
        row = self._context.rows[baseline.id]
        if row.status is not Status.PASSED:
            return f"the baseline is {row.status}"
        failures = [failure for _, failure in self._built([self.records[baseline.id]])]
        return next((str(failure) for failure in failures if failure is not None), None)
