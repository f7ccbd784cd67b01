"""`harness compare --revisions A B EXPERIMENT`: two commits of a repository, run in turn."""

import os
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from git_repositories import git
from test_compare import BASELINE, CASES, row, write

from harness.__main__ import main
from harness.bench.comparing import revisions
from harness.bench.comparing.comparison import compare_runs
from harness.bench.comparing.verdicts import Margins
from harness.results.loading import open_run

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


def test_a_slower_revision_is_found_and_its_finished_cases_are_kept(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["compare", "--revisions", "before", "HEAD", "../revisions.toml", "--budget", "1"]
    assert main([*arguments, "--only", "seq=16"]) == 1
    assert "1 case in both runs: 0 no longer right, 1 slower" in capsys.readouterr().out
    monkeypatch.setattr("os.getloadavg", lambda: (1000.0, 9.0, 5.0))
    assert main([*arguments, "--resume"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(": 1 case, timed for 1 s at most; others use this machine" in line for line in lines)
    assert sum(line.endswith("(kept)") for line in lines) == 2
    assert any(line.startswith("2 cases in both runs: 0 no longer right, 2 slower") for line in lines)
    old, new = (open_run(folder) for folder in sorted(Path("results", "revisions").glob("*/*/revisions")))
    assert old.manifest.plugin_code != new.manifest.plugin_code
    assert [(len(run.results()), len(run.manifest.parts)) for run in (old, new)] == [(2, 1), (2, 1)]
    assert not list(Path(os.environ["HARNESS_CACHE_DIR"]).glob("revisions/.building/*"))


def test_code_that_is_identical_is_not_timed(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flash.toml").write_text(
        EXPERIMENT.replace("numpy-attention", "flash").replace("numpy", "cpu")
    )
    asked = ["--revisions", "before", "same", "../flash.toml", "--only", "seq=16", "--fail-on", "ambiguous"]
    assert main(["compare", *asked]) == 0
    assert "1 same (1 of identical code, whatever was measured)" in capsys.readouterr().out
    (new,) = Path("results", "revisions").glob("*/new/revisions")
    assert [row.time_s for row in open_run(new).results()] == [None]


def test_what_decides_ambiguous_cases_asks_for_the_same(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old", BASELINE, row(CASES[1], 0.5))
    new = write(tmp_path / "new", BASELINE, row(CASES[1], 0.52, speedup_low=1.7, speedup_high=2.1))
    found = compare_runs(open_run(old), open_run(new), Margins(0.02))
    monkeypatch.setattr(revisions, "checked_out", lambda *_: nullcontext(()))
    monkeypatch.setattr(revisions, "compare_revisions", lambda *_, **__: found)
    asked = ["compare", "--revisions", "before", "HEAD", "../revisions.toml", "--out", "my results"]
    monkeypatch.setattr("sys.argv", ["harness", *asked, "--resume"])
    assert main([*asked, "--resume"]) == 0
    told = capsys.readouterr().out
    commands = [line.strip() for line in told.splitlines() if "--revisions" in line]
    assert "80 s a case instead of 20" in told
    words = ["harness", *asked, "--budget", "80", "--only", f"case={CASES[1]},{CASES[0]}"]
    assert commands == [shlex.join(words)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--revisions", "before", "nowhere", "../revisions.toml"],
            "--revisions: found 'nowhere', expected a commit, branch or tag of",
        ),
        (["--revisions", "before", "HEAD", "a", "b"], "--revisions: found 2 arguments, expected one"),
        (
            ["--revisions", "before", "HEAD", "--budget", "0", "../revisions.toml"],
            "Invalid value for '--budget': Input should be greater than or equal to 1",
        ),
        (["--budget", "4", "a", "b"], "--budget, --only, --profile and --resume: found no --revisions"),
        (["a"], "found 1 folders, expected OLD and NEW"),
        (["a", "b", "--markdown", "../revisions.toml/x.md"], "--markdown ../revisions.toml:"),
    ],
)
def test_bad_requests_are_one_line(
    repository: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["compare", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
