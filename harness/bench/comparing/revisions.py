"""Two git revisions, each built from its own sources, whose runs take turns on this machine.

<out>/<time>/<experiment>.toml      the file as it was when the comparison began
             options.json           what chooses among its cases
             pair-1/old/…           the run of the old revision, and of the new one
             pair-1/finished        that both are complete
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.artifact.cache import ADVICE, cache_root
from harness.bench.comparing.comparison import Comparison, compare_runs
from harness.bench.comparing.in_turn import LEAST_PAIRS, is_all_identical, notes_of_pairs, of_pairs
from harness.bench.comparing.run_notes import changed_code, notes_on_runs
from harness.results.here import has_these_packages, is_of_this_machine
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError, RunInterrupted, StorageError
from harness.system.processes.git import outside_of_repositories
from harness.system.processes.programs import run_program
from harness.system.storage.folder_store import FolderStore
from harness.system.storage.lock import FileLock

if TYPE_CHECKING:
    import pandas as pd

SOURCES = ("", "src")
"""Where in a repository packages lie."""
SAME_CODE = (
    "both revisions run the same code: what differs is no code of this experiment, or lies neither at the "
    "top of the repository nor in src/"
)
WORKTREES = "revisions"
"""Folder in the cache's, for checked out revisions while they are needed."""
LONGEST_RUN_S = 14 * 86_400.0
"""Seconds that one run may take."""
NAMES = ("old", "new")


@dataclass(frozen=True)
class Revision:
    """A revision that is checked out in a folder of its own."""

    name: str
    """As it was asked for."""
    commit: str
    folder: Path

    def environment(self) -> dict[str, str]:
        """Return this process's environment, in which this revision's packages are found first."""
        paths = [str(self.folder / source) for source in SOURCES if (self.folder / source).is_dir()]
        path = os.pathsep.join(filter(None, [*paths, os.environ.get("PYTHONPATH")]))
        return {**outside_of_repositories(), "PYTHONPATH": path}


@contextmanager
def checked_out(names: tuple[str, str], repository: Path) -> Iterator[tuple[Revision, Revision]]:
    """Check two revisions of a repository out, each as a worktree; they are removed afterwards.

    What a killed process has left is removed by the next one.  Raises `InputError` outside of a repository,
    and for what is no revision of it.
    """
    top = Path(_git(repository, "rev-parse", "--show-toplevel"))
    commits = [_git(top, "rev-parse", "--verify", f"{name}^{{commit}}", of=name) for name in names]
    store = FolderStore((cache_root() / WORKTREES).absolute(), ADVICE)
    with store.private_folder() as folder:
        _git(top, "worktree", "prune")
        revisions = [
            Revision(name, commit, folder / str(number))
            for number, (name, commit) in enumerate(zip(names, commits, strict=True))
        ]
        try:
            for revision in revisions:
                _git(top, "worktree", "add", "--quiet", "--detach", str(revision.folder), revision.commit)
            yield revisions[0], revisions[1]
        finally:
            for revision in filter(lambda revision: revision.folder.exists(), revisions):
                _git(top, "worktree", "remove", "--force", str(revision.folder))


def compare_revisions(
    revisions: tuple[Revision, Revision],
    experiment: Path,
    out: Path,
    *,
    only: Sequence[str],
    pairs: int,
    threshold: float,
    tell: Callable[[str], None],
    profile: str | None = None,
    resume: bool = False,
) -> Comparison:
    """Run an experiment, or a profile of it, with both revisions in turn, pair by pair, and compare them.

    The runs stay below `out`, beside a copy of the experiment's file: all of them are of the text that it has
    now, whatever becomes of it meanwhile.  With `resume` the finished pairs of the newest comparison that
    asked for the same count as the first ones.  Each revision is the first in every other pair.  Where all
    machine code is identical after the first pair, there are no others.  Raises `InputError` for too few
    pairs, and when a revision cannot run the experiment.
    """
    if pairs < LEAST_PAIRS:
        raise InputError(f"--pairs: found {pairs}, expected at least {LEAST_PAIRS}")
    options = [word for condition in only for word in ("--only", condition)]
    options += [] if profile is None else ["--profile", profile]
    compared: list[Comparison] = []
    with _comparison_folder(out, experiment, options, resume=resume) as folder:
        for number in range(1, pairs + 1):
            pair = folder / f"pair-{number}"
            runs = _finished_pair(pair, tell)
            if runs is None:
                with _telling_what_is_kept(len(compared), pairs):
                    for place in (0, 1) if number % 2 else (1, 0):
                        revision = revisions[place]
                        tell(f"pair {number} of {pairs}: {revision.name} ({revision.commit[:7]})")
                        _run(revision, folder / experiment.name, pair / NAMES[place], options)
                runs = _runs_of(pair)
                (pair / "finished").touch()
                if number == 1 and not changed_code(runs):
                    tell(SAME_CODE)
            compared.append(compare_runs(*runs, threshold))
            if number == 1 and is_all_identical(compared[0].cases):
                tell("all machine code is identical: further pairs would say nothing more")
                return compared[0]
    return of_comparisons(compared)


@contextmanager
def _comparison_folder(
    out: Path, experiment: Path, options: Sequence[str], *, resume: bool
) -> Iterator[Path]:
    """Yield the folder of a new comparison, or of the newest one that asked for the same, locked."""
    text, asked = experiment.read_bytes(), json.dumps(options)
    try:
        alike = [
            file.parent
            for file in sorted(out.glob("*/options.json"))
            if file.read_text() == asked and (file.parent / experiment.name).read_bytes() == text
        ]
        folder = alike[-1] if resume and alike else out / datetime.now(UTC).isoformat().replace(":", "-")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / experiment.name).write_bytes(text)
        (folder / "options.json").write_text(asked)
        lock = FileLock.take(folder / ".lock")
    except OSError as error:
        raise StorageError(f"{out}: cannot keep runs: {error.strerror or error}") from error
    if lock is None:
        raise InputError(f"{folder}: another process goes on with this comparison: wait for it, or end it")
    with lock:
        yield folder


def _finished_pair(pair: Path, tell: Callable[[str], None]) -> tuple[RunFolder, RunFolder] | None:
    """Return the runs of a pair that is finished, if they are of this machine and these packages."""
    if not (pair / "finished").exists():
        return None
    runs = _runs_of(pair)
    if all(is_of_this_machine(run.manifest) and has_these_packages(run.manifest) for run in runs):
        tell(f"{pair.name} is finished already")
        return runs
    tell(f"{pair.name} is of another machine or of other packages: it is run again")
    return None


def _runs_of(pair: Path) -> tuple[RunFolder, RunFolder]:
    """Return the newest run of either revision."""
    old, new = (max((pair / name).glob("*/*/manifest.json")).parent for name in NAMES)
    return RunFolder.open(old), RunFolder.open(new)


@contextmanager
def _telling_what_is_kept(finished: int, pairs: int) -> Iterator[None]:
    """Let what ends a comparison say how many of its pairs are finished, from which `resume` goes on."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise RunInterrupted(finished, pairs, "pair") from interruption
    except InputError as error:
        if not finished:
            raise
        raise InputError(f"{error}; {finished} of {pairs} pairs are finished: --resume keeps them") from error


def of_comparisons(compared: Sequence[Comparison]) -> Comparison:
    """Return what pairs of runs say together; what one run alone has is in no pair in both."""
    tables, last = [comparison.cases for comparison in compared], compared[-1]
    cases = of_pairs(tables, last.threshold)
    notes = [f"{len(compared)} pairs of runs, in turn", *notes_of_pairs(tables, cases)]
    for name in ("old", "new"):
        changed = changed_code([comparison.runs[name] for comparison in compared])
        if changed:
            notes.append(
                f"the code of {', '.join(changed)} differs between runs of the {name} revision: edited "
                "between pairs, which compare different things; without --resume all pairs are run again"
            )
    notes += notes_on_runs(cases, last.old, last.new)
    only_old, only_new = (
        _of_one_run([getattr(comparison, name) for comparison in compared], cases)
        for name in ("only_old", "only_new")
    )
    return replace(last, cases=cases, only_old=only_old, only_new=only_new, notes=tuple(notes))


def _of_one_run(tables: "Sequence[pd.DataFrame]", cases: "pd.DataFrame") -> "pd.DataFrame":
    """Return the cases that a run alone has in any pair, and that no pair has in both runs."""
    import pandas as pd

    last_rows = pd.concat(tables).drop_duplicates("case", keep="last")
    return last_rows[~last_rows["case"].isin(cases["case"])]


def _run(revision: Revision, experiment: Path, out: Path, options: Sequence[str]) -> None:
    """Run the experiment with a revision's code; raises `InputError` where it cannot be run."""
    run = [sys.executable, "-m", "harness", "run", str(experiment), "--out", str(out), "--plain"]
    environment = revision.environment()
    done = run_program([*run, *options], LONGEST_RUN_S, environment=environment, folder=revision.folder)
    if done.returncode not in (0, 1) or not list(out.glob("*/*/manifest.json")):
        words = done.stderr.strip().splitlines() or ["no message"]
        raise InputError(f"--revisions: {revision.name} cannot run {experiment.name}: {words[-1]}")


def edited_files(repository: Path) -> int:
    """Return how many files that git knows differ from the commit that is checked out."""
    return len(_git(repository, "status", "--porcelain", "--untracked-files=no").splitlines())


def _git(folder: Path, *words: str, of: str | None = None) -> str:
    """Return what git says; raises `InputError` with git's own words where it fails.

    `of` is the revision that is meant.
    """
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=outside_of_repositories(), capture_output=True, text=True
        )
    except OSError as error:
        raise InputError(f"--revisions: git cannot be run: {error.strerror or error}") from error
    if done.returncode == 0:
        return done.stdout.strip()
    message = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
    if of is not None:
        message = (
            f"{of!r} is no revision of {folder}; expected a commit, branch or tag; in a shallow clone "
            f"git fetch --unshallow brings older commits (git says: {message})"
        )
        raise InputError(f"--revisions: {message}")
    raise InputError(f"--revisions: {folder}: git {words[0]} says: {message}")
