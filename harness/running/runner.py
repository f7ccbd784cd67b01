"""Runs an experiment: every case of the plan becomes one row, whatever happens to it.

Cases of one problem on one target form a group (`harness.running.group`): they are built, checked, and timed
against each other.  Where nothing is timed, several groups go together, so that all cores are busy.  Rows and
timing rounds go to the run's journal as soon as they are known, so a run that is killed loses at most the
cases in flight.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RunInterrupted
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results import manifest
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.running.bundle import Bundle
from harness.running.context import RunContext
from harness.running.group import GroupRun
from harness.running.progress import Observer
from harness.running.resuming import progress_of, run_to_resume

CASES_FOR_EACH_JOB = 8
"""Cases that are built and checked together where nothing is timed: few enough to soon see results."""


@dataclass(frozen=True)
class RunSummary:
    """What a run leaves behind."""

    folder: Path
    results: list[Result]
    """One row for each case, in the plan's order."""


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
) -> RunSummary:
    """Build, check and, if `timed` and the experiment allows it, time these cases of the experiment.

    Results go to `out/<experiment>/<run>/`.  Up to `jobs` cases are built at a time, and checked at a time if
    nothing is timed; nothing else goes on during timings.  `command` is the command line, for the manifest.

    With `resume` a run in `out` goes on, see `harness.running.resuming`; without any, a new one starts.
    A row is kept when its case is still in the plan, its content key (source IR, parameters, tool versions,
    this package's code, device) is what it would be now, and it has what is asked for: a row that passed
    needs a time if `timed`.  Failures are kept too: repeat them with the command in their row, without
    `resume`.  A case that was in flight when the run was killed is done again; timing rounds that were
    journaled are not.  When a baseline has changed, all cases that are compared with it are timed again.
    What a changed `[check]` or `[timing]` section asks for is not seen: start a new run for that.

    Wrong outputs go into the folder `dump`, if there is one, beside what was expected.

    With a `bundle` nothing is built: it has the artifacts, and its experiment is the one that is given.

    Raises `InputError` when `out` cannot be written or a journal cannot be read.  After Ctrl-C all workers
    are killed, the tables are written, and `RunInterrupted`, a `KeyboardInterrupt`, goes on.
    """
    folder = _open_folder(experiment, cases, out, resume, observer, command, bundle)
    context = RunContext(
        experiment=experiment,
        folder=folder,
        observer=observer,
        timed=timed and experiment.timing.enabled,
        jobs=jobs,
        cache_root=cache_root,
        bundle=bundle,
        dump=None if dump is None else dump.resolve(),
        earlier={result.case: result for result in folder.results()},
        earlier_rounds=folder.rounds(),
    )
    try:
        observer.planned(len(cases))
        for group in _together(experiment.groups(cases), context):
            GroupRun(context, group).run()
    except KeyboardInterrupt as interruption:
        raise RunInterrupted(len(context.rows), len(cases)) from interruption
    finally:
        context.close()
        folder.finish()
        observer.done()
    return RunSummary(folder=folder.path, results=[context.rows[case.id] for case in cases])


def _together(groups: Iterable[Sequence[Case]], context: RunContext) -> Iterator[list[Case]]:
    """Yield the groups of a timed run one by one, and else as many together as keep all jobs busy."""
    least = 1 if context.timed else CASES_FOR_EACH_JOB * context.jobs
    gathered: list[Case] = []
    for group in groups:
        gathered.extend(group)
        if len(gathered) >= least:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def _open_folder(
    experiment: Experiment,
    cases: Sequence[Case],
    out: Path,
    resume: bool,
    observer: Observer,
    command: Sequence[str],
    bundle: Bundle | None,
) -> RunFolder:
    """Return the folder of the run that goes on, or of a new one, with these cases in its plan."""
    wanted = [case.id for case in cases]
    folder = run_to_resume(out / experiment.name, wanted) if resume else None
    if folder is not None:
        progress = progress_of(folder)
        observer.message(f"resuming run {folder.run}" + (f": {progress}" if progress else ""))
        folder.mark_resumed()
    else:
        if resume:
            observer.message(f"no run of {experiment.name} in {out} to resume: starting a new one")
        described = manifest.of_experiment(experiment, cases, command)
        if bundle is not None:
            described = described.model_copy(update={"built": bundle.index.manifest})
        folder = RunFolder.create(out, experiment.name, described)
    whole = experiment.cases() if bundle is None else bundle.cases()
    folder.plan(wanted, [case.id for case in whole])
    return folder
