"""Building an experiment's cases without running them, into the cache or into a bundle."""

from collections.abc import Sequence

from harness.bench.building.pool import BuildPool
from harness.bench.row_maker import CaseRecord, RowMaker
from harness.bench.running.failure_kinds import stop_if_no_room
from harness.bench.running.progress import Observer
from harness.bench.running.signals import ended_by_signals
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.system.status import Status


def build_only(
    experiment: Experiment,
    cases: Sequence[Case],
    observer: Observer,
    jobs: int,
) -> list[tuple[CaseRecord, Result]]:
    """Build up to `jobs` cases at a time; return what became of each, and its row, in the plan's order."""
    limits = experiment.limits
    builders = BuildPool(jobs, limits.build_timeout_s, limits.memory_gb, tell=observer.slow)
    rows = RowMaker(
        experiment.name, "", experiment.command_words, "build", params_source=experiment.params_source
    )
    built: dict[str, tuple[CaseRecord, Result]] = {}
    observer.planned(len(cases))
    with ended_by_signals():
        try:
            for record, failure in builders.build([CaseRecord(case) for case in cases], observer.started):
                if failure is not None:
                    stop_if_no_room(failure)
                    row = rows.failure(record, failure.status, "build", failure.reason)
                else:
                    # why nothing here runs it is of no interest where nothing is run
                    row = rows.success(record, Status.BUILT).model_copy(
                        update={"phase": None, "reason": None}
                    )
                built[record.case.id] = record, row
                observer.finished(record.case, row)
        finally:
            builders.close()
            observer.done()
    return [built[case.id] for case in cases]
