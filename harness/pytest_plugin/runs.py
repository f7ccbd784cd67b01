"""How the items of a pytest session get their rows: cases are run when somebody asks what became of one.

Without pytest-xdist this process runs them, several at a time.  With it the controller opens the run's
folder, its workers run the cases that they get, one at a time, and the controller writes the tables.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from harness.bench.running.context import RunContext
from harness.bench.running.progress import Observer
from harness.bench.running.runner import RunSettings, joined_run, run_group, started_run, together
from harness.experiment.experiment import Experiment
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.reporting.outcomes import Demands
from harness.results.default_out import out_words
from harness.results.manifest import of_experiment
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import samples_of_rows
from harness.system.errors import HarnessError, RunInterrupted
from harness.system.printable import shell_line


class Notes(Observer):
    """Keeps what a person should know of a run; pytest says what becomes of cases."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        """Keep the text."""
        self.lines.append(text)


@dataclass
class ExperimentRun:
    """The run of an experiment in a pytest session, as one of its processes sees it."""

    experiment: Experiment
    cases: Sequence[Case]
    settings: RunSettings
    demands: Demands
    out: Path
    worker: str | None = None
    """The name of a process that is a worker of pytest-xdist."""
    folder: RunFolder | None = None
    """The run's folder, once there is one; a worker has it from the start."""
    notes: Notes = field(default_factory=Notes)
    selected: Sequence[Case] = ()
    """The cases that will be asked for, in their order."""
    _context: RunContext | None = None
    _problem: AttentionProblem | None = None
    """That of the last case: cases of one problem share what the oracle expects."""
    _stack: ExitStack = field(default_factory=ExitStack)

    def select(self, cases: Sequence[Case]) -> None:
        """Say which cases will be asked for: pytest may leave some out.  One worker notes it for all."""
        self.selected = cases
        if self.folder is not None and self.worker == "gw0":
            self.folder.plan([case.id for case in cases], [case.id for case in self.experiment.cases()])

    def open_for_workers(self) -> Path:
        """Return the folder of the run of all workers, which this process holds until `close`."""
        if self.folder is None:
            described = of_experiment(self.experiment, self.cases, sys.argv)
            self.folder = RunFolder.create(self.out, self.experiment.name, described)
            self._stack.callback(self.folder.release)
            self._stack.callback(self._finish_workers_run, self.folder.path)
        return self.folder.path

    def _finish_workers_run(self, path: Path) -> None:
        """Write the tables, and learn from the manifest which cases a worker has noted."""
        folder = RunFolder.open(path)
        planned = set(folder.manifest.planned or ())
        self.selected = [case for case in self.cases if case.id in planned]
        folder.finish()

    def row(self, case: Case) -> Result:
        """Return what became of a case; run it now, if need be.  Raises `StorageError` for a full disk."""
        context = self._context or self._start()
        if case.id not in context.rows:
            if case.problem != self._problem:
                context.expectations.delete()
                self._problem = case.problem
            run_group(context, [case] if self.worker is not None else self._group_of(case, context))
        return context.rows[case.id]

    def _group_of(self, case: Case, context: RunContext) -> list[Case]:
        place = list(self.selected).index(case)
        waiting = [other for other in self.selected[place + 1 :] if other.id not in context.rows]
        return next(iter(together(self.experiment.groups([case, *waiting]), context)))

    def _start(self) -> RunContext:
        if self.worker is not None and self.folder is not None:
            scratch = f"-{self.worker}"
            run = joined_run(self.experiment, self.folder, self.settings, self.notes, scratch=scratch)
        else:
            run = started_run(
                self.experiment, self.selected, self.settings, self.out, False, self.notes, sys.argv
            )
        self._context = self._stack.enter_context(run)
        self.folder = self._context.folder
        return self._context

    def close(self) -> None:
        """End the run in an orderly way, and write its tables."""
        try:
            self._stack.close()
        except RunInterrupted as interruption:
            self.notes.message(f"interrupted: {interruption}")
        except HarnessError as error:
            self.notes.message(str(error))

    def rows(self) -> list[Result]:
        """Return the rows of the selected cases that have one, in the plan's order."""
        rows = {row.case: row for row in self.folder.results()} if self.folder is not None else {}
        return [rows[case.id] for case in self.selected if case.id in rows]

    def samples(self, case: Case) -> list[float]:
        """Return the seconds of each sample that a case's row is made of."""
        samples = {} if self.folder is None else samples_of_rows(self.folder.rounds())
        return [seconds for taken in samples.get(case.id, ()) for seconds in taken]

    def rerun(self, case: Case) -> str:
        """Return the command that runs a case alone."""
        only = ("--only", f"case={case.id}")
        return shell_line(["harness", "check", *self.experiment.command_words, *only, *out_words(self.out)])
