"""Runs that go on after `[check]` has changed: what was checked with other inputs is checked again."""

from pathlib import Path
from typing import Any

import pytest
from example_cases import example_experiment
from test_runner import Quiet, run

from harness.results.run_folder import RunFolder
from harness.running.runner import RunSummary

pytestmark = pytest.mark.usefixtures("example_plugin")


def checked(out: Path, *, resume: bool, timed: bool = False, **check: Any) -> tuple[RunSummary, list[str]]:
    """Run a case whose inputs `[check]` chooses; return the run, and what it has kept."""
    observer = Quiet()
    experiment = example_experiment(["numpy-attention"], check=check)
    return run(experiment, out, observer, resume=resume, timed=timed), observer.kept_cases


@pytest.mark.parametrize("change", [{"distributions": ["normal", "large-logits"]}, {"seed": 7}])
def test_what_was_checked_with_other_inputs_is_checked_again(tmp_path: Path, change: dict[str, Any]) -> None:
    checked(tmp_path, resume=False, distributions=["normal"])
    summary, kept = checked(tmp_path, resume=True, **change)
    assert kept == []
    words = {"distributions": "normal, large-logits, seed 0", "seed": "normal, seed 7"}
    assert [row.checked_inputs for row in summary.results] == [words[next(iter(change))]]


def test_what_was_checked_with_the_same_inputs_is_kept(tmp_path: Path) -> None:
    checked(tmp_path, resume=False, distributions=["normal"])
    assert checked(tmp_path, resume=True, seed=0)[1] == ["numpy-attention"]


def test_times_of_other_inputs_do_not_count_on(tmp_path: Path) -> None:
    checked(tmp_path, resume=False, timed=True, distributions=["normal", "cancelling"])
    summary, kept = checked(tmp_path, resume=True, timed=True, distributions=["cancelling", "normal"])
    assert kept == []
    assert len({taken.group for taken in RunFolder.open(summary.folder).rounds()}) == 2
