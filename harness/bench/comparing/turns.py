"""Two revisions' codes of a case take turns: workers of each build and check it, then both are timed.

A round has a sample of each, so that both see the same machine (`harness.bench.measure.rounds`).  Each
revision has a run of its own, with its rows and its part of every round.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from harness.bench.comparing.turns_taken import OF_TURNS
from harness.bench.measure.rounds import TimedRound
from harness.bench.row_maker import CaseRecord, GroupTimes
from harness.bench.running.context import RunContext
from harness.bench.running.group import GroupRun
from harness.bench.running.group_timing import GroupTiming
from harness.bench.running.runner import all_get_rows
from harness.bench.workers.process import WorkerProcess
from harness.problem.case import Case
from harness.results.manifest import timestamp
from harness.results.timing_rounds import Round
from harness.system.digest import digest
from harness.system.status import Status

Value = TypeVar("Value")

OLD, NEW = NAMES = ("old", "new")


def run_in_turn(runs: Mapping[str, RunContext], case: Case) -> None:
    """Take a case to its row in both runs.

    Rows of resumed runs are kept where both still hold.  Code that is identical in both is not timed, and
    neither is what only one of them gets right.
    """
    with all_get_rows(list(runs.values()), [case]), ExitStack() as stack:
        groups = {name: GroupRun(run, [case]) for name, run in runs.items()}
        for group in groups.values():
            group.find_keys_of_earlier()
        records = {name: group.records[case.id] for name, group in groups.items()}
        if all(case.id not in runs[name].rows and groups[name].still_holds(records[name]) for name in runs):
            for name, run in runs.items():
                run.keep(records[name], run.earlier[case.id])
            return
        workers = {name: worker for name in runs for worker in groups[name].checked(stack).values()}
        if len(workers) == len(runs) and not _is_identical(runs, records):
            TurnTiming(runs, records, workers, stack).run()
            return
        for name in workers:
            runs[name].finish(records[name], runs[name].row_maker.success(records[name], Status.PASSED))


def _is_identical(runs: Mapping[str, RunContext], records: Mapping[str, CaseRecord]) -> bool:
    """Return whether a case has the same machine code in both runs, launched in the same way."""
    rows = [run.row_maker.success(records[name], Status.PASSED) for name, run in runs.items()]
    digests = {row.binary_digest for row in rows}
    return len(digests) == 1 and None not in digests


class TurnTiming(GroupTiming):
    """Times a case as both revisions have built it; the candidates are `NAMES`."""

    def __init__(
        self,
        runs: Mapping[str, RunContext],
        records: Mapping[str, CaseRecord],
        workers: Mapping[str, WorkerProcess],
        stack: ExitStack,
    ) -> None:
        """Prepare to time what these workers have checked; they are closed then."""
        super().__init__(runs[NEW], records, None, workers, stack)
        self._runs = runs
        self._waiting: defaultdict[Path, list[Round]] = defaultdict(list)
        self._group_id = f"{OF_TURNS}{digest([self._group_id, timestamp()])[:12]}"

    def _context_of(self, case_id: str) -> RunContext:
        return self._runs[case_id]

    def _timed_baseline_id(self) -> str | None:
        return OLD if OLD in self._workers else None

    def _sample_peak(self, unit: str) -> None:
        return None

    def _journaled_rounds(self) -> list[TimedRound]:
        return []

    def _by_run(self, taken: TimedRound) -> Iterable[tuple[RunContext, TimedRound]]:
        for name in NAMES:
            if name in taken.seconds or name in taken.throttled:
                yield self._runs[name], self._part(taken, name)

    def _write(self, context: RunContext, journaled: Round) -> None:
        """Keep a round for the end: to write it takes as long as a sample, and no timing here is resumed."""
        self._waiting[context.folder.path].append(journaled)

    def _part(self, taken: TimedRound, name: str) -> TimedRound:
        case_id = self._records[name].case.id

        def own(values: Mapping[str, Value]) -> dict[str, Value]:
            return {case_id: values[name]} if name in values else {}

        seconds, device, throttled = own(taken.seconds), own(taken.device), own(taken.throttled)
        return replace(taken, seconds=seconds, device=device, throttled=throttled)

    def _finish_rows(self, rounds: list[TimedRound]) -> None:
        for name in self._workers:
            run, record = self._runs[name], self._records[name]
            run.folder.append_rounds(self._waiting[run.folder.path])
            own = [self._part(taken, name) for taken in rounds]
            times = GroupTimes(own, run.experiment.timing.busy_limit)
            run.finish(record, run.row_maker.success(record, Status.PASSED, times))
