"""Which run `--resume` continues."""

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.results.here import is_of_this_machine
from harness.results.manifest import Manifest, Part
from harness.results.run_folder import RunFolder, run_paths
from harness.system.errors import InputError
from harness.system.plurals import counted


def run_to_resume(
    folder: Path, wanted: Collection[str], whole: Collection[str], now: Manifest, *, timed: bool
) -> tuple[RunFolder | None, str]:
    """Return the run in an experiment's folder that goes on, or None and why none does, in brackets.

    `wanted` are the cases that are wanted now, `whole` all of the experiment or bundle, and `now` describes
    the run that would begin instead.

    It is the newest unfinished run: one in which a planned case has a row neither there nor in a newer run;
    cases that the experiment has no longer do not count.
    If every run is finished, it is the one that planned most of the wanted cases, of several one with times
    if times are wanted, and then the newest; so a short run with `--only` does not stand in the way of the
    whole experiment, nor a check in that of its times.

    Runs that cannot go on are passed over, see `_refusal`.
    Raises `InputError` when the newest run cannot be read; older ones that cannot are passed over.
    """
    refusals = {run: _refusal(run, whole, now, timed=timed) for run in _readable_runs(folder)}
    runs = [run for run, refusal in refusals.items() if refusal is None]
    finished: set[str] = set()
    for run in runs:
        finished |= {row.case for row in run.results()}
        if not _planned(run) & set(whole) <= finished:
            return run, ""

    def worth(run: RunFolder) -> tuple[int, bool]:
        return len(set(wanted) & _planned(run)), timed and _has_times(run)

    reasons = list(dict.fromkeys(filter(None, refusals.values())))
    return max(runs, key=worth, default=None), f" ({'; '.join(reasons)})" if reasons else ""


def _refusal(run: RunFolder, whole: Collection[str], now: Manifest, *, timed: bool) -> str | None:
    """Return what keeps a run from going on, or None.

    Times and peaks of two machines, or of one with more or fewer of its cores, do not belong into one run,
    nor do two profiles, or two shards.  A run that has no case of the experiment is of another one of that
    name.  A check would lose the times of what has changed since.  Keys of what came in a bundle name the
    code that built it, and not that which runs it.
    """
    manifest = run.manifest
    if not is_of_this_machine(manifest):
        machine = ", ".join([manifest.processor, *(gpu.name for gpu in manifest.gpus)])
        return f"a run of another machine: {machine}"
    if manifest.profile != now.profile:
        return f"a run of another profile: {manifest.profile or 'none'}"
    if manifest.shard != now.shard:
        return f"a run of another shard: {manifest.shard or 'none'}"
    if _planned(run).isdisjoint(whole):
        return f"a run without any case of this experiment: {run.run}"
    if not timed and _has_times(run):
        return f"a run with times, which a check would not measure again: {run.run}"
    parts: list[Manifest | Part] = [now, manifest, *manifest.parts]
    came_in_a_bundle = any(part.built is not None for part in parts)
    if came_in_a_bundle and not _runs_alike(manifest, now):
        return f"a run with other code or packages on this machine: {run.run}"
    return None


def _runs_alike(manifest: Manifest, now: Manifest) -> bool:
    """Whether the code and packages that are here now are those that a run last went on with."""
    latest = manifest.latest
    names = now.plugin_code.keys() & latest.plugin_code.keys()
    return (latest.code_digest, latest.packages, latest.python) == (
        now.code_digest,
        now.packages,
        now.python,
    ) and all(latest.plugin_code[name] == now.plugin_code[name] for name in names)


def progress_of(run: RunFolder) -> str:
    """Return how far a run has come, `12 of 28 cases finished`."""
    planned = _planned(run)
    finished = {row.case for row in run.results()} & planned
    return f"{len(finished)} of {counted(len(planned), 'case')} finished"


def _readable_runs(folder: Path) -> Iterator[RunFolder]:
    for index, path in enumerate(run_paths(folder)):
        try:
            run = RunFolder.open(path)
            run.results()
        except InputError:
            if index == 0:
                raise
            continue
        yield run


def _has_times(run: RunFolder) -> bool:
    return any(row.time_s is not None for row in run.results())


def _planned(run: RunFolder) -> set[str]:
    return set(run.manifest.planned or ())
