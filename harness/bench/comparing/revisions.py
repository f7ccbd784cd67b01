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

from harness.artifact.cache import ADVICE, cache_root
from harness.bench.comparing.comparison import Comparison, compare_runs
from harness.bench.comparing.in_turn import LEAST_PAIRS, is_all_identical, of_pairs
from harness.bench.comparing.run_notes import notes_on_runs
from harness.results.here import has_these_packages, is_of_this_machine
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError, RunInterrupted, StorageError
from harness.system.processes.git import outside_of_repositories
from harness.system.processes.programs import run_program
from harness.system.storage.folder_store import FolderStore

SOURCES = ("", "src")
"""Where in a repository packages lie."""
ALL_IDENTICAL = (
    "all machine code is identical, of packages at the top of the repository and in src/: "
    "further pairs would say nothing more"
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
        old, new = (
            Revision(name, commit, folder / place)
            for place, name, commit in zip(NAMES, names, commits, strict=True)
        )
        try:
            for revision in (old, new):
                _git(top, "worktree", "add", "--quiet", "--detach", str(revision.folder), revision.commit)
            yield old, new
        finally:
            for revision in (old, new):
                if revision.folder.exists():
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
    now.  With `resume` the finished pairs of the newest comparison that asked for the same count as the first
    ones.  Each revision is the first in every other pair.  Where all machine code is identical after the
    first pair, there are no others.  Raises `InputError` when a revision cannot run the experiment.
    """
    if pairs < LEAST_PAIRS:
        raise InputError(f"--pairs: found {pairs}, expected at least {LEAST_PAIRS}")
    options = [word for condition in only for word in ("--only", condition)]
    options += [] if profile is None else ["--profile", profile]
    folder = _comparison_folder(out, experiment, options, resume=resume)
    compared: list[Comparison] = []
    for number in range(1, pairs + 1):
        pair = folder / f"pair-{number}"
        if _is_finished(pair):
            tell(f"{pair.name} is finished already")
        else:
            try:
                for place in (0, 1) if number % 2 else (1, 0):
                    revision = revisions[place]
                    tell(f"pair {number} of {pairs}: {revision.name} ({revision.commit[:7]})")
                    _run(revision, folder / experiment.name, pair / NAMES[place], options)
            except KeyboardInterrupt as interruption:
                raise RunInterrupted(len(compared), pairs, "pair") from interruption
            (pair / "finished").touch()
        compared.append(compare_runs(*_runs_of(pair), threshold))
        if number == 1 and is_all_identical(compared[0].cases):
            tell(ALL_IDENTICAL)
            return compared[0]
    return of_comparisons(compared)


def of_comparisons(compared: Sequence[Comparison]) -> Comparison:
    """Return what pairs of runs say together; what one run alone has is that of the last pair."""
    last = compared[-1]
    cases = of_pairs([comparison.cases for comparison in compared], last.threshold)
    only_old, only_new = (
        table[~table["case"].isin(cases["case"])] for table in (last.only_old, last.only_new)
    )
    notes = (f"{len(compared)} pairs of runs, in turn", *notes_on_runs(cases, last.old, last.new))
    return replace(last, cases=cases, only_old=only_old, only_new=only_new, notes=notes)


def _comparison_folder(out: Path, experiment: Path, options: Sequence[str], *, resume: bool) -> Path:
    """Return the folder of a new comparison, or of the newest one that asked for the same."""
    text, asked = experiment.read_bytes(), json.dumps(options)
    try:
        alike = [
            file.parent
            for file in sorted(out.glob("*/options.json"))
            if file.read_text() == asked and (file.parent / experiment.name).read_bytes() == text
        ]
        if resume and alike:
            return alike[-1]
        folder = out / datetime.now(UTC).isoformat().replace(":", "-")
        folder.mkdir(parents=True)
        (folder / experiment.name).write_bytes(text)
        (folder / "options.json").write_text(asked)
    except OSError as error:
        raise StorageError(f"{out}: cannot keep runs: {error.strerror or error}") from error
    return folder


def _is_finished(pair: Path) -> bool:
    """Return whether a pair is complete, and of this machine and these packages."""
    return (pair / "finished").exists() and all(
        is_of_this_machine(run.manifest) and has_these_packages(run.manifest) for run in _runs_of(pair)
    )


def _runs_of(pair: Path) -> tuple[RunFolder, RunFolder]:
    """Return the newest run of either revision."""
    old, new = (max((pair / name).glob("*/*/manifest.json")).parent for name in NAMES)
    return RunFolder.open(old), RunFolder.open(new)


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
    message = " ".join(done.stderr.split())
    if of is not None:
        expected = f"expected a commit, branch or tag of {folder} (in a shallow clone: git fetch --unshallow)"
        raise InputError(f"--revisions: found {of!r}, {expected}; git says: {message}")
    raise InputError(f"--revisions: {folder}: git {words[0]} says: {message}")
