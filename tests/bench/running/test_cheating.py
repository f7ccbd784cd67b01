"""Code that looks fast and is not gets no time."""

import re
from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import run

from harness.results.result import Result
from harness.system.status import Status

SHORT, LONG = 16, 256
"""Sequence lengths of calls of some microseconds, and of milliseconds."""

CHEATING = [
    ("caches", SHORT, "right on its first inputs, and wrong on others"),
    ("reads-slowly", LONG, "a first call on new inputs"),
    ("says-milliseconds", LONG, "have passed meanwhile"),
]
"""Code, the length at which it is timed, and what its row says."""

Outcomes = dict[tuple[str, int], Result]


@pytest.fixture(scope="module")
def outcomes(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    timed = {(variant, seq) for variant, seq, _ in CHEATING}
    timed |= {("numpy-attention", seq) for seq in (SHORT, LONG)}
    experiment = example_experiment(
        sorted({variant for variant, _ in timed}),
        problem={"seq": [SHORT, LONG], "heads": 4, "head_dim": 64},
        timing={"min_sample_s": 0.001, "min_rounds": 4, "max_rounds": 4, "starts": 1, "budget_s": 60.0},
    )
    cases = [case for case in experiment.cases() if (case.variant, case.problem.seq_q) in timed]
    summary = run(experiment, tmp_path_factory.mktemp("results"), cases=cases)
    return {(row.variant, row.seq_q): row for row in summary.results}


@pytest.mark.parametrize(("variant", "seq", "reason"), CHEATING)
def test_code_that_cheats_has_no_time(outcomes: Outcomes, variant: str, seq: int, reason: str) -> None:
    row = outcomes[variant, seq]
    assert (row.status, row.time_s) == (Status.WRONG, None), row.reason
    assert re.search(reason, str(row.reason))


@pytest.mark.parametrize("seq", [SHORT, LONG])
def test_honest_code_beside_it_is_timed(outcomes: Outcomes, seq: int) -> None:
    row = outcomes["numpy-attention", seq]
    assert row.status is Status.PASSED, row.reason
    assert row.time_s is not None


@pytest.mark.sweep
def test_an_interrupted_run_that_has_all_rounds_is_asked_again(example_plugin: Path, tmp_path: Path) -> None:
    """What was found of a candidate is in no row yet when a run is killed after the last round."""
    experiment = example_experiment(
        ["caches", "numpy-attention"],
        problem={"seq": [SHORT], "heads": 4, "head_dim": 64},
        timing={"min_sample_s": 0.001, "min_rounds": 4, "max_rounds": 4, "starts": 2, "budget_s": 60.0},
    )
    folder = run(experiment, tmp_path).folder
    (folder / "results.jsonl").write_text("")
    (folder / "results.parquet").unlink()
    rows = {row.variant: row for row in run(experiment, tmp_path, resume=True).results}
    assert rows["caches"].status is Status.WRONG
    assert rows["numpy-attention"].status is Status.PASSED
    assert rows["numpy-attention"].samples == 5
