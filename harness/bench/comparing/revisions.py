"""Two git revisions, each built from its own sources, whose code takes turns on this machine.

<out>/old/<experiment>/<time>/      the run of the old revision
      new/<experiment>/<time>/      and of the new one
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.bench.comparing.comparison import Comparison, compare_runs
from harness.bench.comparing.turns import NAMES, run_in_turn
from harness.bench.comparing.verdicts import Margins
from harness.bench.running.context import RunSettings
from harness.bench.running.forecast import others_in_words, slowdown_by_others
from harness.bench.running.progress import Observer, result_line
from harness.bench.running.revision import Revision
from harness.bench.running.runner import started_run
from harness.bench.running.time_spent import START_UP, TimeSpent, described, seconds_of_this_process
from harness.experiment.experiment import Experiment
from harness.experiment.settings import TimingSettings
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError
from harness.system.plurals import about, counted
from harness.system.processes.git import outside_of_repositories
from harness.system.storage.cache_folder import ADVICE, cache_root
from harness.system.storage.folder_store import FolderStore

KEPT = {"min_sample_s", "graphs", "energy_s", "busy_limit", "enabled"}
"""What comparisons take from `[timing]`: how a sample is taken, and not for how long."""
BESIDES_S = 12.0
"""What building and checking a case takes, with both revisions, on two cores of an Intel Xeon."""
WORKTREES = "revisions"
"""Folder in the cache's, for checked out revisions while they are needed."""


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


class RunOfRevision(Observer):
    """Tells on lines what becomes of the cases of one revision."""

    def __init__(self, revision: Revision, tell: Callable[[str], None]) -> None:
        """Tell lines that begin with what the revision was asked for as."""
        self._name = revision.name
        self._tell = tell

    def finished(self, case: Case, result: Result) -> None:
        """Tell what has become of a case, and why."""
        self._tell(f"{self._name}: {result_line(case, result)}")

    def kept(self, case: Case, result: Result) -> None:
        """Tell that an earlier row stands."""
        self._tell(f"{self._name}: {result_line(case, result)}  (kept)")

    def message(self, text: str) -> None:
        """Tell the text."""
        self._tell(text)


def compare_revisions(
    revisions: tuple[Revision, Revision],
    experiment: Experiment,
    cases: Sequence[Case],
    out: Path,
    *,
    margins: Margins,
    budget_s: float,
    command: Sequence[str],
    tell: Callable[[str], None],
    jobs: int = 1,
    resume: bool = False,
) -> Comparison:
    """Run cases of an experiment with both revisions in turn, case by case, and compare them.

    With `resume` the newest runs below `out` go on.  A case is timed until its ratio is known as sharply as
    `[timing]` asks by default, or for `budget_s`.
    """
    for revision in revisions:
        revision.require_same_requests()
    timing = TimingSettings(**experiment.timing.model_dump(include=KEPT), budget_s=budget_s)
    experiment = experiment.model_copy(update={"baseline": None, "timing": timing})
    with ExitStack() as stack:
        runs = {
            name: stack.enter_context(
                started_run(
                    experiment,
                    cases,
                    RunSettings(timed=True, jobs=jobs, cache_root=cache_root(), revision=revision),
                    out / name,
                    resume,
                    RunOfRevision(revision, tell),
                    command,
                )
            )
            for name, revision in zip(NAMES, revisions, strict=True)
        }
        left = [case for case in cases if any(case.id not in run.earlier for run in runs.values())]
        if left:
            tell(_forecast_line(len(left), budget_s))
        spent = TimeSpent({START_UP: seconds_of_this_process()})
        for run in runs.values():
            run.spent = spent
        for number, case in enumerate(cases, start=1):
            tell(f"case {number} of {len(cases)}: {case.describe()}")
            run_in_turn(runs, case)
            for run in runs.values():
                run.expectations.delete()
    old, new = (RunFolder.open(runs[name].folder.path) for name in NAMES)
    comparison = compare_runs(old, new, margins)
    tell(described(spent.by_part()))
    return comparison


def _forecast_line(cases: int, budget_s: float) -> str:
    slowdown = slowdown_by_others()
    line = f"{about((budget_s + slowdown * BESIDES_S) * cases)}: {counted(cases, 'case')}"
    return f"{line}, timed for {budget_s:g} s at most{others_in_words(slowdown)}"


def edited_files(repository: Path) -> int:
    """Return how many files that git knows differ from the commit that is checked out."""
    return len(_git(repository, "status", "--porcelain", "--untracked-files=no").splitlines())


def _git(folder: Path, *words: str, of: str | None = None) -> str:
    """Return what git says; raises `InputError` with git's own words where it fails."""
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
