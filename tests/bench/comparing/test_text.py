"""The text of a comparison: what the headline counts, and the commands that decide what is ambiguous."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_results import example_manifest
from runs_of_cases import run_of

from harness.bench.comparing.comparison import Comparison, Outcome, compare_tables
from harness.bench.comparing.text import deciding_commands, headline
from harness.bench.comparing.verdicts import Margins
from harness.results.run_folder import RunFolder
from harness.system.status import Status


def comparison_of(cases: pd.DataFrame, runs: Any = (None, None), **others: Any) -> Comparison:
    return Comparison(runs[0], runs[1], Margins(), cases, cases[:0], cases[:0], cases[:0], (), **others)


def test_every_case_of_both_runs_is_counted_once() -> None:
    """A case for each pair of statuses, with times where it was checked in the run, or without."""
    pairs = list(itertools.product([*Status, None], repeat=2))
    old, new = (run_of(np.full(len(pairs), 1e-3), np.random.default_rng(10)) for _ in range(2))
    for table, statuses in zip((old, new), zip(*pairs, strict=True), strict=True):
        table["status"] = [Status.PASSED if status is None else status for status in statuses]
        untimed = [status is None or not status.is_checked for status in statuses]
        table.loc[untimed, ["time_s", "time_low_s", "time_high_s"]] = np.nan
    cases, _ = compare_tables(old, new)
    first, _, counts = headline(comparison_of(cases)).partition(" cases in both runs: ")
    told = re.findall(r"(\d+) [a-z]", re.sub(r"\([^)]*\)", "", counts))
    assert sum(map(int, told)) == int(first) == len(pairs)


def test_the_largest_differences_come_first() -> None:
    random, slower = np.random.default_rng(9), np.array([1.0, 1.2, 1.5, 1.3, *[1.0] * 16])
    seconds, digests = np.geomspace(1e-4, 1e-2, 20), ["baseline", *[None] * 19]
    cases, _ = compare_tables(
        run_of(seconds, random, digests=digests), run_of(seconds * slower, random, digests=digests)
    )
    slower_cases = comparison_of(cases).having(Outcome.SLOWER)
    assert list(slower_cases["case"]) == ["case000002", "case000003", "case000001"]


def ambiguous(folder: Path, made_by: tuple[str, ...] = (), **changes: Any) -> Comparison:
    """Return a comparison of two runs with one ambiguous case, timed in turn with a baseline."""
    manifest = example_manifest().model_copy(update=changes)
    runs = [RunFolder.create(folder / name, "sweep", manifest) for name in ("old", "new")]
    for run in runs:
        run.release()
    cases = pd.DataFrame(
        {"case": ["a", "b"], "outcome": ["ambiguous", "same"], "ratio": [1.02, 1.0]}
        | {"baseline_case_new": ["b", "b"]}
    )
    return comparison_of(cases, runs, made_by=made_by)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"named_by": ("experiments/sweep.toml",)}, "harness run experiments/sweep.toml"),
        (
            {"named_by": ("my sweeps/sweep.toml", "--profile", "gpu"), "git_commit": "0123"},
            "git checkout 0123 && harness run 'my sweeps/sweep.toml' --profile gpu",
        ),
        ({"named_by": ("--bundle", "built/sweep")}, "harness run --bundle built/sweep"),
    ],
)
def test_runs_are_made_again_as_they_are_named(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    comparison = ambiguous(tmp_path, **{"git_commit": None, **changes})
    assert deciding_commands(comparison) == [f"{expected} --only case=a,b"] * 2
