"""Building an experiment's cases without running them, into the cache or into a bundle."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.building.pool import BuildPool, CaseRequest
from harness.building.requests import build_cases
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.row_maker import CaseRecord, RowMaker
from harness.running.progress import Observer
from harness.running.shortage import stop_if_no_room
from harness.running.signals import ended_by_signals
from harness.status import Status
from harness.workers.process import WorkerFailure


@dataclass(frozen=True)
class BuiltCase:
    """A case that was built, or why it was not."""

    record: CaseRecord
    row: Result
    failure: WorkerFailure | None = None


class BuildRun:
    """Builds cases and tells an observer of each."""

    def __init__(
        self, experiment: Experiment, observer: Observer, jobs: int, cache_root: Path | None = None
    ) -> None:
        limits = experiment.limits
        self._builders = BuildPool(jobs, limits.build_timeout_s, limits.memory_gb)
        self._observer = observer
        self._cache_root = cache_root
        self._rows = RowMaker(experiment.name, "", experiment.command_words, "build")
        self._built: dict[str, BuiltCase] = {}

    def run(self, cases: Sequence[Case]) -> list[BuiltCase]:
        """Build up to `jobs` cases at a time; return what became of each, in the plan's order."""
        self._observer.planned(len(cases))
        with ended_by_signals():
            try:
                self._build([CaseRecord(case) for case in cases])
            finally:
                self._builders.close()
                self._observer.done()
        return [self._built[case.id] for case in cases]

    def _build(self, records: list[CaseRecord]) -> None:
        for record, failure in build_cases(self._builders, records, self._cache_root, self._announce):
            if failure is not None:
                self._fail(record, failure)
                continue
            row = self._rows.success(record, Status.BUILT)
            # why nothing here runs it is of no interest where nothing is run
            self._finish(BuiltCase(record, row.model_copy(update={"phase": None, "reason": None})))

    def _announce(self, request: CaseRequest) -> None:
        self._observer.started(request.case, request.phase)

    def _fail(self, record: CaseRecord, failure: WorkerFailure) -> None:
        stop_if_no_room(failure)
        row = self._rows.failure(record, failure.status, "build", failure.reason)
        self._finish(BuiltCase(record, row, failure))

    def _finish(self, built: BuiltCase) -> None:
        self._built[built.record.case.id] = built
        self._observer.finished(built.record.case, built.row)
