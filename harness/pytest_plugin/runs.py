"""How the items of a pytest session get their rows: cases are run when somebody asks what became of one.

Without pytest-xdist this process runs them, several at a time.  With it the controller opens the run's
folder, its workers run the cases that they are given, one at a time, and the controller writes the tables.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import HarnessError, RunInterrupted
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.reporting.outcomes import Demands
from harness.results.manifest import of_experiment
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import groups_of_rows
from harness.running.context import RunContext
from harness.running.progress import PlainObserver
from harness.running.runner import RunSettings, joined_run, run_group, started_run, together


@dataclass(frozen=True)
class Asked:
    """What the command line asks of an experiment."""

    experiment: Experiment
    cases: Sequence[Case]
    settings: RunSettings
    demands: Demands
    out: Path
    command: Sequence[str]
    """The command line, for the manifest."""
    begun_in: Path = field(default_factory=Path.cwd)
    """The folder in which the session began: tests may change to others."""


class Notes(PlainObserver):
    """Keeps what a person should know of a run; pytest says what becomes of cases."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def planned(self, total: int) -> None:
        """Say nothing."""

    def finished(self, case: Case, result: Result) -> None:
        """Say nothing."""

    def kept(self, case: Case, result: Result) -> None:
        """Say nothing."""

    def message(self, text: str) -> None:
        """Keep the text."""
        self.lines.append(text)

    def once(self, text: str) -> None:
        """Keep the text, unless it is kept already."""
        if text not in self.lines:
            self.message(text)


@dataclass
class ExperimentRun:
    """The run of an experiment in a pytest session, as the process sees it that reports the outcome."""

    asked: Asked
    node_id: str
    """Of the experiment's file among pytest's nodes, in all processes of the session."""
    notes: Notes = field(default_factory=Notes)
    folder: RunFolder | None = None
    """The run's folder, once there is one."""
    _context: RunContext | None = None
    _selected: dict[str, Case] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def select(self, ids: Iterable[str]) -> None:
        """Say which cases will be asked for, in their order: pytest may leave some out."""
        by_id = {case.id: case for case in self.asked.cases}
        self._selected = {case_id: by_id[case_id] for case_id in ids}

    @property
    def selected(self) -> Sequence[Case]:
        """The cases that will be asked for."""
        return list(self._selected.values())

    def shown(self, path: Path) -> str:
        """Return a path as a person who has begun the session writes it."""
        begun_in = self.asked.begun_in
        return str(path.relative_to(begun_in) if path.is_relative_to(begun_in) else path)

    def rows(self) -> list[Result]:
        """Return the rows of the selected cases that have one, in the plan's order."""
        rows = {row.case: row for row in self.folder.results()} if self.folder is not None else {}
        return [rows[case_id] for case_id in self._selected if case_id in rows]

    def not_run(self) -> list[Case]:
        """Return the selected cases that have no row."""
        rows = {row.case for row in self.rows()}
        return [case for case in self.selected if case.id not in rows]

    def row(self, case: Case) -> Result:
        """Return what became of a case; run it now, if need be.  Raises `StorageError` for a full disk."""
        raise NotImplementedError

    def elapsed_s(self, case: Case) -> float | None:
        """Return what a case took in all, None where it has no row here."""
        row = self._context.rows.get(case.id) if self._context is not None else None
        return None if row is None else row.elapsed_s

    def samples(self, case: Case) -> list[float]:
        """Return the seconds of each sample that a case's row is made of."""
        rounds = self.folder.rounds() if self.folder is not None else []
        group = groups_of_rows(rounds).get(case.id)
        counted = [taken for taken in rounds if taken.group == group and case.id not in taken.beside]
        return [seconds for taken in counted for seconds in taken.seconds.get(case.id, ())]

    def close(self) -> None:
        """End the run in an orderly way, and write its tables."""
        try:
            self._stack.close()
        except RunInterrupted as interruption:
            self.notes.message(f"interrupted: {interruption}")
        except HarnessError as error:
            self.notes.message(str(error))


@dataclass
class OwnRun(ExperimentRun):
    """A run of this process alone: a row that is asked for comes with those of the cases that follow it."""

    def row(self, case: Case) -> Result:
        """Return what became of a case; run it now, with as many others as keep all jobs busy."""
        context = self._context or self._start()
        if case.id not in context.rows:
            waiting = [other for other in self.selected if other.id not in context.rows]
            place = next((place for place, other in enumerate(waiting) if other.id == case.id), len(waiting))
            following = [case, *waiting[place + 1 :]]
            run_group(context, next(iter(together(self.asked.experiment.groups(following), context))))
            context.expectations.delete()
        return context.rows[case.id]

    def _start(self) -> RunContext:
        asked = self.asked
        self._context = self._stack.enter_context(
            started_run(
                asked.experiment,
                self.selected,
                asked.settings,
                asked.out,
                resume=False,
                observer=self.notes,
                command=asked.command,
            )
        )
        self.folder = self._context.folder
        return self._context


@dataclass
class WorkersRun(ExperimentRun):
    """A run of the workers of pytest-xdist, as their controller sees it."""

    def open(self) -> Path:
        """Return the run's folder, which this process holds until `close`."""
        if self.folder is None:
            described = of_experiment(self.asked.experiment, self.asked.cases, self.asked.command)
            self.folder = RunFolder.create(self.asked.out, self.asked.experiment.name, described)
            self._stack.callback(self.folder.release)
            self._stack.callback(self.folder.finish)
        return self.folder.path

    def select(self, ids: Iterable[str]) -> None:
        """Note in the manifest which cases will be asked for."""
        super().select(ids)
        if self.folder is not None:
            whole = [case.id for case in self.asked.experiment.cases()]
            self.folder.plan(list(self._selected), whole)

    def close(self) -> None:
        """End the run; cases that ran although no worker had named them are counted, and told of."""
        ran = {row.case for row in self.folder.results()} if self.folder is not None else set()
        unknown = ran - self._selected.keys()
        if unknown:
            self.select(case.id for case in self.asked.cases if case.id in ran | self._selected.keys())
            self.notes.message(
                f"cases that ran without being planned: {len(unknown)}, whose items another plugin has "
                "perhaps renamed; they are counted, but such cases that have not run are not"
            )
        super().close()


@dataclass
class WorkersPart(ExperimentRun):
    """What one worker of pytest-xdist does of a run: the cases that it is given, one by one."""

    path: Path = Path()
    worker: str = ""
    workers: int = 1
    _last: Case | None = None

    def row(self, case: Case) -> Result:
        """Return what became of a case; run it now.  Cases of one problem share what the oracle expects."""
        context = self._context or self._join()
        if case.id not in context.rows:
            if self._last is not None and self._last.problem != case.problem:
                context.expectations.delete()
            self._last = case
            run_group(context, [case])
        return context.rows[case.id]

    def _join(self) -> RunContext:
        self.folder = RunFolder.open(self.path)
        settings = replace(self.asked.settings, jobs=self.workers)
        joined = joined_run(
            self.asked.experiment, self.folder, settings, self.notes, scratch=f"-{self.worker}"
        )
        self._context = self._stack.enter_context(joined)
        return self._context
