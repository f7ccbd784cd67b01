"""Two revisions of a repository: what is checked out, and what is left when somebody ends a comparison."""

from pathlib import Path

import pytest
from git_repositories import git

from harness.bench.comparing.revisions import checked_out
from harness.system.errors import InputError


def test_what_git_refuses_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "bare"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    monkeypatch.setenv("LC_ALL", "C")
    with (
        pytest.raises(InputError, match=r"bare: git rev-parse says: .*work tree"),
        checked_out(("HEAD", "HEAD"), bare),
    ):
        pass


def test_in_a_hook_of_git_the_user_s_index_and_branch_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git tells its hooks by variables which index, and in a linked worktree which repository, is meant."""
    repository = tmp_path / "repository"
    repository.mkdir()

    git(repository, "init", "--quiet", "--initial-branch", "mine")
    for number in (1, 2):
        (repository / f"file{number}").touch()
        git(repository, "add", ".")
        git(repository, "commit", "--quiet", "-m", str(number))
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", str(repository / ".git"))
        hook.setenv("GIT_INDEX_FILE", str(repository / ".git" / "index"))
        hook.setenv("GIT_CONFIG_COUNT", "0")
        with checked_out(("HEAD~1", "HEAD"), repository) as (old, new):
            assert [path.name for path in sorted(old.folder.glob("file*"))] == ["file1"]
            assert [path.name for path in sorted(new.folder.glob("file*"))] == ["file1", "file2"]
    assert git(repository, "symbolic-ref", "HEAD").strip() == "refs/heads/mine"
    assert git(repository, "status", "--porcelain") == ""
