"""What all groups of a run share: settings, workers, the journal and the rows so far."""

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.building.pool import BuildPool, CaseRequest
from harness.building.requests import Builders
from harness.errors import one_line
from harness.experiment.experiment import Experiment
from harness.plurals import counted
from harness.problem.case import Case
from harness.results.kept_outputs import OUTPUTS_FOLDER, file_of
from harness.results.result import SPEEDUP_FIELDS, Result
from harness.results.row_maker import CaseRecord, RowMaker, option_columns, peak_columns
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round
from harness.running.bundle import Bundle, BundledBuilds
from harness.running.expectations import Expectations
from harness.running.peaks import Peaks
from harness.running.progress import Observer
from harness.running.shortage import stop_if_no_room
from harness.running.signals import Ending
from harness.running.timed_share import TimedShare
from harness.status import Status
from harness.storage.replacing import own_folder, write_text
from harness.workers.process import WorkerFailure, WorkerProcess

LOGS = "logs"
EXPECTATIONS = ".expectations"


@dataclass
class RunContext:
    """One run of an experiment while it goes on."""

    experiment: Experiment
    folder: RunFolder
    observer: Observer
    timed: bool
    jobs: int = 1
    cache_root: Path | None = None
    bundle: Bundle | None = None
    """Where built cases come from; without one they are built."""
    dump: Path | None = None
    """Folder for wrong outputs and what was expected, if anybody wants them."""
    counters: bool = False
    """Whether hardware counters of timed cases are read, see `harness.running.counting`."""
    earlier: dict[str, Result] = field(default_factory=dict)
    """The rows by case id that a resumed run may keep."""
    earlier_rounds: Sequence[Round] = ()
    """The timing rounds that a resumed run has taken already, of all groups."""
    scratch: str = ""
    """What tells the temporary files of this process from those of others that take part in the run."""
    ending: Ending = field(default_factory=Ending)
    """Whether a signal has asked to end."""
    timed_share: TimedShare = field(default_factory=TimedShare)
    """Which part of the timings is spent in samples."""
    rows: dict[str, Result] = field(default_factory=dict)
    """The rows that are final, by case id."""
    forgotten_speedups: set[str] = field(default_factory=set)
    """The cases of earlier parts whose speed-ups are over a baseline that is another now."""
    idle_emulators: list[WorkerProcess] = field(default_factory=list)
    """Workers that have emulated a case that passed, for the next one."""

    @cached_property
    def builders(self) -> Builders:
        """The workers that build, or the bundle that has what was built."""
        if self.bundle is not None:
            return BundledBuilds(self.bundle)
        limits = self.experiment.limits
        return BuildPool(
            self.jobs, limits.build_timeout_s, limits.memory_gb, while_waiting=self.ending.require_none
        )

    @cached_property
    def expectations(self) -> Expectations:
        """The oracle's expectations of the problems at hand."""
        return Expectations(self.folder.path / f"{EXPECTATIONS}{self.scratch}", self.experiment.check.seed)

    @cached_property
    def peaks(self) -> Peaks:
        """The measured peaks of the targets."""
        peaks = Peaks(
            self.folder,
            self.step_limit_s,
            self.observer.message,
            with_bandwidths="roofline" in self.experiment.figures,
        )
        peaks.note_earlier(self.earlier_rounds)
        return peaks

    @cached_property
    def has_other_limits(self) -> bool:
        """Whether some part of the run had other limits than the experiment has, as far as that is known."""
        limits, manifest = self.experiment.limits.model_dump(), self.folder.manifest
        known = [manifest.limits, *(part.limits for part in manifest.parts)]
        return any(one not in ({}, limits) for one in known)

    @cached_property
    def all_cases(self) -> Sequence[Case]:
        """The cases of the whole experiment or bundle, asked for or not."""
        return self.experiment.cases() if self.bundle is None else self.bundle.cases()

    @cached_property
    def baselines(self) -> Mapping[str, Case]:
        """What each case is compared with, by case id.

        It is the first case of the experiment's baseline in the group, of those that this run was asked for:
        now, or in an earlier part, whose rows are compared with the same.
        """
        planned = set(self.folder.manifest.planned or ())
        found: dict[str, Case] = {}
        for compared in self.experiment.groups(case for case in self.all_cases if case.id in planned):
            baseline = next((case for case in compared if case.variant == self.experiment.baseline), None)
            if baseline is not None:
                found |= dict.fromkeys([case.id for case in compared], baseline)
        return found

    @cached_property
    def row_maker(self) -> RowMaker:
        """Makes this run's rows."""
        return RowMaker(
            experiment=self.experiment.name,
            run=self.folder.run,
            source=self._source,
            command="run" if self.timed else "check",
        )

    @property
    def _source(self) -> tuple[str, ...]:
        """What the command line names the cases by."""
        return (self.bundle or self.experiment).command_words

    @property
    def step_limit_s(self) -> float:
        """Seconds that loading, one checked run or one sample may take."""
        return self.experiment.limits.run_timeout_s

    def times(self, case: Case) -> bool:
        """Return whether a case is to be timed where something can run and time it."""
        return self.timed and self.experiment.is_timed(case)

    def kept_outputs(self, record: CaseRecord) -> Path | None:
        """Return where a case's outputs stay, None where nobody wants them."""
        if not self.experiment.check.keep_outputs:
            return None
        own_folder(self.folder.path / OUTPUTS_FOLDER)
        return file_of(self.folder.path, record.case.id)

    def worker(self, record: CaseRecord, cores: int | None = None) -> WorkerProcess:
        """Start a worker to run a built case in; of several at a time each has a share of the cores."""
        return WorkerProcess(
            threads=case_threads(record.case),
            memory_gb=self.experiment.limits.memory_gb,
            modules=[record.loader_module] if record.loader_module else [],
            cores=cores,
        )

    def announce(self, request: CaseRequest) -> None:
        """Tell the observer that work on a request about a case begins."""
        self.observer.started(request.case, request.phase)

    def keep(self, record: CaseRecord, row: Result) -> None:
        """Let the row stand that the journal has of a case already."""
        self.rows[record.case.id] = row
        self.observer.kept(record.case, row)

    def finish(self, record: CaseRecord, row: Result) -> None:
        """Journal a final row, unless the resumed run's journal holds the same, however long it took."""
        earlier = self.earlier.get(record.case.id)
        if earlier is not None and row.model_copy(update={"elapsed_s": earlier.elapsed_s}) == earlier:
            self.keep(record, earlier)
            return
        self._forget_speedups_over(earlier, row)
        self.rows[record.case.id] = row
        self.folder.append_result(row)
        self.observer.finished(record.case, row)

    @cached_property
    def _compared_earlier(self) -> Mapping[str, Sequence[str]]:
        """The other cases whose earlier rows are compared with a baseline, by its case id."""
        compared: dict[str, list[str]] = {}
        for row in self.earlier.values():
            if row.baseline_case is not None and row.case != row.baseline_case:
                compared.setdefault(row.baseline_case, []).append(row.case)
        return compared

    def _forget_speedups_over(self, earlier: Result | None, now: Result) -> None:
        """Take their speed-ups from rows of earlier parts that were compared with another row of a baseline.

        The baseline may be timed anew alone: what the others gain over its new code is not known until they
        are timed again.  It goes before the baseline's new row, so that no kill leaves one beside the other.
        """
        for case in self._compared_earlier.get(now.case, ()):
            row = self.earlier[case]
            if self.rows.get(case, row) is not row:  # it has another row by now
                continue
            key = row.baseline_key or (None if earlier is None else earlier.key)
            is_checked_alike = earlier is None or earlier.checked_inputs == now.checked_inputs
            if row.speedup is None or (now.status is Status.PASSED and key == now.key and is_checked_alike):
                continue
            alone = row.model_copy(update=dict.fromkeys(SPEEDUP_FIELDS))
            self.folder.append_result(alone)
            self.earlier[row.case] = alone
            if row.case in self.rows:
                self.rows[row.case] = alone
            self.forgotten_speedups.add(row.case)

    def tell_of_speedups(self) -> None:
        """Say how many cases have lost their speed-up because only a part of them was asked for."""
        lost = self.forgotten_speedups - self.rows.keys()
        lost |= {case for case, row in self.rows.items() if self._has_lost_its_baseline(row)}
        if lost:
            self.observer.message(
                f"{counted(len(lost), 'case')} without speed-up: timed apart from the baseline as it is now; "
                "--resume without --only times them beside it"
            )

    def _has_lost_its_baseline(self, row: Result) -> bool:
        """Whether a row was timed anew without its baseline, which this part was not asked for."""
        earlier = self.earlier.get(row.case)
        if earlier is None or earlier.speedup is None or row.time_s is None or row.speedup is not None:
            return False
        return earlier.baseline_case not in self.rows

    def fail(self, record: CaseRecord, phase: str, failure: WorkerFailure) -> None:
        """Journal the row of a case that ended in this phase, and keep what its worker wrote.

        Raises `UnfinishedError` instead when the disk is full, and `KeyboardInterrupt` after a signal to end:
        what fails then is no fault of the case.
        """
        self.ending.require_none()
        stop_if_no_room(failure, [self.folder.path])
        reason = failure.reason
        if failure.log.strip() and failure.status.is_failure:
            reason += f" (log: {self._keep_log(record.case, failure.log)})"
        row = self.row_maker.failure(record, failure.status, phase, reason, transient=failure.transient)
        self.finish(record, row)

    def fail_unexpectedly(self, cases: Iterable[Case], error: Exception) -> None:
        """Journal rows of those of these cases that have none, after an exception that no code expects.

        Of what is known of the cases the rows say nothing: it may be what raised the exception.
        """
        for case in cases:
            if case.id not in self.rows:
                log = self._keep_log(case, "".join(traceback.format_exception(error)))
                reason = f"the harness failed: {one_line(error)} (log: {log})"
                record = CaseRecord(case)
                self.finish(record, self.row_maker.failure(record, Status.CRASHED, "harness", reason))

    def _keep_log(self, case: Case, text: str) -> str:
        """Write a log beside the results, and return its name there."""
        log = own_folder(self.folder.path / LOGS) / f"{case.id}.log"
        write_text(log, text)
        return f"{LOGS}/{log.name}"

    def settle_peaks(self) -> None:
        """Compare each row of the run with the peak of its case, the best that all rounds have seen of it.

        That includes rows of an earlier part of the run whose cases were not asked for this time.  A row
        whose case the experiment no longer has stays as it is.
        """
        limit = self.experiment.timing.busy_limit
        cases = {case.id: case for case in self.all_cases}
        for row in list({**self.earlier, **self.rows}.values()):
            case = cases.get(row.case)
            if row.tflops is None or case is None:
                continue
            columns = {**option_columns(case), **peak_columns(row.tflops, self.peaks.of(case), limit)}
            settled = row.model_copy(update=columns)
            if settled != row:
                self.folder.append_result(settled)
                if row.case in self.rows:
                    self.rows[row.case] = settled

    def tell_timed_share(self) -> None:
        """Tell an observer which part of the timings was spent in samples."""
        timed = self.timed_share
        if timed.share is not None:
            self.observer.message(f"timing took {timed.seconds:.1f} s: {timed.described()}")

    def close(self) -> None:
        """End the workers and remove the temporary files that the groups share."""
        for worker in self.idle_emulators:
            worker.close()
        self.builders.close()
        self.peaks.close()
        self.expectations.close()


def case_threads(case: Case) -> int:
    """Return how many threads a case's code may use: the target's option `threads`, else 1."""
    threads = case.target_options.get("threads", 1)
    return threads if isinstance(threads, int) else 1
