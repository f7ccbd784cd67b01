"""The pytest plugin from the outside: `pytest --harness` as a user runs it."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sessions import CHOSEN, TINY, Session
from sweeps import sweep

from harness.cli.runs import Plan, write_junit_of
from harness.experiment.experiment import load_experiment
from harness.pytest_plugin.plugin import register

OUTCOMES = {
    "numpy-attention": "passed",
    "wrong": "failed",
    "build-error": "failed",
    "missing-dependency": "skipped",
    "build-only": "skipped",
}


@pytest.fixture(scope="module")
def session(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A case of each variant of the experiment, in a job of GitHub's."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "tiny.toml").write_text(TINY)
    (folder / "test_beside.py").write_text("def test_beside():\n    assert True\n")
    chosen = ["--harness-only", "seq=16"]
    arguments = ["--harness", "tiny.toml", *chosen, "--harness-summary", "summary.md", "-rs"]
    return Session(folder, *arguments, remembers=True, GITHUB_STEP_SUMMARY=str(folder / "step.md"))


def test_each_case_is_an_item_that_passes_fails_or_is_skipped(session: Session) -> None:
    assert session.status == 1, session.text
    assert session.outcomes == OUTCOMES
    assert len(session.items) == 5
    assert "numpy-attention:numpy-b1-h2-s16-d8-f32-full-block=64-threads=1" in session.items


def test_a_failure_says_what_harness_check_says_and_shows_no_traceback(session: Session) -> None:
    failures = [row for row in session.run.results() if row.status.is_failure]
    assert len(failures) == 2
    for row in failures:
        assert f"{row.status} in {row.phase}: {row.reason}\nrerun: {row.rerun}\n" in session.text
    assert "Traceback" not in session.text
    assert 'File "' not in session.text


def test_a_skip_says_why_and_stands_at_the_experiment(session: Session) -> None:
    line = "SKIPPED [1] tiny.toml:1: unsupported in plan: install attention-harness[baselines]"
    assert line in session.text


def test_the_rows_are_in_a_run_with_tables(session: Session) -> None:
    run = session.run
    assert len(run.results()) == 5
    assert run.manifest.planned is not None
    assert len(run.manifest.planned) == 5
    assert run.manifest.finished is not None
    assert (run.path / "results.parquet").exists()


def test_the_summary_counts_and_lists_failures_with_their_commands(session: Session) -> None:
    text = (session.folder / "summary.md").read_text()
    assert (session.folder / "step.md").read_text() == text
    assert text.startswith("## tiny: 2 of 5 cases failed\n")
    assert "| passed | 1 |" in text
    failed = [row for row in session.run.results() if row.status.is_failure]
    assert all(f"`{row.rerun}` |" in text for row in failed)
    assert "| missing-dependency | 1 | install attention-harness[baselines] |" in text


def test_junit_of_harness_check_has_the_same_names(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(session.folder)
    experiment = load_experiment("tiny.toml")
    rows = session.run.results()
    ran = [case for case in experiment.cases() if case.id in {row.case for row in rows}]
    write_junit_of(Plan(experiment, ran), rows, Path("check.xml"), False)
    names, others = (
        {(case.get("classname"), case.get("name")) for case in ElementTree.parse(file).iter("testcase")}
        for file in ("check.xml", "junit.xml")
    )
    assert len(names) == 5
    assert names == others


def test_workers_of_xdist_share_one_run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its folder lies beyond pytest's root, and is there when the workers start."""
    out = tmp_path_factory.mktemp("elsewhere") / "new"
    arguments = ["--harness-out", str(out), "--harness-summary", "summary.md"]
    chosen = ["--harness-only", "seq=16,variant=numpy-attention,build-error"]
    session = Session(folder, "-n", "2", "--harness", "tiny.toml", *chosen, *arguments)
    assert session.status == 1, session.text
    assert session.outcomes == {"numpy-attention": "passed", "build-error": "failed"}
    run = session.run_in(out / "tiny")
    written = list(run.lines())
    assert len(written) == len({row.case for row in written}) == 2
    assert "1 of 2 cases checked" in session.text
    assert re.search(f"rerun: harness check tiny.toml --only case=[0-9a-f]+ --out {out}\n", session.text)
    assert (folder / "summary.md").read_text().startswith("## tiny: 1 of 2 cases failed\n")
    assert run.manifest.finished is not None
    assert not list(run.path.glob(".expectations*"))
    assert (len(run.manifest.planned or ()), run.manifest.left_out) == (2, 8)


@pytest.mark.sweep
def test_experiments_beyond_the_root_are_told_apart(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = [tmp_path_factory.mktemp(name) / "tiny.toml" for name in ("first", "second")]
    for file, text in zip(files, (TINY, TINY.replace('"tiny"', '"other"')), strict=True):
        file.write_text(text)
    named = [word for file in files for word in ("--harness", str(file))]
    deselected = f"{files[0]}::numpy-attention:numpy-b1-h2-s16"
    chosen = ["--harness-only", "variant=numpy-attention", "--deselect", deselected]
    session = Session(folder, "-n", "2", *named, "--rootdir", str(folder), *chosen)
    assert session.status == 0, session.text
    results = folder / "results"
    assert len(session.run_in(results / "tiny").manifest.planned or ()) == 1
    assert len(session.run_in(results / "other").manifest.planned or ()) == 2


@pytest.mark.sweep
def test_times_under_xdist_are_refused(folder: Path) -> None:
    session = Session(folder, "-n", "2", "--harness", "tiny.toml", "--harness-timed")
    assert session.status == pytest.ExitCode.USAGE_ERROR
    assert "--harness-timed: found -n" in session.text


@pytest.mark.sweep
def test_keywords_marks_and_paths_select(folder: Path) -> None:
    """A test that changes to another folder moves no results."""
    (folder / "test_beside.py").write_text(CHANGES_FOLDER)
    marks = "not harness or harness(variant='numpy-attention') or harness(variant='build-only')"
    chosen = ["-k", "beside or s16 and not build", "-m", marks, "test_beside.py", "tiny.toml"]
    session = Session(folder, "--harness", "tiny.toml", "--harness-summary", "summary.md", *chosen)
    assert session.status == 0, session.text
    name = "numpy-attention:numpy-b1-h2-s16-d8-f32-full-block=64-threads=1"
    assert set(session.items) == {"test_beside", name}
    assert len(session.run.results()) == 1
    assert session.run.manifest.left_out == 9
    assert (folder / "summary.md").read_text().startswith("## tiny: 0 of 1 case failed\n")


def test_cases_that_failed_before_are_recognised(session: Session) -> None:
    listing = ["--lf", "--collect-only", "-q", "--junitxml", "listing.xml"]
    again = Session(session.folder, "--harness", "tiny.toml", *listing, remembers=True)
    failed = {name for name, outcome in session.items.items() if outcome == "failed"}
    assert set(re.findall(r"^tiny.toml::(.*)", again.text, re.MULTILINE)) == failed


@pytest.mark.sweep
@pytest.mark.parametrize("arguments", [["--harness-timed"], ["-n", "2"]])
def test_cases_that_failed_before_are_run_alone(folder: Path, arguments: list[str]) -> None:
    variants = "variant=build-error,numpy-attention"
    chosen = ["--harness", "tiny.toml", "--harness-only", "seq=16", "--harness-only", variants, *arguments]
    Session(folder, *chosen, remembers=True)
    again = Session(folder, *chosen, "--lf", remembers=True)
    assert again.outcomes == {"build-error": "failed"}, again.text


@pytest.mark.sweep
def test_what_must_be_supported_or_checked_fails(folder: Path) -> None:
    (folder / "tiny.toml").write_text(TINY + '[check]\nsupported = ["missing-dependency"]\n')
    chosen = ["-k", "(missing or build-only) and s16"]
    session = Session(folder, "--harness", "tiny.toml", "--harness-strict", *chosen)
    assert session.status == 1
    assert (
        "unsupported, but check.supported lists missing-dependency: install attention-harness[baselines]\n"
        "rerun: harness check tiny.toml --only case="
    ) in session.text
    assert "not checked: built in build: no such device" in session.text


def test_samples_are_the_statistics_of_pytest_benchmark(folder: Path) -> None:
    """Also where the project skips benchmarks."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --benchmark-skip\n")
    chosen = ["--harness-only", "seq=16", "--harness-only", "variant=numpy-attention,build-only"]
    arguments = [*chosen, "--harness-timed", "--benchmark-json", "times.json"]
    session = Session(folder, "--harness", "tiny.toml", *arguments)
    assert session.outcomes == {"numpy-attention": "passed", "build-only": "skipped"}, session.text
    (timed,) = json.loads((folder / "times.json").read_text())["benchmarks"]
    taken = [round.seconds[timed["extra_info"]["case"]][0] for round in session.run.rounds()]
    assert timed["stats"]["data"] == taken
    assert len(taken) == 3
    assert "not used" not in session.text


@pytest.mark.sweep
@pytest.mark.parametrize("how", [["--benchmark-disable"], ["-p", "no:benchmark"]])
def test_cases_are_timed_without_pytest_benchmark(folder: Path, how: list[str]) -> None:
    session = Session(folder, *CHOSEN, "--harness-timed", *how)
    assert session.status == 0, session.text
    assert all(row.time_s is not None for row in session.run.results())


CHANGES_FOLDER = "import os\n\ndef test_beside(tmp_path):\n    os.chdir(tmp_path)\n"


def test_a_bad_experiment_is_one_line_and_a_usage_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("tiny.toml").write_text(TINY.replace("build-only", "no-such-variant"))
    options = {"harness": ["tiny.toml"], "harness_out": "results", "harness_jobs": None}
    config: Any = SimpleNamespace(getoption=options.get, option=SimpleNamespace(dist="no"))
    with pytest.raises(pytest.UsageError, match=r"^harness: tiny\.toml: variants: unknown variant") as caught:
        register(config)
    assert len(caught.value.args) == 1


@pytest.mark.parametrize("arguments", sweep([[], ["-n", "2"]], but=[[]]))
@pytest.mark.parametrize("what", sweep(["results/tiny", "cache"], but=["results/tiny"]))
def test_a_folder_that_cannot_be_written_ends_a_session(
    folder: Path, arguments: list[str], what: str
) -> None:
    (folder / what).parent.mkdir(exist_ok=True)
    (folder / what).touch()
    session = Session(folder, *CHOSEN, *arguments, HARNESS_CACHE_DIR=str(folder / "cache"))
    assert session.status in (1, 2), session.text
    assert "INTERNALERROR" not in session.text
    assert re.search(rf"harness: {folder}/{what}", session.text)


@pytest.mark.sweep
def test_a_list_of_items_runs_nothing_and_leaves_nothing(folder: Path) -> None:
    session = Session(folder, "--harness", "tiny.toml", "--collect-only", "-q")
    assert session.status == 0
    assert len(re.findall(r"^tiny.toml::", session.text, re.MULTILINE)) == 10
    assert not list((folder / "results").iterdir())


def test_a_session_without_the_option_loads_nothing_of_the_harness(folder: Path) -> None:
    (folder / "test_beside.py").write_text(
        "import sys\n\ndef test_loaded():\n"
        "    loaded = {name for name in sys.modules if name.partition('.')[0] in ('harness', 'pydantic')}\n"
        "    assert loaded == {'harness', 'harness.pytest_plugin'}\n"
    )
    assert Session(folder, "-p", "no:hypothesispytest").status == 0
