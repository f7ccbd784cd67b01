"""Which run `--resume` continues."""

from collections.abc import Collection
from pathlib import Path

from harness.errors import InputError
from harness.results.run_folder import RunFolder, run_paths


def run_to_resume(folder: Path, wanted: Collection[str]) -> RunFolder | None:
    """Return the run in an experiment's folder that goes on, or None when there is none.

    It is the newest unfinished run: one in which a planned case has a row neither there nor in a newer run.
    If every run is finished, it is the one that planned most of the wanted cases, of several the newest; so
    a short run with `--only` does not stand in the way of the whole experiment.

    Raises `InputError` when the newest run cannot be read; older ones that cannot are passed over.
    """
    runs = _readable_runs(folder)
    known: set[str] = set()
    for run in runs:
        known |= {row.case for row in run.results()}
        if _is_unfinished(run, known):
            return run
    return max(runs, key=lambda run: len(set(wanted) & _planned(run)), default=None)


def progress_of(run: RunFolder) -> str:
    """Return how far a run has come, `12 of 28 cases finished`; empty where its plan is not known."""
    planned = run.manifest.planned
    if planned is None:
        return ""
    finished = {row.case for row in run.results()} & set(planned)
    return f"{len(finished)} of {len(planned)} cases finished"


def _readable_runs(folder: Path) -> list[RunFolder]:
    """Return the runs that can be read, the newest first."""
    runs = []
    for index, path in enumerate(run_paths(folder)):
        try:
            run = RunFolder.open(path)
            run.results()
        except InputError:
            if index == 0:
                raise
            continue
        runs.append(run)
    return runs


def _is_unfinished(run: RunFolder, known: Collection[str]) -> bool:
    """Whether a planned case has no row; without a plan, whether the run never came to its end."""
    if run.manifest.planned is None:
        return run.manifest.finished is None
    return not set(run.manifest.planned) <= set(known)


def _planned(run: RunFolder) -> set[str]:
    """Return the cases of a run's plan, those that have rows where the plan is not known."""
    planned = run.manifest.planned
    return set(planned) if planned is not None else {row.case for row in run.results()}
