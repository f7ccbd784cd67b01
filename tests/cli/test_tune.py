"""`harness tune` on the command line, from an experiment to a run with the parameters that it has found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.tune import seconds_of
from harness.system.errors import InputError

EXPERIMENT = """
name = "small"
question = "How often?"
variants = ["tunable"]
targets = ["numpy"]

[problem]
seq = 128
heads = 1
head_dim = 16

[variant.tunable]
repeats = 1
trick = ["plain", "skip"]

[timing]
starts = 5
max_rounds = 10
"""


def harness(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "harness", *words]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_a_budget_has_a_unit(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-3s", "0"])
def test_what_is_no_time_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match="--budget"):
        seconds_of(text)


@pytest.mark.extra("tune")
@pytest.mark.usefixtures("example_plugin")
def test_what_is_found_is_told_and_drawn_and_what_is_wrong_does_not_win(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(EXPERIMENT)
    tuned = harness(tmp_path, "tune", "small.toml", "--budget", "60s")
    assert tuned.returncode == 0, tuned.stderr
    assert "trial   1  trick=skip  wrong:" in tuned.stderr
    assert "not kept for later runs: the experiment sets some parameters itself" in tuned.stderr
    (row,) = [line for line in tuned.stdout.splitlines() if line.startswith("tunable · numpy")]
    assert "the default wins" in row
    assert "1 built, 0 refused, 1 wrong; all was tried" in row
    (figure,) = (tmp_path / "results" / "small.tune").glob("*/report/tuning.svg")
    assert "speed-up" in figure.read_text()


@pytest.mark.usefixtures("example_plugin")
def test_tuned_parameters_that_nobody_has_found_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(EXPERIMENT.replace("repeats = 1\n", "").replace("trick", "# trick"))
    checked = harness(tmp_path, "check", "small.toml", "--params", "tuned")
    assert checked.returncode == 0, checked.stderr
    assert "no tuned parameters on this machine for 1 case" in checked.stderr
    wrong = harness(tmp_path, "check", "small.toml", "--params", "best")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "harness: --params: found \"best\", expected 'tuned' or 'default'\n",
    )
