"""Figures that an earlier report has left: none shows rows that a run has no longer."""

import shutil
from pathlib import Path

import pytest
from example_results import example_manifest, example_result

from harness.__main__ import main
from harness.results.run_folder import RunFolder

TIMED = {"speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1, "baseline": "unfused", "baseline_case": "b"}
FIGURE_OF_THROUGHPUT = """
name = "sweep"
question = "Which is faster?"
variants = ["flash"]
targets = ["cpu"]

[problem]
heads = 1
seq = 16
head_dim = 16

[figures.throughput]
y = "time"
"""
FILES = {f"speedup.{ending}" for ending in ("png", "svg", "pdf", "dat")}
ALL_FORMATS = ["--format", "png", "--format", "svg", "--format", "pdf"]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a report of one figure."""
    run = RunFolder.create(tmp_path_factory.mktemp("reported"), "sweep", example_manifest())
    run.append_result(example_result("a", **TIMED))
    run.append_result(example_result("b", variant="unfused", time_s=1.0, baseline="unfused"))
    run.finish()
    assert main(["report", str(run.path), "--figure", "speedup", *ALL_FORMATS]) == 0
    return run.path


@pytest.fixture
def run(reported: Path, tmp_path: Path) -> RunFolder:
    return RunFolder.open(shutil.copytree(reported, tmp_path / reported.name))


def drawn(run: RunFolder) -> set[str]:
    return {file.name for file in (run.path / "report").glob("speedup.*")}


def without_speedups(run: RunFolder) -> None:
    run.append_result(example_result("a", time_s=0.5))
    run.finish()


def test_a_figure_that_cannot_be_drawn_any_more_leaves_no_files(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn(run) == FILES
    own = run.path / "report" / "speedup.dat"
    own.write_text("somebody's own numbers\n")
    without_speedups(run)
    main(["report", str(run.path), "--figure", "speedup"])
    assert "figure speedup: the files of an earlier report are removed" in capsys.readouterr().err
    assert drawn(run) == {own.name}


def test_a_figure_that_was_asked_for_once_goes_when_the_run_has_other_rows(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run.path / "report"
    sized = {**TIMED, "bytes": 4096, "workspace_bytes": 512}
    run.append_result(example_result("a", **sized))
    run.finish()
    assert main(["report", str(run.path), "--figure", "memory"]) == 0
    run.finish()
    assert main(["report", str(run.path)]) == 0
    assert (report / "memory.svg").exists(), "the same rows, though the manifest has another time of its end"
    run.append_result(example_result("a", **{**sized, "time_s": 0.6}))
    run.finish()
    capsys.readouterr()
    assert main(["report", str(run.path)]) == 0
    told = capsys.readouterr().err
    assert not (report / "memory.svg").exists()
    assert (report / "speedup.svg").exists()
    assert "figure memory: the files of an earlier report are removed: --figure memory draws it again" in told


def test_figures_that_somebody_collects_elsewhere_stay_and_are_told_of(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = tmp_path / "paper"
    elsewhere = ["report", str(run.path), "--out", str(paper)]
    assert main([*elsewhere, "--figure", "speedup", "--set", "title=Ours", *ALL_FORMATS]) == 0
    run.append_result(example_result("a", **{**TIMED, "time_s": 0.6}))
    run.finish()
    assert main([*elsewhere, "--figure", "throughput", "--set", "y=time"]) == 0
    assert "speedup" not in capsys.readouterr().err
    (run.path / "experiment.toml").write_text(FIGURE_OF_THROUGHPUT)
    assert main([*elsewhere, "--experiment", str(run.path / "experiment.toml")]) == 0
    told = capsys.readouterr().err
    assert "figure speedup: its files show earlier rows: --figure speedup draws it again" in told
    assert {file.name for file in paper.glob("speedup.*")} == FILES


def test_files_of_other_formats_stay_while_they_show_the_same_rows(run: RunFolder) -> None:
    again = ["report", str(run.path), "--figure", "speedup", "--format", "pdf"]
    assert main(again) == 0
    assert drawn(run) == FILES
    run.append_result(example_result("a", **{**TIMED, "time_s": 0.6}))
    run.finish()
    assert main(again) == 0
    assert drawn(run) == {"speedup.pdf", "speedup.dat"}
