"""Code that looks fast and is not gets no time."""

from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import run

from harness.results.result import Result
from harness.running.outside_clock import OutsideTimes, distrust
from harness.status import Status

CHEATING = ("caches", "patches-timer", "remembers", "returns-early", "shortens-samples")
SHORT, LONG = 16, 256
"""Sequence lengths of calls of some microseconds, and of milliseconds."""

Outcomes = dict[tuple[str, int], Result]


@pytest.fixture(scope="module")
def outcomes(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    experiment = example_experiment(
        [*CHEATING, "numpy-attention"],
        problem={"seq": [SHORT, LONG], "heads": 4, "head_dim": 64},
        timing={"min_sample_s": 0.001, "min_rounds": 6, "max_rounds": 6, "starts": 3, "budget_s": 60.0},
    )
    summary = run(experiment, tmp_path_factory.mktemp("results"))
    return {(row.variant, row.seq_q): row for row in summary.results}


@pytest.mark.parametrize(
    ("variant", "seq", "reason"),
    [
        ("caches", SHORT, "right when it was checked, and wrong after the calls that were timed"),
        ("caches", LONG, "right when it was checked, and wrong after the calls that were timed"),
        ("patches-timer", LONG, "until its output is there"),
        ("remembers", SHORT, "they give what was computed before"),
        ("returns-early", LONG, "until its output is there"),
        ("shortens-samples", LONG, "until its output is there"),
    ],
)
def test_code_that_cheats_has_no_time(outcomes: Outcomes, variant: str, seq: int, reason: str) -> None:
    row = outcomes[variant, seq]
    assert (row.status, row.time_s) == (Status.WRONG, None)
    assert reason in str(row.reason)


@pytest.mark.parametrize("seq", [SHORT, LONG])
def test_honest_code_beside_it_is_timed(outcomes: Outcomes, seq: int) -> None:
    row = outcomes["numpy-attention", seq]
    assert row.status is Status.PASSED
    assert row.time_s is not None


def test_times_that_agree_are_trusted() -> None:
    assert distrust([OutsideTimes(1.2e-3, 1.5e-3)] * 3, 1.0e-3, 0.0) is None
    assert distrust([OutsideTimes(3e-6, 1e-4)] * 3, 1e-6, 0.0) is None
    assert distrust([], 1.0, 0.0) is None


def test_one_start_among_others_that_was_disturbed_is_no_reason() -> None:
    times = [OutsideTimes(1e-3, 1e-3), OutsideTimes(9e-3, 90e-3), OutsideTimes(1e-3, 1e-3)]
    assert distrust(times, 1e-3, 0.0) is None


def test_what_a_launch_takes_besides_counts() -> None:
    times = [OutsideTimes(100e-6, 100e-6)]
    assert distrust(times, 10e-6, 80e-6) is None
    assert distrust(times, 10e-6, 0.0) is not None
