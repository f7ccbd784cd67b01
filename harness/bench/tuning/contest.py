"""A contest: candidates of a search are built, checked, and timed in turns with what they are compared with.

It is a group of a run (`harness.bench.running.group`).  Differences: rows of what took part before stay, code
that another candidate has already is not timed again, and a candidate that is plainly slower than the best so
far rests.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

from harness.artifact.binary import binary_digest
from harness.bench.row_maker import CaseRecord
from harness.bench.running.context import RunContext
from harness.bench.running.group import GroupRun
from harness.bench.running.group_timing import GroupTiming
from harness.problem.case import Case
from harness.results.statistics import Interval


class Contest(GroupRun):
    """Takes candidates to their rows."""

    def __init__(
        self,
        context: RunContext,
        baseline: Case,
        candidates: Mapping[str, tuple[Case, int | None]],
        known: Mapping[str, CaseRecord],
        code_of: dict[str, str],
        least_speedup: float | None = None,
    ) -> None:
        """Prepare to compare candidates, cases with the numbers of their trials, with a baseline.

        `known` has the records of what took part before, `code_of` the case id by the digest of its code, to
        which what is built now is added.  A candidate whose speed-up is below `least_speedup` is known well
        enough; None: all are timed as narrowly as the experiment says.
        """
        cases = [case for case, _ in candidates.values()]
        super().__init__(context, [baseline, *(case for case in cases if case.id != baseline.id)])
        self.records |= {case_id: record for case_id, record in known.items() if case_id in self.records}
        for case_id, (_, number) in candidates.items():
            self.records[case_id].trial = number
        self._compared_with = baseline
        self._code_of = code_of
        self._least_speedup = least_speedup
        self.same_code: dict[str, str] = {}
        """Of candidates that were not timed: the case that runs the same code, by case id."""

    def run(self) -> None:
        """Add a row for each candidate, but those with the code of another one, to the context's."""
        with ExitStack() as stack:
            workers = self.checked(stack)
            if workers:
                baseline = self._timed_baseline(workers)
                timing = ContestTiming(self._context, self.records, baseline, workers, stack)
                timing.least_speedup = self._least_speedup
                timing.run()

    def _baseline(self, compared: Sequence[Case]) -> Case:
        return self._compared_with

    def _build(self) -> None:
        super()._build()
        for case_id, record in list(self.records.items()):
            if record.artifact is None or record.folder is None or case_id in self._context.rows:
                continue
            package = self._context.settings.package
            code = binary_digest(record.artifact, record.folder, package)
            if code is None:
                continue
            other = self._code_of.setdefault(code, case_id)
            if other != case_id:
                self.same_code[case_id] = other
                del self.records[case_id]


class ContestTiming(GroupTiming):
    """Times candidates until each is known well enough, or is plainly slower than the best so far."""

    least_speedup: float | None = None

    def _tell_missed(self, messages: Iterable[str]) -> None:
        """Say nothing: a contest before the last one asks for no narrow interval."""

    def _is_decided(self, interval: Interval) -> bool:
        return self.least_speedup is not None and interval.high < self.least_speedup
