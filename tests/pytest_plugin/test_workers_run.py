"""What the controller of pytest-xdist knows of the cases that its workers run."""

from pathlib import Path

import pytest
from example_results import example_result

from harness.experiment.experiment import load_experiment
from harness.pytest_plugin.items import names_of
from harness.pytest_plugin.plugin import named_among, summary_of
from harness.pytest_plugin.runs import Asked, WorkersRun
from harness.reporting.outcomes import Demands
from harness.running.runner import RunSettings

SWEEP = """
name = "sweep"
question = "Which of these is right?"
variants = ["flash"]
targets = ["cpu"]

[problem]
heads = 2
head_dim = 8
seq = [16, 24, 32]
"""


@pytest.fixture
def run(tmp_path: Path) -> WorkersRun:
    """Return the run of three cases."""
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    experiment = load_experiment(file)
    settings = RunSettings(timed=False, jobs=1)
    asked = Asked(experiment, experiment.cases(), settings, Demands(), tmp_path / "results", ["pytest"])
    return WorkersRun(asked, "sweeps/sweep.toml")


def test_cases_are_found_by_the_ids_of_their_items(run: WorkersRun) -> None:
    first, second, third = names_of(run.asked.cases)
    ids = [f"sweeps/sweep.toml::{first}", f"sweeps/sweep.toml::{second}@group", f"sweep.toml::{third}"]
    assert named_among(run, ids) == [case.id for case in run.asked.cases[:2]]


def test_cases_that_ran_without_being_known_are_counted_and_told_of(run: WorkersRun) -> None:
    """The summary is never *0 of 0* where cases ran."""
    first, second, _ = (case.id for case in run.asked.cases)
    run.open()
    run.select([first])
    assert run.folder is not None
    for case in (first, second):
        run.folder.append_result(example_result(case))
    run.close()
    assert run.folder.manifest.planned == (first, second)
    assert [row.case for row in summary_of(run).rows] == [first, second]
    (note,) = run.notes.lines
    assert note.startswith("cases that ran without being planned: 1,")
