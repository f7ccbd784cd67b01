"""What a resumed search keeps of an interrupted run: the rows of trials that are as they would be now."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.bench.row_maker import CaseRecord
from harness.bench.running.context import RunContext
from harness.bench.tuning.space import Point, SearchSpace
from harness.problem.case import Case
from harness.results.result import Result
from harness.system.status import Status


@dataclass(frozen=True)
class KeptTrial:
    """A trial with its row."""

    point: Point
    row: Result
    record: CaseRecord

    @property
    def is_as_now(self) -> bool:
        """Whether the row has the key that its case has now, and a time if it passed.

        What was refused before it was built has no key.
        """
        is_untimed = self.row.status is Status.PASSED and self.row.speedup is None
        return self.row.key == self.record.key and not self.row.transient and not is_untimed


def kept_trials(context: RunContext, space: SearchSpace, start: Case) -> list[KeptTrial]:
    """Return the trials of an earlier part of a run that count for a search, in their order.

    None where the code has changed, for then the start has another key: no trial is compared with it.
    """
    trials = {trial.record.case.id: trial for trial in _trials_of(context, space, start)}
    records = [trial.record for trial in trials.values() if trial.row.key is not None]
    for record, _ in context.builders.find_keys(records, lambda case, phase: None):
        del trials[record.case.id]
    if start.id not in trials or not trials[start.id].is_as_now:
        return []
    kept = [trial for trial in trials.values() if trial.is_as_now]
    return sorted(kept, key=lambda trial: trial.row.trial or 0)


def _trials_of(context: RunContext, space: SearchSpace, start: Case) -> Iterator[KeptTrial]:
    """Yield the trials whose cases are those of points of a space, compared with its start."""
    for row in context.earlier.values():
        if row.trial is None or (row.variant, row.target) != (start.variant, start.target):
            continue
        point = space.point_of(row.params)
        if row.trial > 0 and not space.holds(point):
            continue
        case = space.case(point) if row.trial > 0 else start
        if row.case == case.id and row.baseline_case in (None, start.id):
            yield KeptTrial(point, row, CaseRecord(case, trial=row.trial))
