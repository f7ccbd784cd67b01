"""Two revisions of a repository: which runs are compared, and what is left when somebody ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from example_results import example_manifest, example_result

from harness.bench.comparing.revisions import ALL_IDENTICAL, Revision, checked_out, compare_revisions
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError

CASE = "0" * 12
SMOKE = str(Path(__file__).parents[3] / "experiments" / "smoke.toml")

COPIES_A_RUN = """
import shutil, sys
from pathlib import Path
out = Path(sys.argv[sys.argv.index("--out") + 1])
shutil.copytree({run!r}, out / "sweep" / "2026-11-21T10-00-00")
"""
WAITS = """
import os, time
from pathlib import Path
Path({folder!r}, "pid").write_text(str(os.getpid()))
Path({folder!r}, "started").touch()
time.sleep(60)
"""


def write_run(root: Path, experiment: str, time_s: float) -> Path:
    run = RunFolder.create(root, experiment, example_manifest())
    run.append_result(example_result(CASE, time_s=time_s, device="a processor", binary_digest="code"))
    run.release()
    return run.path


def revision(folder: Path, program: str) -> Revision:
    """Return a revision whose `python -m harness` is a program."""
    package = folder / "harness"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(program)
    return Revision(folder.name, "0" * 40, folder)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def test_what_git_refuses_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "bare"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    monkeypatch.setenv("LC_ALL", "C")
    with (
        pytest.raises(InputError, match=r"bare: git rev-parse says: .*work tree"),
        checked_out(("HEAD", "HEAD"), bare),
    ):
        pass


def test_the_runs_that_were_just_made_are_compared_whatever_else_lies_there(tmp_path: Path) -> None:
    revisions, told = [], list[str]()
    (tmp_path / "sweep.toml").touch()
    for name, time_s in (("old", 0.5), ("new", 0.25)):
        made = write_run(tmp_path / "templates" / name, "sweep", time_s)
        write_run(tmp_path / "out" / "earlier" / "pair-1" / name, "sweep", 16.0)
        revisions.append(revision(tmp_path / name, COPIES_A_RUN.format(run=str(made))))
    compared = compare_revisions(
        (revisions[0], revisions[1]),
        tmp_path / "sweep.toml",
        tmp_path / "out",
        only=(),
        pairs=3,
        threshold=0.03,
        tell=told.append,
    )
    assert list(compared.cases[["time_s_old", "time_s_new"]].iloc[0]) == [0.5, 0.25]
    assert told[-1] == ALL_IDENTICAL


@pytest.mark.sweep
def test_no_clone_outlives_a_comparison_that_is_ended(tmp_path: Path) -> None:
    """A signal removes clones at once; after a kill the next comparison does.  The run ends with either."""
    repository = tmp_path / "repository"
    revision(repository, WAITS.format(folder=str(tmp_path)))
    identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *identity, *words], cwd=repository, check=True)
    cache = tmp_path / "cache"
    environment = {**os.environ, "HARNESS_CACHE_DIR": str(cache), "TMPDIR": str(tmp_path)}
    words = ["compare", "--revisions", "HEAD", "HEAD", SMOKE, "--out", str(tmp_path / "results")]
    command = [sys.executable, "-P", "-m", "harness", *words]
    status_of(command, repository, environment, signal.SIGKILL, tmp_path / "started")
    assert len(list(cache.glob("revisions/.building/*/old"))) == 1
    await_end(tmp_path / "pid")
    (tmp_path / "started").unlink()
    status = status_of(command, repository, environment, signal.SIGTERM, tmp_path / "started")
    await_end(tmp_path / "pid")
    assert status == 130
    assert not list(cache.glob("revisions/.building/*"))


def test_in_a_hook_of_git_the_user_s_index_and_branch_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git tells its hooks by variables which index, and in a linked worktree which repository, is meant."""
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*words: str) -> str:
        identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=repository, check=True, capture_output=True, text=True
        )
        return done.stdout

    git("init", "--quiet", "--initial-branch", "mine")
    for number in (1, 2):
        (repository / f"file{number}").touch()
        git("add", ".")
        git("commit", "--quiet", "-m", str(number))
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(repository / ".git"))
        hook.setenv("GIT_INDEX_FILE", str(repository / ".git" / "index"))
        hook.setenv("GIT_CONFIG_COUNT", "0")
        with checked_out(("HEAD~1", "HEAD"), repository) as (old, new):
            assert [path.name for path in sorted(old.folder.glob("file*"))] == ["file1"]
            assert [path.name for path in sorted(new.folder.glob("file*"))] == ["file1", "file2"]
            assert "GIT_DIR" not in old.environment()
            assert old.environment()["GIT_CONFIG_COUNT"] == "0", "that is the user's own configuration"
    assert git("symbolic-ref", "HEAD").strip() == "refs/heads/mine"
    assert git("status", "--porcelain") == ""


def status_of(
    command: list[str], folder: Path, environment: dict[str, str], number: int, started: Path
) -> int:
    """Return the exit status of a command that gets a signal once its first run has started."""
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            await_file(started)
            process.send_signal(number)
            return process.wait(60)
        finally:
            process.kill()


def await_file(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, f"{file.name}: not there after a minute"
        time.sleep(0.05)


def await_end(file: Path) -> None:
    """Wait until the process whose number is in a file has ended."""
    deadline = time.monotonic() + 60
    while psutil.pid_exists(int(file.read_text())):
        assert time.monotonic() < deadline, "the run has not ended after a minute"
        time.sleep(0.05)
