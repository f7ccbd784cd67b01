"""`harness compare --revisions A B EXPERIMENT`: two commits of a repository, run in turn."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.__main__ import main

EXPERIMENT = """
name = "revisions"
question = "Has it become slower?"
targets = ["numpy"]
variants = ["numpy-attention"]

[problem]
seq = [16, 64]
heads = 2
head_dim = 8

[timing]
min_sample_s = 0.001
min_rounds = 6
max_rounds = 6
starts = 2
"""
SLOWER = "        for start in range(0, self.problem.seq_q, self.block):\n"


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(example_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of the example plugin, whose newest commit waits before each call; and an experiment."""
    source = Path(__file__).parents[1] / "example_plugin" / "attention_example"
    repository = tmp_path / "repository"
    shutil.copytree(source, repository / "attention_example", ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "--quiet", str(repository))
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "first")
    git(repository, "tag", "before")
    (repository / "notes.txt").write_text("nothing that is built\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "second")
    git(repository, "tag", "same")
    variant = repository / "attention_example" / "variant.py"
    variant.write_text(variant.read_text().replace(SLOWER, "        time.sleep(0.002)\n" + SLOWER))
    git(repository, "commit", "--quiet", "-am", "third")
    (tmp_path / "revisions.toml").write_text(EXPERIMENT)
    monkeypatch.chdir(repository)
    return repository


@pytest.mark.sweep
def test_a_slower_revision_is_found(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "--revisions", "before", "HEAD", "--pairs", "3", "--out", "results"]
    assert main([*arguments, "../revisions.toml"]) == 1
    out = capsys.readouterr().out
    assert "2 cases in both runs: 0 lost, 2 slower" in out
    assert "3 pairs of runs, in turn" in out
    assert len(list((repository / "results" / "revisions").glob("*/old/revisions/*/manifest.json"))) == 3
    assert not list(Path(os.environ["HARNESS_CACHE_DIR"]).glob("revisions/.building/*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--revisions", "before", "nowhere", "../revisions.toml"],
            "--revisions: 'nowhere' is no revision of",
        ),
        (["--revisions", "before", "HEAD", "a", "b"], "--revisions: found 2 arguments, expected one"),
        (
            ["--revisions", "before", "HEAD", "--pairs", "1", "../revisions.toml"],
            "--pairs: found 1, expected at",
        ),
        (["--pairs", "4", "a", "b"], "--pairs, --only and --profile: found no --revisions"),
        (["a"], "found 1 folders, expected OLD and NEW"),
    ],
)
def test_bad_requests_are_one_line(
    repository: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["compare", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_outside_of_a_repository_it_says_so(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository.parent)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repository.parent.parent))
    assert main(["compare", "--revisions", "a", "b", "revisions.toml"]) == 2
    assert "is in no git repository" in capsys.readouterr().err
