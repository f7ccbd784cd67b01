"""Two revisions of a repository: what is checked out, and what is left when somebody ends a comparison."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.bench.comparing.revisions import checked_out
from harness.system.errors import InputError

HANGS = """
name = "hangs"
question = "What is left of what was ended?"
targets = ["numpy"]
variants = ["hang-build"]

[problem]
seq = 16
heads = 2
head_dim = 8
"""


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_what_git_refuses_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "bare"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    monkeypatch.setenv("LC_ALL", "C")
    with (
        pytest.raises(InputError, match=r"bare: git rev-parse says: .*work tree"),
        checked_out(("HEAD", "HEAD"), bare),
    ):
        pass


@pytest.mark.sweep
def test_no_clone_outlives_a_comparison_that_is_ended(example_plugin: Path, tmp_path: Path) -> None:
    """A signal removes clones at once; after a kill the next comparison does.  Workers end with either."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "hangs.toml").write_text(HANGS)
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "first"]):
        git(repository, *words)
    cache = tmp_path / "cache"
    environment = {**os.environ, "HARNESS_CACHE_DIR": str(cache), "TMPDIR": str(tmp_path)}
    words = ["compare", "--revisions", "HEAD", "HEAD", "hangs.toml", "--out", str(tmp_path / "results")]
    command = [sys.executable, "-P", "-m", "harness", *words]
    status_of(command, repository, environment, signal.SIGKILL)
    assert len(list(cache.glob("revisions/.building/*/old"))) == 1
    assert status_of(command, repository, environment, signal.SIGTERM) == 130
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
    assert git("symbolic-ref", "HEAD").strip() == "refs/heads/mine"
    assert git("status", "--porcelain") == ""


def status_of(command: list[str], folder: Path, environment: dict[str, str], number: int) -> int:
    """Return the exit status of a command that gets a signal once a worker builds; all workers have ended."""
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            workers = await_workers(psutil.Process(process.pid))
            process.send_signal(number)
            status = process.wait(60)
        finally:
            process.kill()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive
    return status


def await_workers(parent: psutil.Process) -> list[psutil.Process]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        below = parent.children(recursive=True)
        if any(map(is_worker, below)):
            return below
        time.sleep(0.05)
    raise AssertionError("no worker after a minute")


def is_worker(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return "harness.bench.running.worker" in process.cmdline()
    return False
