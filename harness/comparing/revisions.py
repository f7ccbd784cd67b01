"""Two git revisions, each built from its own sources, whose runs take turns on this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.artifact.cache import ADVICE, cache_root
from harness.comparing.comparison import Comparison, compare_runs
from harness.comparing.in_turn import (
    LEAST_PAIRS,
    balanced_turns,
    is_all_identical,
    notes_of_pairs,
    of_pairs,
)
from harness.comparing.kept_pairs import KeptPairs, one_at_a_time
from harness.comparing.run_notes import changed_code, notes_on_runs
from harness.errors import InputError, RunInterrupted, StorageError
from harness.printable import shell_line
from harness.processes import told_of_end
from harness.processes.git import outside_of_repositories
from harness.results.run_folder import MANIFEST_FILE, RunFolder
from harness.storage.folder_store import FolderStore
from harness.storage.reading import read_bytes
from harness.storage.replacing import replaced

if TYPE_CHECKING:
    import pandas as pd

SOURCES = ("", "src")
"""Where in a repository packages lie."""
SAME_CODE = (
    "both revisions run the same code: what differs is no code of this experiment, or lies neither at the "
    "top of the repository nor in src/"
)
LONGEST_GIT_S = 300.0
TOP_OF_WORK_TREE = ("rev-parse", "--show-toplevel")
"""What git says the top folder of a checkout with."""
CLONES = "revisions"
"""Folder in the cache's, for clones while they are needed."""
LONGEST_END_S = 60.0
"""Seconds that an interrupted run may take to end in an orderly way."""


@dataclass(frozen=True)
class Revision:
    """A revision that is checked out in a folder of its own."""

    name: str
    """As it was asked for."""
    commit: str
    folder: Path
    repository: Path | None = None
    """The folder of the repository that it is of, with whatever is being edited there."""

    def environment(self) -> dict[str, str]:
        """Return this process's environment, in which this revision's packages are found first."""
        paths = [str(self.folder / source) for source in SOURCES if (self.folder / source).is_dir()]
        path = os.pathsep.join(filter(None, [*paths, os.environ.get("PYTHONPATH")]))
        return {**outside_of_repositories(), "PYTHONPATH": path}


@contextmanager
def checked_out(names: tuple[str, str], repository: Path) -> Iterator[tuple[Revision, Revision]]:
    """Check two revisions of a repository out, each in a clone of its own; they are removed afterwards.

    What a killed process has left is removed by the next one.  Raises `InputError` outside of a repository,
    and for what is no revision of it.
    """
    top = _required(f"{repository}: expected the repository to compare", repository, *TOP_OF_WORK_TREE)
    commits = [_commit(Path(top), name) for name in names]
    store = FolderStore((cache_root() / CLONES).absolute(), ADVICE)
    with store.private_folder() as folder:
        clones = []
        for number, (name, commit) in enumerate(zip(names, commits, strict=True)):
            clone = folder / str(number)
            cannot = f"{name} cannot be checked out"
            _required(cannot, folder, "clone", "--quiet", "--shared", "--no-checkout", top, str(clone))
            _required(cannot, clone, "checkout", "--quiet", "--detach", commit)
            clones.append(Revision(name, commit, clone, Path(top)))
        yield clones[0], clones[1]


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

    The runs stay below `out`, a folder for each revision, beside a copy of the experiment's file: all of
    them are of the text that it has now, whatever becomes of it meanwhile.  With `resume` the finished pairs
    of an earlier such comparison, the newest one, count as the first ones.  Where all machine code is
    identical after the first pair, there are no others.  Raises `InputError` for too few pairs, and when a
    revision cannot run the experiment.
    """
    if pairs < LEAST_PAIRS:
        raise InputError(f"--pairs: found {pairs}, expected at least {LEAST_PAIRS}")
    options = [word for condition in only for word in ("--only", condition)]
    options += [] if profile is None else ["--profile", profile]
    with one_at_a_time(out):
        copy = _copied(experiment, out)
        kept = KeptPairs(out, copy, options, resume=resume)
        finished = kept.finished(tell)[:pairs] if resume else []
        if finished:
            tell(f"{len(finished)} of {pairs} pairs are finished already")
        compared = [compare_runs(old, new, threshold) for old, new in finished]
        for number, turns in enumerate(balanced_turns(pairs)):
            if number >= len(finished):
                runs: dict[int, RunFolder] = {}
                with _telling_what_is_kept(number, pairs):
                    for place in turns:
                        revision = revisions[place]
                        tell(f"pair {number + 1} of {pairs}: {revision.name} ({revision.commit[:7]})")
                        runs[place] = _run(revision, copy, out / ("old", "new")[place], options)
                compared.append(compare_runs(runs[0], runs[1], threshold))
                kept.keep(runs[0], runs[1])
                if number == 0 and not changed_code([runs[0], runs[1]]):
                    tell(SAME_CODE)
            if number == 0 and is_all_identical(compared[0].cases):
                tell("all machine code is identical: further pairs would say nothing more")
                return compared[0]
    return of_comparisons(compared)


def _copied(experiment: Path, folder: Path) -> Path:
    """Return a copy of an experiment's file in a folder."""
    copy = folder / experiment.name
    try:
        with replaced(copy) as file:
            file.write_bytes(read_bytes(experiment))
    except OSError as error:
        raise StorageError(f"{copy}: cannot copy {experiment}: {error.strerror or error}") from error
    return copy


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

    found = pd.concat(tables).drop_duplicates("case", keep="last")
    return found[~found["case"].isin(cases["case"])]


def _run(revision: Revision, experiment: Path, out: Path, options: Sequence[str]) -> RunFolder:
    """Run the experiment with a revision's code; raises `InputError` where that leaves no run of its own."""
    run = [sys.executable, "-m", "harness", "run", str(experiment), "--out", str(out), "--plain"]
    command = [*run, *options]
    before = _runs_below(out)
    done = _ended(command, revision)
    made = sorted(_runs_below(out) - before)
    if not made or done.returncode not in (0, 1):
        words = done.stderr.strip().splitlines() or ["no message"]
        raise InputError(f"--revisions: {revision.name} cannot run {experiment.name}: {words[-1]}")
    return RunFolder.open(made[0])


def _runs_below(out: Path) -> set[Path]:
    """Return the folders of all runs of all experiments in a folder of results."""
    return {manifest.parent for manifest in out.glob(f"*/*/{MANIFEST_FILE}")}


def _ended(command: Sequence[str], revision: Revision) -> "subprocess.CompletedProcess[str]":
    """Run a command with a revision's code; it ends with this process, also when that is killed."""
    with subprocess.Popen(
        told_of_end.command(command),
        env=revision.environment(),
        cwd=revision.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            _, told = process.communicate()
        except BaseException:
            process.terminate()
            try:
                process.communicate(timeout=LONGEST_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(list(command), process.returncode, stderr=told)


def edited_files(repository: Path) -> int:
    """Return how many files that git knows differ from the commit that is checked out."""
    top = _git(repository, *TOP_OF_WORK_TREE)
    changes = None if top is None else _git(Path(top), "status", "--porcelain", "--untracked-files=no")
    return len((changes or "").splitlines())


def _commit(top: Path, name: str) -> str:
    commit = _git(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if commit is None:
        is_shallow = _git(top, "rev-parse", "--is-shallow-repository") == "true"
        advice = "; this clone is shallow: git fetch --unshallow brings older commits" if is_shallow else ""
        found = f"--revisions: {name!r} is no revision of {top}"
        raise InputError(f"{found}; expected a commit, branch or tag{advice}")
    return commit


def _git(folder: Path, *words: str) -> str | None:
    """Return what git says, None where it fails; raises `InputError` where there is no git."""
    done = _ended_git(folder, words)
    return done.stdout.strip() if done.returncode == 0 else None


def _required(cannot: str, folder: Path, *words: str) -> str:
    """Return what git says; raises `InputError` with git's own words where it fails."""
    done = _ended_git(folder, words)
    if done.returncode != 0:
        told = " ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise InputError(f"--revisions: {cannot}: git says: {told or f'exit status {done.returncode}'}")
    return done.stdout.strip()


def _ended_git(folder: Path, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run git in a folder; raises `InputError` where it cannot be run."""
    try:
        return subprocess.run(
            ["git", *words],
            cwd=folder,
            env=outside_of_repositories(),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_GIT_S,
        )
    except FileNotFoundError as error:
        raise InputError("--revisions: git was not found; expected it on the PATH") from error
    except OSError as error:
        raise InputError(f"--revisions: git cannot be run: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        command = shell_line(["git", *words])
        raise InputError(f"--revisions: {command} took more than {LONGEST_GIT_S:g} s") from error
