"""The commands that decide what is ambiguous: which experiment they name, and how runs are made again."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from example_results import example_manifest

from harness.bench.comparing.comparison import Comparison
from harness.bench.comparing.deciding import deciding_commands
from harness.results.run_folder import RunFolder


def ambiguous(folder: Path, made_by: tuple[str, ...] = (), **told: Any) -> Comparison:
    """Return a comparison of two runs with one ambiguous case, timed in turn with a baseline."""
    runs = [
        RunFolder.create(folder / name, "sweep", example_manifest().model_copy(update=told))
        for name in ("old", "new")
    ]
    for run in runs:
        run.release()
    cases = pd.DataFrame(
        {"case": ["a", "b"], "verdict": ["ambiguous", "same"], "ratio": [1.02, 1.0]}
        | {"baseline_case_new": ["b", "b"]}
    )
    return Comparison(runs[0], runs[1], 0.03, cases, cases[:0], cases[:0], cases[:0], (), made_by)


@pytest.mark.parametrize(
    ("named_by", "named"),
    [
        (("experiments/sweep.toml",), "experiments/sweep.toml"),
        (("my sweeps/sweep.toml", "--profile", "gpu"), "'my sweeps/sweep.toml' --profile gpu"),
        (("--bundle", "built/sweep"), "--bundle built/sweep"),
    ],
)
def test_the_cases_are_named_as_the_run_notes_it(
    tmp_path: Path, named_by: tuple[str, ...], named: str
) -> None:
    told = {"command": "harness run --out sweep.toml x.toml", "source_name": "sweep.toml", "git_commit": None}
    comparison = ambiguous(tmp_path, named_by=named_by, profile="gpu", **told)
    assert deciding_commands(comparison, 5) == [f"harness run {named} --only case=a,b"] * 2


def test_runs_in_turn_are_made_again_by_the_command_that_made_them(tmp_path: Path) -> None:
    made_by = ("harness", "compare", "--revisions", "v1", "HEAD", "experiments/sweep.toml", "--pairs", "12")
    assert deciding_commands(ambiguous(tmp_path, made_by), 5) == [
        "harness compare --revisions v1 HEAD experiments/sweep.toml --pairs 12 --only case=a,b"
    ]


def test_nothing_is_to_be_decided_where_nothing_is_ambiguous(tmp_path: Path) -> None:
    comparison = ambiguous(tmp_path)
    comparison.cases["verdict"] = "same"
    assert deciding_commands(comparison, 5) == []
