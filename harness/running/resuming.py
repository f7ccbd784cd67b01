"""Which run `--resume` continues."""

from collections.abc import Collection
from pathlib import Path

from harness.errors import InputError
from harness.plurals import counted
from harness.results.here import is_of_this_machine
from harness.results.run_folder import RunFolder, run_paths


def run_to_resume(
    folder: Path, wanted: Collection[str], whole: Collection[str], profile: str | None = None
) -> RunFolder | None:
    """Return the run in an experiment's folder that goes on, or None when there is none.

    It is the newest unfinished run: one in which a planned case has a row neither there nor in a newer run;
    cases that the experiment has no longer do not count.
    If every run is finished, it is the one that planned most of the wanted cases, of several the newest; so
    a short run with `--only` does not stand in the way of the whole experiment.

    Runs of other machines are passed over: times and peaks of two machines do not belong into one run.  So
    are runs that have no case in common with `whole`, all cases of the experiment: they are of another one
    that has the same name.  Runs of another profile are passed over as well.
    Raises `InputError` when the newest run cannot be read; older ones that cannot are passed over.
    """
    runs = [
        run
        for run in _readable_runs(folder)
        if is_of_this_machine(run.manifest)
        and run.manifest.profile == profile
        and not _planned(run).isdisjoint(whole)
    ]
    known: set[str] = set()
    for run in runs:
        known |= {row.case for row in run.results()}
        if _is_unfinished(run, known, whole):
            return run
    return max(runs, key=lambda run: len(set(wanted) & _planned(run)), default=None)


def other_machines(folder: Path) -> list[str]:
    """Return the machines, other than this one, that runs in an experiment's folder were made on."""
    manifests = [run.manifest for run in _readable_runs(folder)]
    others = [manifest for manifest in manifests if not is_of_this_machine(manifest)]
    return list(dict.fromkeys(", ".join([one.device, *(gpu.name for gpu in one.gpus)]) for one in others))


def why_none_is_resumed(folder: Path, whole: Collection[str], profile: str | None = None) -> str:
    """Return what keeps the runs in an experiment's folder from going on, in brackets; empty without any."""
    reasons = []
    others = other_machines(folder)
    if others:
        reasons.append(f"runs of other machines: {'; '.join(others)}")
    runs = _readable_runs(folder)
    profiles = [run.manifest.profile for run in runs if run.manifest.profile != profile]
    if profiles:
        named = dict.fromkeys("none" if other is None else other for other in profiles)
        reasons.append(f"runs of other profiles: {', '.join(named)}")
    foreign = [run.run for run in runs if run.manifest.profile == profile and _planned(run).isdisjoint(whole)]
    if foreign:
        reasons.append(f"runs without any case of this experiment: {', '.join(foreign[:3])}")
        reasons[-1] += " …" if len(foreign) > 3 else ""
    return f" ({'; '.join(reasons)})" if reasons else ""


def progress_of(run: RunFolder) -> str:
    """Return how far a run has come, `12 of 28 cases finished`; empty where its plan is not known."""
    planned = run.manifest.planned
    if planned is None:
        return ""
    finished = {row.case for row in run.results()} & set(planned)
    return f"{len(finished)} of {counted(len(planned), 'case')} finished"


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


def _is_unfinished(run: RunFolder, known: Collection[str], whole: Collection[str]) -> bool:
    """Whether a planned case of `whole` has no row; without a plan, whether the run never came to its end."""
    if run.manifest.planned is None:
        return run.manifest.finished is None
    return not set(run.manifest.planned) & set(whole) <= set(known)


def _planned(run: RunFolder) -> set[str]:
    """Return the cases of a run's plan, those that have rows where the plan is not known."""
    planned = run.manifest.planned
    return set(planned) if planned is not None else {row.case for row in run.results()}
