"""Which run a path means, and what is to be known of that."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.results.archive import is_archive, unpacked
from harness.results.run_folder import (
    MANIFEST_FILE,
    RunFolder,
    run_paths,
)
from harness.system.errors import InputError
from harness.system.plurals import counted
from harness.system.storage.reading import exists

if TYPE_CHECKING:
    import pandas


def different_runs(runs: Iterable[RunFolder]) -> list[RunFolder]:
    """Return the runs, each once: one may be given by several paths."""
    return list({run.path.resolve(): run for run in runs}.values())


def choice_of(path: Path, run: RunFolder, rows: "pandas.DataFrame") -> list[str]:
    """Return which run stands for `path`, and what its rows leave unsaid, a line each."""
    taken = taken_line(path, run)
    lines = [] if taken is None else [taken]
    missing = len(set(run.manifest.planned or ()).difference(rows["case"]))
    if missing:
        lines.append(f"{run.path}: not run yet: {counted(missing, 'planned case')}; --resume goes on")
    if run.manifest.shard is not None:
        lines.append(f"{run.path}: shard {run.manifest.shard} of the experiment")
    elif run.manifest.left_out:
        left_out = counted(run.manifest.left_out, "case")
        lines.append(f"{run.path}: not asked for: {left_out} of the experiment")
    return lines


def taken_line(path: Path, run: RunFolder) -> str | None:
    """Return which of several runs stands for an experiment's folder; None where the run itself was named.

    A run of `harness check` is newer than one with times that a person may expect: so it says that, too.
    """
    others = [other for other in run_paths(path) if other != run.path] if run.path != path else []
    if not others:
        return None
    names = ", ".join(other.name for other in others[:3]) + (" …" if len(others) > 3 else "")
    line = (
        f"taken: {run.path}, by its name the newest with rows of {len(others) + 1} runs; not taken: {names}"
    )
    timed = None if _has_times(run.path) else next(filter(_has_times, others), None)
    return line if timed is None else f"{line}; nothing in it was timed, the newest with times is {timed}"


def _has_times(run: Path) -> bool:
    try:
        return bool(RunFolder.open(run).table()["time_s"].notna().any())
    except InputError:
        return False


def open_run(path: Path) -> RunFolder:
    """Open a run's folder, or the newest run in an experiment's folder, see `RunFolder.latest_in`."""
    expected = f"expected a run's folder with {MANIFEST_FILE}, an experiment's folder, or a run's archive"
    if is_archive(path):
        folder = unpacked(path)
        return RunFolder.open(folder, path / folder.parent.name / folder.name)
    if exists(path / MANIFEST_FILE):
        return RunFolder.open(path)
    newest = RunFolder.latest_in(path)
    if newest is None:
        absent = "is a file" if exists(path) else "no such folder"
        problem = "holds no results" if path.is_dir() else absent
        raise InputError(f"{path}: {problem}; {expected}")
    return newest
