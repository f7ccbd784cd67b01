"""Code that looks fast and is not gets no time."""

import dataclasses
import re
from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import run

from harness.results.result import Result
from harness.running.distrust import beyond_the_peak, beyond_what_passed, distrust
from harness.running.outside_clock import OutsideTimes
from harness.status import Status

SHORT, MIDDLE, LONG = 16, 64, 256
"""Sequence lengths of calls of some microseconds, of many of these, and of milliseconds."""

COMPUTES_ELSEWHERE = "|".join(
    [
        "GFLOP/s are computed",
        ": it computes there",
        ": calls leave what was computed before",
        "inputs that came after it",
    ]
)
"""On a busy machine the time outside of calls is long enough to be seen itself, or a call after it is."""

CHEATING = [
    ("caches", SHORT, "right on its first inputs, and wrong on others"),
    ("caches", LONG, "right on its first inputs, and wrong on others"),
    ("calls-it-launching", LONG, "until its output is there"),
    ("combines-when-read", SHORT, "while its outputs are read, and written anew"),
    ("computes-now-and-then", MIDDLE, "where its output was poisoned|give what was computed before"),
    ("computes-when-given", LONG, COMPUTES_ELSEWHERE),
    ("computes-when-given", MIDDLE, COMPUTES_ELSEWHERE),
    ("computes-when-poisoned", SHORT, "right on its first inputs, and wrong on others"),
    ("computes-when-poisoned", LONG, "right on its first inputs, and wrong on others"),
    ("computes-when-read-first", SHORT, "until its output is there|: it computes there"),
    ("computes-when-read-first", LONG, "until its output is there|: it computes there"),
    ("computes-when-read", SHORT, "inputs that came after it"),
    ("computes-when-read", LONG, "inputs that came after it"),
    ("keeps-probabilities", SHORT, "they give what was computed before"),
    ("patches-timer", LONG, "until its output is there"),
    ("reads-slowly", MIDDLE, "while its outputs are read|GFLOP/s are computed"),
    ("remembers", SHORT, "they give what was computed before"),
    (
        "returns-early",
        LONG,
        "until its output is there|inputs that came after it|wrong after the calls that were timed",
    ),
    ("says-milliseconds", SHORT, "ms have passed meanwhile"),
    ("says-milliseconds", LONG, "ms have passed meanwhile"),
    ("says-totals", SHORT, "ms have passed meanwhile"),
    ("shortens-samples", LONG, "until its output is there"),
]
"""Code, the length at which it is timed, and what its row says."""

Outcomes = dict[tuple[str, int], Result]


@pytest.fixture(scope="module")
def outcomes(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    timed = {(variant, seq) for variant, seq, _ in CHEATING}
    timed |= {("numpy-attention", seq) for seq in (SHORT, MIDDLE, LONG)}
    experiment = example_experiment(
        sorted({variant for variant, _ in timed}),
        problem={"seq": [SHORT, MIDDLE, LONG], "heads": 4, "head_dim": 64},
        timing={"min_sample_s": 0.001, "min_rounds": 6, "max_rounds": 6, "starts": 3, "budget_s": 60.0},
    )
    cases = [case for case in experiment.cases() if (case.variant, case.problem.seq_q) in timed]
    summary = run(experiment, tmp_path_factory.mktemp("results"), cases=cases)
    return {(row.variant, row.seq_q): row for row in summary.results}


@pytest.mark.parametrize(("variant", "seq", "reason"), CHEATING)
def test_code_that_cheats_has_no_time(outcomes: Outcomes, variant: str, seq: int, reason: str) -> None:
    row = outcomes[variant, seq]
    assert (row.status, row.time_s) == (Status.WRONG, None), row.reason
    assert re.search(reason, str(row.reason))


@pytest.mark.parametrize("seq", [SHORT, MIDDLE, LONG])
def test_honest_code_beside_it_is_timed(outcomes: Outcomes, seq: int) -> None:
    row = outcomes["numpy-attention", seq]
    assert row.status is Status.PASSED
    assert row.time_s is not None


def test_an_interrupted_run_that_has_all_rounds_is_asked_again(example_plugin: Path, tmp_path: Path) -> None:
    """What was found of a candidate is in no row yet when a run is killed after the last round."""
    experiment = example_experiment(
        ["caches", "numpy-attention"],
        problem={"seq": [SHORT], "heads": 4, "head_dim": 64},
        timing={"min_sample_s": 0.001, "min_rounds": 6, "max_rounds": 6, "starts": 3, "budget_s": 60.0},
    )
    folder = run(experiment, tmp_path).folder
    (folder / "results.jsonl").write_text("")
    (folder / "results.parquet").unlink()
    rows = {row.variant: row for row in run(experiment, tmp_path, resume=True).results}
    assert rows["caches"].status is Status.WRONG
    assert rows["numpy-attention"].status is Status.PASSED
    assert rows["numpy-attention"].samples == 6


def test_times_that_agree_are_trusted() -> None:
    assert distrust([OutsideTimes(1.2e-3, 1.5e-3)] * 3, 1.0e-3, 0.0) is None
    assert distrust([OutsideTimes(3e-6, 1e-4)] * 3, 1e-6, 0.0) is None
    assert distrust([], 1.0, 0.0) is None


def test_code_may_take_inputs_about_as_fast_as_they_are_copied_or_converted() -> None:
    honest = OutsideTimes(1e-3, 1e-3, 1e-3, give_s=4e-3, copy_s=1e-3)
    assert distrust([honest], 1e-3, 0.0) is None
    long = OutsideTimes(0.1, 0.1, 0.1, give_s=0.4, copy_s=1e-3)
    assert distrust([long], 0.1, 0.0) is None
    converting = OutsideTimes(1e-3, 1e-3, 1e-3, give_s=45e-3, copy_s=1e-3, convert_inputs_s=25e-3)
    assert distrust([converting], 1e-3, 0.0) is None
    for slow in (dataclasses.replace(honest, give_s=20e-3), dataclasses.replace(converting, give_s=60e-3)):
        found = distrust([slow], 1e-3, 0.0)
        assert found is not None
        assert "it computes there" in found.reason


def test_a_short_call_is_not_computed_while_inputs_are_taken() -> None:
    short = OutsideTimes(1e-6, 1e-6, 1e-6, give_s=100e-6, copy_s=2e-6, convert_inputs_s=10e-6)
    assert distrust([short], 1e-6, 0.0) is not None
    assert distrust([dataclasses.replace(short, give_s=40e-6)], 1e-6, 0.0) is None
    assert distrust([short], 1e-6, 0.0, is_of_device=True) is None


def test_a_workspace_as_large_for_all_problems_may_be_poisoned() -> None:
    honest = OutsideTimes(1e-5, 1e-5, 1e-5, poison_s=50e-3, copy_s=1e-6)
    assert distrust([honest], 1e-5, 0.0) is None
    found = distrust([dataclasses.replace(honest, poison_s=0.2)], 1e-5, 0.0)
    assert found is not None
    assert "it computes there" in found.reason


def test_code_may_bring_its_output_into_another_layout_and_type() -> None:
    read = OutsideTimes(1e-3, 1e-3, read_s=2e-3, copy_s=2e-5, convert_s=7e-4)
    assert distrust([read], 1e-3, 0.0) is None
    assert distrust([dataclasses.replace(read, convert_s=6e-4)], 1e-3, 0.0) is not None
    assert distrust([dataclasses.replace(read, read_s=0.9e-3, convert_s=0.0)], 1e-3, 0.0) is None


def test_a_call_after_its_output_was_poisoned_takes_no_longer_than_others() -> None:
    honest = OutsideTimes(1e-3, 1e-3, after_poison_s=1.3e-3, poison_s=1e-4)
    assert distrust([honest], 1e-3, 0.0) is None
    found = distrust([dataclasses.replace(honest, after_poison_s=7e-3)], 1e-3, 0.0)
    assert found is not None
    assert "where its output was poisoned" in found.reason


def test_nothing_is_several_times_as_fast_as_the_machine() -> None:
    assert beyond_the_peak(10**9, claimed_s=1e-2, peak_flops=9e10) is None
    found = beyond_the_peak(10**9, claimed_s=1e-3, peak_flops=9e10)
    assert found is not None
    assert "1e+03 GFLOP/s are computed, and the measured peak is 90 GFLOP/s" in found.reason


def test_one_start_among_others_that_was_disturbed_is_no_reason() -> None:
    times = [OutsideTimes(1e-3, 1e-3), OutsideTimes(9e-3, 90e-3), OutsideTimes(1e-3, 1e-3)]
    assert distrust(times, 1e-3, 0.0) is None


def test_what_a_launch_takes_besides_counts() -> None:
    times = [OutsideTimes(100e-6, 100e-6)]
    assert distrust(times, 10e-6, 80e-6) is None
    assert distrust(times, 10e-6, 0.0) is not None


@pytest.mark.parametrize(("seconds", "calls"), [(1e-3, 1), (1e-5, 100), (1.09e-5, 100)])
def test_what_says_no_more_than_has_passed_is_believed(seconds: float, calls: int) -> None:
    assert beyond_what_passed(seconds, calls, passed_s=1e-3) is None


def test_what_says_more_than_has_passed_is_not_believed() -> None:
    failure = beyond_what_passed(0.5, 1000, passed_s=0.55)
    assert failure is not None
    assert failure.status is Status.WRONG
    assert "a sample says 500 ms of 1000 calls, and 550 ms have passed meanwhile" in str(failure)
    assert beyond_what_passed(2.0, 1, passed_s=1.0) is not None
