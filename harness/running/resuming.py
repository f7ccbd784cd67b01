"""Which run `--resume` continues."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.plurals import counted
from harness.results.here import is_of_this_machine
from harness.results.manifest import Manifest, Part
from harness.results.run_folder import RunFolder, run_paths

MOST_NAMES = 3
"""Runs that do not go on, of which a reason gives the names."""


@dataclass(frozen=True)
class AskedFor:
    """What is to be had of a run that goes on."""

    cases: Collection[str]
    """The cases that are wanted now."""
    whole: Collection[str]
    """All cases of the experiment or bundle."""
    profile: str | None = None
    timed: bool = True
    described: Manifest | None = None
    """The run that would begin now: the code and packages here."""
    is_bundle: bool = False
    """Whether it comes in a bundle, whose keys name the code that built it, and not that which runs it."""


def run_to_resume(folder: Path, asked: AskedFor) -> RunFolder | None:
    """Return the run in an experiment's folder that goes on, or None when there is none.

    It is the newest unfinished run: one in which a planned case has a row neither there nor in a newer run;
    cases that the experiment has no longer do not count.
    If every run is finished, it is the one that planned most of the wanted cases, of several one with times
    if times are wanted, and then the newest; so a short run with `--only` does not stand in the way of the
    whole experiment, nor a check in that of its times.

    Runs that cannot go on are passed over, see `_refusal`.
    Raises `InputError` when the newest run cannot be read; older ones that cannot are passed over.
    """
    runs = [run for run in _readable_runs(folder) if _refusal(run, asked) is None]
    known: set[str] = set()
    for run in runs:
        known |= {row.case for row in run.results()}
        if _is_unfinished(run, known, asked.whole):
            return run

    def worth(run: RunFolder) -> tuple[int, bool]:
        return len(set(asked.cases) & _planned(run)), asked.timed and _has_times(run)

    return max(runs, key=worth, default=None)


def why_none_is_resumed(folder: Path, asked: AskedFor) -> str:
    """Return what keeps the runs in an experiment's folder from going on, in brackets; empty without any."""
    found: dict[str, list[str]] = {}
    for run in _readable_runs(folder):
        refusal = _refusal(run, asked)
        if refusal is not None:
            found.setdefault(refusal[0], []).append(refusal[1])
    reasons = [f"{kind}: {_names(dict.fromkeys(names))}" for kind, names in found.items()]
    return f" ({'; '.join(reasons)})" if reasons else ""


def _refusal(run: RunFolder, asked: AskedFor) -> tuple[str, str] | None:
    """Return what keeps a run from going on, and what of it does, or None.

    Times and peaks of two machines, or of one with more or fewer of its cores, do not belong into one run,
    nor do two profiles.  A run that has no case of the experiment is of another one of that name.  A check
    would lose the times of what has changed since.
    """
    manifest = run.manifest
    if not is_of_this_machine(manifest):
        return "runs of other machines", _machine(manifest)
    if manifest.profile != asked.profile:
        return "runs of other profiles", "none" if manifest.profile is None else manifest.profile
    if _planned(run).isdisjoint(asked.whole):
        return "runs without any case of this experiment", run.run
    if not asked.timed and _has_times(run):
        return "runs with times, which a check would not measure again", run.run
    parts: list[Manifest | Part] = [manifest, *manifest.parts]
    came_in_a_bundle = asked.is_bundle or any(part.built is not None for part in parts)
    if came_in_a_bundle and asked.described is not None and not _runs_alike(parts, asked.described):
        return "runs with other code or packages on this machine", run.run
    return None


def _machine(manifest: Manifest) -> str:
    return ", ".join([manifest.processor, *(gpu.name for gpu in manifest.gpus)])


def _names(names: Iterable[str]) -> str:
    """Return the first few of some names."""
    told = list(names)
    return ", ".join(told[:MOST_NAMES]) + (" …" if len(told) > MOST_NAMES else "")


def _runs_alike(parts: Sequence[Manifest | Part], now: Manifest) -> bool:
    """Whether what came in a bundle was last run and checked by the code and packages that are here now.

    A part names the plugins of the cases that it was asked for; of each the last that names it counts.
    """
    plugins: dict[str, str] = {}
    for part in parts:
        plugins |= part.plugin_code
    is_same = all(
        getattr(parts[-1], field) == getattr(now, field) for field in ("code_digest", "packages", "python")
    )
    return is_same and all(plugins.get(name, code) == code for name, code in now.plugin_code.items())


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


def _has_times(run: RunFolder) -> bool:
    return any(row.time_s is not None for row in run.results())


def _planned(run: RunFolder) -> set[str]:
    """Return the cases of a run's plan, those that have rows where the plan is not known."""
    planned = run.manifest.planned
    return set(planned) if planned is not None else {row.case for row in run.results()}
