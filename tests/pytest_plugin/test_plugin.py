"""The pytest plugin from the outside: `pytest --harness` as a user runs it."""

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from sessions import CHOSEN, TINY, Session
from sweeps import sweep

OUTCOMES = {
    "numpy-attention": "passed",
    "wrong": "failed",
    "build-error": "failed",
    "missing-dependency": "skipped",
    "build-only": "skipped",
}


@pytest.fixture(scope="module")
def session(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """All cases of the experiment, in a job of GitHub's."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "tiny.toml").write_text(TINY)
    (folder / "test_beside.py").write_text("def test_beside():\n    assert True\n")
    arguments = ["--harness", "tiny.toml", "--harness-summary", "summary.md", "-rs"]
    return Session(folder, *arguments, GITHUB_STEP_SUMMARY=str(folder / "step.md"))


def test_each_case_is_an_item_that_passes_fails_or_is_skipped(session: Session) -> None:
    assert session.status == 1, session.text
    assert session.outcomes == OUTCOMES
    assert len(session.items) == 10
    assert "numpy-attention[numpy-b1-h2-s16-d8-f32-full-block=64-threads=1]" in session.items


def test_a_failure_says_what_harness_check_says_and_shows_no_traceback(session: Session) -> None:
    failures = [row for row in session.run.results() if row.status.is_failure]
    assert len(failures) == 4
    for row in failures:
        assert f"{row.status} in {row.phase}: {row.reason}\nrerun: {row.rerun}\n" in session.text
    assert "Traceback" not in session.text
    assert 'File "' not in session.text


def test_a_skip_says_why_and_stands_at_the_experiment(session: Session) -> None:
    line = "SKIPPED [2] tiny.toml:0: unsupported in plan: install attention-harness[baselines]"
    assert line in session.text


def test_the_rows_are_in_a_run_with_tables(session: Session) -> None:
    run = session.run
    assert len(run.results()) == 10
    assert run.manifest.planned is not None
    assert len(run.manifest.planned) == 10
    assert run.manifest.finished is not None
    assert (run.path / "results.parquet").exists()


def test_the_summary_counts_and_lists_failures_with_their_commands(session: Session) -> None:
    text = (session.folder / "summary.md").read_text()
    assert (session.folder / "step.md").read_text() == text
    assert text.startswith("## tiny: 4 of 10 cases failed\n")
    assert "| passed | 2 |" in text
    failed = [row for row in session.run.results() if row.status.is_failure]
    assert all(f"`{row.rerun}` |" in text for row in failed)
    assert "| missing-dependency | 2 | install attention-harness[baselines] |" in text


def test_junit_has_the_time_that_a_case_took_and_its_id(session: Session) -> None:
    rows = {row.case: row for row in session.run.results()}
    for case in ElementTree.parse(session.folder / "junit.xml").getroot().iter("testcase"):
        properties = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
        row = rows[properties["case"]]
        assert properties["status"] == row.status
        assert float(case.attrib["time"]) >= (row.elapsed_s or 0) - 1e-3


def test_workers_of_xdist_share_one_run_and_build_each_case_once(folder: Path) -> None:
    session = Session(folder, "-n", "2", "--harness", "tiny.toml")
    assert session.status == 1, session.text
    assert session.outcomes == OUTCOMES
    written = list(session.run.lines())
    assert len(written) == len({row.case for row in written}) == 10
    assert "4 of 10 cases checked" in session.text
    assert session.run.manifest.finished is not None
    assert not list(session.run.path.glob(".expectations*"))
    planned = session.run.manifest.planned
    assert planned is not None
    assert (len(planned), session.run.manifest.left_out) == (10, 0)


@pytest.mark.sweep
def test_an_experiment_beyond_the_root_has_all_its_cases_planned(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = shutil.move(folder / "tiny.toml", tmp_path_factory.mktemp("elsewhere") / "tiny.toml")
    session = Session(folder, "-n", "2", "--harness", str(file), "--rootdir", str(folder))
    assert (len(session.run.manifest.planned or ()), session.run.manifest.left_out) == (10, 0)


def test_results_in_a_new_folder_beyond_the_root_have_their_cases_planned(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The folder is there when the workers start, whose root is then above both."""
    out = tmp_path_factory.mktemp("elsewhere") / "new"
    summary = ["--harness-summary", "summary.md", "--harness-only", "seq=16"]
    session = Session(folder, "-n", "2", "--harness", "tiny.toml", "--harness-out", str(out), *summary)
    manifest = session.run_in(out / "tiny").manifest
    assert (len(manifest.planned or ()), manifest.left_out) == (5, 5)
    assert (folder / "summary.md").read_text().startswith("## tiny: 2 of 5 cases failed\n")
    assert "2 of 5 cases checked" in session.text


def test_experiments_beyond_the_root_are_told_apart(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = [tmp_path_factory.mktemp(name) / "tiny.toml" for name in ("first", "second")]
    for file, text in zip(files, (TINY, TINY.replace('"tiny"', '"other"')), strict=True):
        file.write_text(text)
    named = [word for file in files for word in ("--harness", str(file))]
    chosen = [
        "--harness-only",
        "variant=numpy-attention",
        "--deselect",
        f"{files[0]}::numpy-attention[numpy-b1-h2-s16",
    ]
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


def test_keywords_and_marks_select(folder: Path) -> None:
    chosen = "harness(variant='numpy-attention') or harness(variant='build-only')"
    session = Session(folder, "--harness", "tiny.toml", "-k", "s16 and not build", "-m", chosen)
    assert session.status == 0, session.text
    assert list(session.items) == ["numpy-attention[numpy-b1-h2-s16-d8-f32-full-block=64-threads=1]"]
    assert len(session.run.results()) == 1
    assert session.run.manifest.left_out == 9


@pytest.mark.parametrize(
    "arguments", sweep([[], ["--harness-timed"], ["-n", "2"]], but=[["--harness-timed"]])
)
def test_cases_that_failed_before_are_recognised(folder: Path, arguments: list[str]) -> None:
    chosen = ["--harness", "tiny.toml", "--harness-only", "seq=16", *arguments]
    first = Session(folder, *chosen, remembers=True)
    failed = {name for name, outcome in first.items.items() if outcome == "failed"}
    assert len(failed) == 2, first.text
    first_ones = list(Session(folder, *chosen, "--ff", remembers=True).items)[:2]
    assert set(first_ones) == failed or "-n" in arguments
    assert set(Session(folder, *chosen, "--lf", remembers=True).items) == failed


def test_a_session_step_by_step_goes_on_where_the_last_one_failed(folder: Path) -> None:
    chosen = ["--harness", "tiny.toml", "--harness-only", "seq=16", "--sw"]
    first = Session(folder, *chosen, remembers=True)
    assert first.items["numpy-attention[numpy-b1-h2-s16-d8-f32-full-block=64-threads=1]"] == "passed"
    assert list(first.items.values()).count("failed") == 1
    assert Session(folder, *chosen, remembers=True).outcomes == {"wrong": "failed"}


@pytest.mark.sweep
def test_paths_are_run_beside_the_cases_and_items_are_chosen_by_their_ids(folder: Path) -> None:
    paths = ["test_beside.py", "tiny.toml::missing-dependency"]
    session = Session(folder, "--harness", "tiny.toml", *paths)
    assert session.status == 0, session.text
    assert session.outcomes == {"test_beside": "passed", "missing-dependency": "skipped"}


def test_a_variant_that_cannot_be_imported_fails_beside_one_that_passes(folder: Path) -> None:
    text = TINY.replace('"missing-dependency"', '"missing-dependency", "not-importable"')
    (folder / "tiny.toml").write_text(text)
    session = Session(folder, "--harness", "tiny.toml", "-k", "(missing or importable or numpy-att) and s16")
    assert session.status == 1
    assert session.outcomes == {
        "numpy-attention": "passed",
        "missing-dependency": "skipped",
        "not-importable": "failed",
    }
    assert "cannot be imported: No module named 'a_package_that_is_not_installed'" in session.text


def test_what_must_be_supported_fails(folder: Path) -> None:
    (folder / "tiny.toml").write_text(TINY + '[check]\nsupported = ["missing-dependency"]\n')
    session = Session(folder, "--harness", "tiny.toml", "-k", "missing and s16")
    assert session.status == 1
    assert (
        "unsupported, but check.supported lists missing-dependency: install attention-harness[baselines]\n"
        "rerun: harness check tiny.toml --only case="
    ) in session.text


@pytest.mark.sweep
def test_strict_lets_nothing_be_left_unchecked(folder: Path) -> None:
    session = Session(folder, "--harness", "tiny.toml", "--harness-strict", "-k", "build-only and s16")
    assert session.status == 1
    assert "not checked: built in build: no such device" in session.text


def test_the_samples_of_the_harness_are_the_statistics_of_pytest_benchmark(folder: Path) -> None:
    arguments = ["--harness-timed", "--harness-only", "seq=16", "--benchmark-json", "times.json"]
    session = Session(folder, "--harness", "tiny.toml", *arguments)
    assert session.outcomes == OUTCOMES, session.text
    (timed,) = json.loads((folder / "times.json").read_text())["benchmarks"]
    taken = [round.seconds[timed["extra_info"]["case"]][0] for round in session.run.rounds()]
    assert timed["stats"]["data"] == taken
    assert len(taken) == 3
    assert "not used" not in session.text


BENCHMARK = "def test_benchmark(benchmark):\n    benchmark(lambda: None)\n"


def test_times_that_are_asked_for_are_taken_where_the_project_skips_benchmarks(folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --benchmark-skip\n")
    (folder / "test_benchmark.py").write_text(BENCHMARK)
    chosen = [
        "--harness-only",
        "variant=numpy-attention",
        "--harness-only",
        "seq=16",
        "tiny.toml",
        "test_benchmark.py",
    ]
    arguments = ["--harness-timed", "--harness-strict", "--benchmark-json", "times.json", "-rs"]
    session = Session(folder, "--harness", "tiny.toml", *arguments, *chosen)
    assert session.status == 0, session.text
    assert session.outcomes == {"numpy-attention": "passed", "test_benchmark": "skipped"}
    assert "Skipping benchmark (--benchmark-skip active)" in session.text
    (timed,) = json.loads((folder / "times.json").read_text())["benchmarks"]
    assert timed["name"].startswith("numpy-attention")


def test_where_pytest_benchmark_is_disabled_times_are_in_the_run_and_that_is_said(folder: Path) -> None:
    arguments = ["--harness-timed", "--benchmark-disable", "--harness-only", "variant=numpy-attention"]
    session = Session(folder, "--harness", "tiny.toml", *arguments)
    assert session.status == 0, session.text
    assert all(row.time_s is not None for row in session.run.results())
    assert session.text.count("pytest-benchmark is disabled (--benchmark-disable") == 1


SKIPS = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if "s16" in item.name:
            item.add_marker(pytest.mark.skip(reason="not today"))
"""
NEVER_RUN = """
def pytest_runtest_protocol(item):
    return "s16" in item.name or None
"""


@pytest.mark.parametrize("arguments", sweep([[], ["-n", "2"], ["--harness-timed"]], but=[["-n", "2"]]))
def test_strict_fails_what_others_skip(folder: Path, arguments: list[str]) -> None:
    (folder / "conftest.py").write_text(SKIPS)
    session = Session(folder, *CHOSEN, "--harness-strict", *arguments)
    assert session.status == 1, session.text
    assert sorted(session.items.values()) == ["failed", "passed"]
    assert re.search(r"not checked: .*not today\nrerun: harness check tiny.toml --only case=", session.text)


def test_strict_ends_with_a_failure_where_a_case_is_never_run(folder: Path) -> None:
    (folder / "conftest.py").write_text(NEVER_RUN)
    session = Session(folder, *CHOSEN, "--harness-strict", "--harness-summary", "summary.md", "-k", "s16")
    assert session.status == 1, session.text
    assert "0 of 1 case checked, 1 not run" in session.text
    assert (folder / "summary.md").read_text().startswith("## tiny: 1 of 1 case failed\n")


def test_cases_that_others_skip_are_counted(folder: Path) -> None:
    (folder / "conftest.py").write_text(SKIPS)
    session = Session(folder, *CHOSEN, "-k", "s16")
    assert session.status == 0, session.text
    assert "0 of 1 case checked, 1 not run" in session.text


def test_only_benchmarks_skips_cases_that_are_none(folder: Path) -> None:
    session = Session(folder, "--harness", "tiny.toml", "--harness-only", "seq=16", "--benchmark-only", "-rs")
    assert "INTERNALERROR" not in session.text
    assert session.status == 0, session.text
    assert "Skipping non-benchmark (--benchmark-only active)" in session.text
    assert set(session.outcomes.values()) == {"skipped"}


@pytest.mark.parametrize("arguments", sweep([[], ["-p", "no:benchmark"]], but=[["-p", "no:benchmark"]]))
def test_cases_are_not_timed_unless_asked_or_are_without_pytest_benchmark(
    folder: Path, arguments: list[str]
) -> None:
    timed = ["--harness-timed"] if arguments else []
    chosen = ["--harness-only", "variant=numpy-attention", "--harness-only", "seq=16"]
    session = Session(folder, *arguments, *timed, "--harness", "tiny.toml", *chosen)
    assert session.status == 0, session.text
    (row,) = session.run.results()
    assert (row.time_s is not None) == bool(timed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name =", "tiny.toml: not valid TOML"),
        (TINY.replace("build-only", "no-such-variant"), "tiny.toml: variants"),
    ],
)
def test_a_bad_experiment_is_one_line_and_a_usage_error(folder: Path, text: str, message: str) -> None:
    (folder / "tiny.toml").write_text(text)
    session = Session(folder, "--harness", "tiny.toml")
    assert session.status == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in session.text.splitlines() if line)
    assert line.startswith(f"ERROR: harness: {message}")


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
