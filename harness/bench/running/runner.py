"""Runs an experiment: every case of the plan becomes one row, whatever happens to it.

Cases of one problem on one target form a group (`harness.bench.running.group`): they are built, checked, and
timed against each other.  Where nothing is timed, several groups go together, so that all cores are busy.
Rows and timing rounds go to the run's journal as soon as they are known, so a run that is killed loses at
most the cases in flight.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from harness.bench.running.bundle import Bundle
from harness.bench.running.context import RunContext, RunSettings
from harness.bench.running.forecast import Forecast, what_is_emulated
from harness.bench.running.group import GroupRun
from harness.bench.running.progress import Observer
from harness.bench.running.resuming import progress_of, run_to_resume
from harness.bench.running.signals import ended_by_signals
from harness.bench.running.time_spent import START_UP, TimeSpent, described
from harness.bench.workers.process import DESCRIPTORS
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results import manifest
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.errors import HarnessError, RunInterrupted, StorageError, UnfinishedError
from harness.system.processes.open_files import allow_open_files
from harness.system.status import Status

CASES_FOR_EACH_JOB = 16
"""Cases that are built and checked together where nothing is timed: few enough to soon see results."""

GO_ON = "go on with --resume"
"""How a run that has ended before all cases have their rows becomes whole."""


@dataclass(frozen=True)
class RunSummary:
    """What a run leaves behind."""

    folder: Path
    results: list[Result]
    """One row for each case, in the plan's order."""
    spent: TimeSpent
    """Where the time went until now, and goes from here on."""
    forecast: Forecast | None = None
    """What was expected, of a run that was not resumed."""

    def end(self) -> str:
        """Note what the run took, its report too, for manifest and forecasts; return it in words."""
        by_part = self.spent.by_part()
        RunFolder.open(self.folder).note_spent(by_part)
        if self.forecast is not None:
            self.forecast.remember(self.spent)
        return described(by_part)


def run_experiment(
    experiment: Experiment,
    cases: Sequence[Case],
    *,
    out: Path,
    resume: bool,
    timed: bool,
    observer: Observer,
    command: Sequence[str],
    jobs: int = 1,
    cache_root: Path | None = None,
    bundle: Bundle | None = None,
    dump: Path | None = None,
    counters: bool = False,
    start_up_s: float = 0.0,
    shard: str | None = None,
) -> RunSummary:
    """Build, check and, if `timed` and the experiment allows it, time these cases of the experiment.

    Results go to `out/<experiment>/<run>/`.  Up to `jobs` cases are built at a time, and checked at a time if
    nothing is timed; nothing else goes on during timings.  Other arguments are those of `RunSettings`.

    With `resume` a run in `out` goes on, see `harness.bench.running.resuming`; without any, a new one starts.
    A row is kept, also that of a failure, when its case is still in the plan, its content key and its inputs
    are what they would be now, it is compared with the same baseline, and it has a time if it is to have one.
    Timing rounds that were journaled are not taken again.  What a changed `[timing]` section asks for is not
    seen: start a new run for that.

    Raises `InputError` when `out` cannot be written, a journal cannot be read, another process goes on with
    the run, or the system allows too few open files, and `StorageError` when a disk is full or cannot be
    written: the cases in flight have no row then.  After Ctrl-C, SIGTERM or SIGHUP all workers are killed,
    the tables are written, and `RunInterrupted`, a `KeyboardInterrupt`, goes on.
    """
    settings = RunSettings(timed, jobs, cache_root, bundle, dump, counters, start_up_s, shard=shard)
    try:
        with started_run(experiment, cases, settings, out, resume, observer, command) as context:
            forecast = _forecast(context, cases)
            is_corrected = False
            for group, following in pairwise([*together(experiment.groups(cases), context), []]):
                run_group(context, group)
                if forecast is not None and not is_corrected:
                    is_corrected = _correct(context, forecast)
                if not {case.problem for case in group} & {case.problem for case in following}:
                    context.expectations.delete()
    except UnfinishedError as error:
        raise UnfinishedError(f"{error}; {GO_ON}") from error
    rows = [context.rows[case.id] for case in cases]
    return RunSummary(context.folder.path, rows, context.spent, forecast)


def _forecast(context: RunContext, cases: Sequence[Case]) -> Forecast | None:
    """Tell how long a run will take, a resumed one for the cases without a row, or a time.

    What that took is no measure for the next run: nothing is returned of a resumed one.
    """
    settings = context.settings
    emulated = what_is_emulated(context.experiment, cases)
    if emulated is not None:
        context.observer.message(emulated)
    manifest = context.folder.manifest
    left = [case for case in cases if not _has_row(context, case)]
    if not left:
        return None
    forecast = Forecast.of(context.experiment, left, manifest, timed=settings.timed, jobs=settings.jobs)
    context.observer.message(forecast.line())
    return None if context.earlier else forecast


def _has_row(context: RunContext, case: Case) -> bool:
    row = context.earlier.get(case.id)
    is_untimed = row is not None and row.status is Status.PASSED and row.time_s is None
    return row is not None and not (is_untimed and context.times(case))


def _correct(context: RunContext, forecast: Forecast) -> bool:
    """Tell how much longer a run takes where its first cases show that, and return whether they do."""
    line = forecast.correction(len(context.rows), context.spent.seconds)
    if line is not None:
        context.observer.message(line)
    return line is not None


@contextlib.contextmanager
def started_run(
    experiment: Experiment,
    cases: Sequence[Case],
    settings: RunSettings,
    out: Path,
    resume: bool,
    observer: Observer,
    command: Sequence[str],
    whole: Sequence[Case] | None = None,
) -> Iterator[RunContext]:
    """Open the folder of a run of these cases, and write its tables at the end.

    `whole` are the cases that they are some of; None: those of the experiment, or of the bundle.
    """
    settings = replace(settings, timed=settings.timed and experiment.timing.enabled)
    with ended_by_signals() as ending, ExitStack() as stack:
        timed = experiment.groups(cases) if settings.timed else []
        stack.callback(_allow_workers(timed, settings.jobs))
        if whole is None:
            whole = experiment.cases() if settings.bundle is None else settings.bundle.cases()
        folder = _open_folder(experiment, cases, whole, settings, out, resume, observer, command)
        stack.callback(folder.release)
        context = RunContext(
            experiment,
            folder,
            observer,
            settings,
            earlier={result.case: result for result in folder.results()},
            earlier_rounds=folder.rounds(),
            ending=ending,
            spent=TimeSpent({START_UP: settings.start_up_s} if settings.start_up_s else {}),
        )
        stack.push(_interruption(context, len(cases)))
        stack.callback(observer.done)
        stack.push(_finish(context))
        stack.callback(context.close)
        stack.callback(ending.begin)
        observer.planned(len(cases))
        try:
            yield context
        except KeyboardInterrupt as interruption:
            raise RunInterrupted(context.rows.values(), len(cases)) from interruption


@contextlib.contextmanager
def joined_run(
    experiment: Experiment, folder: RunFolder, settings: RunSettings, observer: Observer, scratch: str
) -> Iterator[RunContext]:
    """Take part in a run whose folder another process has opened, plans and finishes; nothing is timed."""
    with ended_by_signals() as ending, ExitStack() as stack:
        settings = replace(settings, timed=False)
        context = RunContext(experiment, folder, observer, settings, scratch=scratch, ending=ending)
        stack.callback(ending.ended)
        stack.callback(context.close)
        stack.callback(ending.begin)
        yield context


def run_group(context: RunContext, group: Sequence[Case]) -> None:
    """Take a group's cases to their rows, whatever happens but a signal to end (`KeyboardInterrupt`)."""
    with all_get_rows([context], group):
        GroupRun(context, group).run()


@contextlib.contextmanager
def all_get_rows(contexts: Sequence[RunContext], cases: Sequence[Case]) -> Iterator[None]:
    """Let what no code expects in here become the rows of the cases that have none yet in these runs.

    What the system refuses this process, files or processes, ends the run in one line
    (`UnfinishedError`): no case is to blame.  So does an observer whose lines nobody reads any more
    (`BrokenPipeError`).
    """
    ending = contexts[0].ending
    ending.require_none()
    try:
        yield
    except Exception as error:
        if ending.asked:  # what was being ended has failed
            raise KeyboardInterrupt from error
        if isinstance(error, HarnessError | BrokenPipeError):
            raise
        if isinstance(error, OSError):
            where = error.filename or contexts[0].folder.path
            raise UnfinishedError(f"{where}: {error.strerror or error}") from error
        for context in contexts:
            context.fail_unexpectedly(cases, error)


def _allow_workers(timed: Iterable[Sequence[Case]], jobs: int) -> Callable[[], None]:
    """Let this process have the open files of all workers at once; return what takes that back."""
    largest = max(map(len, timed), default=0)
    at_once = f"a group of {largest} cases, timed in turn," if largest > jobs else f"a run of {jobs} jobs"
    return allow_open_files(DESCRIPTORS * max(largest, jobs), at_once)


def _finish(context: RunContext) -> Callable[..., None]:
    """Return what compares all rows with the run's final peaks, and writes its tables, at its end."""

    def finish(kind: object, error: BaseException | None, trace: object) -> None:
        with contextlib.suppress(*([StorageError] if error is not None else [])):
            context.settle()
            context.folder.finish(context.spent.share, context.spent.by_part())

    return finish


def _interruption(context: RunContext, planned: int) -> Callable[..., None]:
    """Return what says that a signal has ended a run, also one that came at its end."""

    def interrupted(kind: object, error: BaseException | None, trace: object) -> None:
        context.ending.ended()
        if context.ending.asked and not isinstance(error, RunInterrupted):
            raise RunInterrupted(context.rows.values(), planned) from error

    return interrupted


def together(groups: Iterable[Sequence[Case]], context: RunContext) -> Iterator[list[Case]]:
    """Yield groups that are timed one by one, and of others as many together as keep all jobs busy."""
    gathered: list[Case] = []
    for group in groups:
        is_timed = context.times(group[0])
        if is_timed and gathered:
            yield gathered
            gathered = []
        gathered.extend(group)
        if is_timed or len(gathered) >= CASES_FOR_EACH_JOB * context.settings.jobs:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def _open_folder(
    experiment: Experiment,
    cases: Sequence[Case],
    whole_cases: Sequence[Case],
    settings: RunSettings,
    out: Path,
    resume: bool,
    observer: Observer,
    command: Sequence[str],
) -> RunFolder:
    """Return the locked folder of the run that goes on, or of a new one, with these cases in its plan."""
    bundle = settings.bundle
    named_by = () if bundle is None else bundle.command_words
    described = manifest.of_experiment(experiment, cases, command, named_by, settings.shard)
    if bundle is not None:
        described = described.model_copy(update={"built": bundle.index.manifest})
    if settings.revision is not None:
        described = settings.revision.described(described)
    wanted = [case.id for case in cases]
    whole = [case.id for case in whole_cases]
    folder, why_not = None, ""
    if resume:
        runs = out / experiment.name
        folder, why_not = run_to_resume(runs, wanted, whole, described, timed=settings.timed)
    if folder is not None:
        folder.lock()
        observer.message(f"resuming run {folder.run}: {progress_of(folder)}")
        folder.mark_resumed(described)
    else:
        if resume:
            observer.message(f"no run of {experiment.name} in {out} to resume{why_not}: starting a new one")
        folder = RunFolder.create(out, experiment.name, described)
    folder.plan(wanted, whole)
    return folder
