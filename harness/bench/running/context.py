"""What all groups of a run share: settings, workers, the journal and the rows so far."""

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.artifact.binary import PACKAGE
from harness.artifact.code_digests import OWN_PACKAGE
from harness.bench.building.pool import BuildPool
from harness.bench.row_maker import CaseRecord, RowMaker
from harness.bench.running.bundle import Bundle, BundledBuilds
from harness.bench.running.expectations import Expectations
from harness.bench.running.failure_kinds import stop_if_no_room
from harness.bench.running.peaks import Peaks
from harness.bench.running.progress import Observer
from harness.bench.running.revision import Revision
from harness.bench.running.signals import Ending
from harness.bench.running.time_spent import TimeSpent
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.kept_outputs import OUTPUTS_FOLDER, file_of
from harness.results.result import SPEEDUP_FIELDS, Result
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round
from harness.system.errors import one_line
from harness.system.plurals import counted
from harness.system.status import Status
from harness.system.storage.replacing import write_text

OUT_OF_REVISIONS = 4
"""How far above an experiment's folder that of all results is, where it is of one of two revisions."""
LOGS = "logs"
EXPECTATIONS = ".expectations"


@dataclass(frozen=True)
class RunSettings:
    """How the cases of a run are gone through, see `run_experiment`."""

    timed: bool
    jobs: int = 1
    cache_root: Path | None = None
    bundle: Bundle | None = None
    """Where built cases come from; without one they are built."""
    dump: Path | None = None
    counters: bool = False
    """Whether hardware counters of timed cases are read, see `harness.bench.running.counting`."""
    start_up_s: float = 0.0
    """What this process has done before."""
    revision: Revision | None = None
    """What workers build, check and run instead of what this process would."""
    is_search: bool = False
    """Whether cases are chosen as it goes on, see `harness.bench.tuning`."""
    shard: str | None = None
    """Which part of the experiment this is, `2/8`, where other runs have the rest."""

    @property
    def sources(self) -> tuple[Path, ...]:
        """What workers import before all else of that name."""
        return () if self.revision is None else self.revision.sources

    @property
    def package(self) -> Path:
        """The folder from which workers import this package."""
        own = None if self.revision is None else self.revision.place_of(OWN_PACKAGE)
        return own or PACKAGE


@dataclass
class RunContext:
    """One run of an experiment while it goes on."""

    experiment: Experiment
    folder: RunFolder
    observer: Observer
    settings: RunSettings
    earlier: dict[str, Result] = field(default_factory=dict)
    """The rows by case id that a resumed run may keep."""
    earlier_rounds: Sequence[Round] = ()
    """The timing rounds that a resumed run has taken already, of all groups."""
    scratch: str = ""
    """What tells the temporary files of this process from those of others that take part in the run."""
    ending: Ending = field(default_factory=Ending)
    spent: TimeSpent = field(default_factory=TimeSpent)
    rows: dict[str, Result] = field(default_factory=dict)
    _finished: dict[str, Case] = field(default_factory=dict)
    """The cases whose rows this part of the run has made."""
    idle_emulators: list[WorkerProcess] = field(default_factory=list)
    """Workers that have emulated a case that passed, for the next one."""

    @cached_property
    def builders(self) -> BuildPool | BundledBuilds:
        """The workers that build, or the bundle that has what was built."""
        if self.settings.bundle is not None:
            return BundledBuilds(self.settings.bundle)
        limits = self.experiment.limits
        return BuildPool(
            self.settings.jobs,
            limits.build_timeout_s,
            limits.memory_gb,
            self.settings.cache_root,
            while_waiting=self.ending.require_none,
            sources=self.settings.sources,
            tell=self.observer.slow,
        )

    @cached_property
    def expectations(self) -> Expectations:
        """The oracle's expectations of the problems at hand."""
        folder = self.folder.path.absolute() / f"{EXPECTATIONS}{self.scratch}"
        return Expectations(folder, self.experiment.check.seed, self.settings.sources)

    @cached_property
    def peaks(self) -> Peaks:
        """What the targets can do at most."""
        return Peaks(
            self.folder,
            self.step_limit_s,
            self.observer.message,
            with_bandwidths="roofline" in self.experiment.figures,
            is_asked=self.settings.revision is None,
        )

    @cached_property
    def has_other_limits(self) -> bool:
        """Whether some part of the run had other limits than the experiment has, as far as that is known."""
        limits, manifest = self.experiment.limits.model_dump(), self.folder.manifest
        recorded_limits = [manifest.limits, *(part.limits for part in manifest.parts)]
        return any(part_limits not in ({}, limits) for part_limits in recorded_limits)

    @cached_property
    def all_cases(self) -> Sequence[Case]:
        """The cases of the whole experiment or bundle, asked for or not."""
        return self.experiment.cases() if self.settings.bundle is None else self.settings.bundle.cases()

    @cached_property
    def baselines(self) -> Mapping[str, Case]:
        """What each case is compared with, by case id.

        It is the first case of the experiment's baseline in the group, of those that this run was asked for:
        now, or in an earlier part, whose rows are compared with the same.
        """
        planned = set(self.folder.manifest.planned or ())
        baseline_by_case: dict[str, Case] = {}
        for compared in self.experiment.groups(case for case in self.all_cases if case.id in planned):
            baseline = next((case for case in compared if case.variant == self.experiment.baseline), None)
            if baseline is not None:
                baseline_by_case |= dict.fromkeys([case.id for case in compared], baseline)
        return baseline_by_case

    @cached_property
    def row_maker(self) -> RowMaker:
        """Makes this run's rows."""
        revision = self.settings.revision
        return RowMaker(
            experiment=self.experiment.name,
            run=self.folder.run,
            source=(self.settings.bundle or self.experiment).command_words,
            command=None if self.settings.is_search else "run" if self.settings.timed else "check",
            params_source=(self.settings.bundle or self.experiment).params_source,
            out=self.folder.path.parents[1 if revision is None else OUT_OF_REVISIONS],
            package=self.settings.package,
            commit=None if revision is None else revision.commit,
        )

    @property
    def step_limit_s(self) -> float:
        """Seconds that loading, one checked run or one sample may take."""
        return self.experiment.limits.run_timeout_s

    def times(self, case: Case) -> bool:
        """Return whether a case is to be timed where something can run and time it."""
        return self.settings.timed and self.experiment.is_timed(case)

    def kept_outputs(self, record: CaseRecord) -> Path | None:
        """Return where a case's outputs stay, None where nobody wants them."""
        if not self.experiment.check.keep_outputs:
            return None
        (self.folder.path / OUTPUTS_FOLDER).mkdir(exist_ok=True)
        return file_of(self.folder.path.absolute(), record.case.id)

    def worker(self, record: CaseRecord, cores: int | None = None) -> WorkerProcess:
        """Start a worker to run a built case in; of several at a time each has a share of the cores."""
        return WorkerProcess(
            threads=case_threads(record.case),
            memory_gb=self.experiment.limits.memory_gb,
            modules=[record.loader_module] if record.loader_module else [],
            cores=cores,
            sources=self.settings.sources,
        )

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
        self.rows[record.case.id] = row
        self._finished[record.case.id] = record.case
        self.folder.append_result(row)
        self.observer.finished(record.case, row)

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
        """Journal rows of those of these cases that have none, after an exception that no code expects."""
        for case in cases:
            if case.id not in self.rows:
                log = self._keep_log(case, "".join(traceback.format_exception(error)))
                reason = f"the harness failed: {one_line(error)} (log: {log})"
                record = CaseRecord(case)
                self.finish(record, self.row_maker.failure(record, Status.CRASHED, "harness", reason))

    def _keep_log(self, case: Case, text: str) -> str:
        log = self.folder.path / LOGS / f"{case.id}.log"
        log.parent.mkdir(exist_ok=True)
        write_text(log, text)
        return f"{LOGS}/{log.name}"

    def settle(self) -> None:
        """Append rows anew that are compared with something else than they say, now that all are there.

        No row has a speed-up over a baseline that has another row by now: what it gains over that is not
        known until it is timed again.
        """
        rows = {**self.earlier, **self.rows}
        settled = {}
        for case_id, row in rows.items():
            settled[case_id] = row
            if row.speedup is not None and not _is_over(rows.get(row.baseline_case or ""), row):
                settled[case_id] = row.model_copy(update=dict.fromkeys(SPEEDUP_FIELDS))
            if settled[case_id] != row:
                self.folder.append_result(settled[case_id])
        self.rows = {case_id: settled[case_id] for case_id in self.rows}
        lost = [row for case_id, row in self.earlier.items() if _has_lost_its_speedup(row, settled[case_id])]
        if lost:
            self.observer.message(
                f"{counted(len(lost), 'case')} without speed-up: timed apart from the baseline as it is now; "
                "--resume without --only times them beside it"
            )

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


def _is_over(baseline: Result | None, row: Result) -> bool:
    """Whether a row's speed-up is over a baseline as its own row has it, if that is known."""
    if baseline is None:
        return True
    is_same = baseline.key == row.baseline_key and baseline.checked_inputs == row.checked_inputs
    return baseline.status is Status.PASSED and is_same


def _has_lost_its_speedup(before: Result, now: Result) -> bool:
    return before.speedup is not None and now.time_s is not None and now.speedup is None
