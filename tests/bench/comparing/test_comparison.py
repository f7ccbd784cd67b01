"""Two runs, case by case."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from bench.comparing.runs_of_cases import run_of
from sweeps import sweep

from harness.bench.comparing.comparison import compare_tables
from harness.bench.comparing.verdicts import Margins
from harness.results.statistics import RUN_TO_RUN

BAND = Margins(threshold=0.03, minimum_effect=0.03)

SECONDS = np.geomspace(1e-4, 1e-2, 20)
KNOWN_BASELINE = ["baseline", *(None for _ in SECONDS[1:])]


def verdicts_of(old: pd.DataFrame, new: pd.DataFrame) -> pd.Series:
    cases, _ = compare_tables(old, new, BAND)
    return cases.set_index("case")["verdict"]


def test_identical_code_is_the_same_whatever_was_measured() -> None:
    random, digests = np.random.default_rng(0), [f"code{number}" for number in range(20)]
    old = run_of(SECONDS, random, digests=digests)
    new = run_of(2 * SECONDS, random, digests=digests)
    cases, notes = compare_tables(old, new)
    assert set(cases["verdict"]) == {"same"}
    assert set(cases["how"]) == {"identical"}
    assert notes == []


@pytest.mark.parametrize("drift", sweep([0.0, 0.2, -0.2], but=[0.2]))
def test_runs_of_the_same_code_are_never_told_apart_and_a_slowdown_is_found(drift: float) -> None:
    """Fifty pairs of runs, the second on a machine that is slower or faster as a whole."""
    random, alarms, found = np.random.default_rng(1), 0, 0
    for _ in range(50):
        slowed = SECONDS.copy()
        slowed[7] *= 1.05
        old = run_of(SECONDS, random, noise=0.002, digests=KNOWN_BASELINE)
        new = run_of(slowed, random, noise=0.002, drift=drift, digests=KNOWN_BASELINE)
        verdicts = verdicts_of(old, new)
        found += verdicts["case000007"] == "slower"
        alarms += int(verdicts.drop("case000007").isin(["slower", "faster"]).sum())
    assert found >= 47
    assert alarms <= 1


def test_a_common_baseline_pairs_the_rounds_of_both_runs() -> None:
    random = np.random.default_rng(2)
    old = run_of(SECONDS, random, digests=KNOWN_BASELINE)
    new = run_of(SECONDS, random, drift=0.3, digests=KNOWN_BASELINE)
    cases, notes = compare_tables(old, new)
    assert list(cases["how"]) == ["identical", *["paired"] * 19]
    assert notes == []
    changed = run_of(SECONDS, random, digests=["another baseline", *KNOWN_BASELINE[1:]])
    cases, _ = compare_tables(old, changed)
    assert "paired" not in set(cases["how"])


def test_cases_of_identical_code_tell_what_the_runs_differ_by() -> None:
    random = np.random.default_rng(3)
    digests = [f"code{number}" if number < 10 else None for number in range(20)]
    slowed = np.where(np.arange(20) == 15, 1.2, 1.0) * SECONDS
    old = run_of(SECONDS, random, digests=digests, with_baseline=False)
    new = run_of(slowed, random, drift=0.1, digests=digests, with_baseline=False)
    cases, notes = compare_tables(old, new)
    by_case = cases.set_index("case")
    assert by_case.loc["case000015", "verdict"] == "slower"
    assert by_case.loc["case000015", "how"] == "controlled"
    assert by_case.loc["case000015", "ratio"] == pytest.approx(1.2, rel=0.03)
    assert not by_case.drop("case000015")["verdict"].isin(["slower", "faster"]).any()
    (note,) = notes
    assert note.startswith("10 cases of identical code took 1.1")
    assert "(cpu, a processor)" in note


@pytest.mark.parametrize("controls", sweep([3, 4, 12], but=[3]))
def test_intervals_know_how_little_few_controls_tell(controls: int) -> None:
    """Each case of equal codes takes another time in each run, and times within a run scatter by little."""
    random, seconds = np.random.default_rng(12), np.full(controls + 20, 1e-3)
    digests = [f"code{number}" if number < controls else None for number in range(controls + 20)]
    holds, alarms = [], 0
    for _ in range(60):
        old, new = (
            run_of(
                seconds * np.exp(0.04 * random.standard_normal(len(seconds))),
                random,
                noise=5e-3,
                digests=digests,
                with_baseline=False,
            )
            for _ in range(2)
        )
        cases, _ = compare_tables(old, new)
        judged = cases[cases["how"] == "controlled"]
        holds += list((judged["low"] <= 1) & (judged["high"] >= 1))
        alarms += bool(judged["verdict"].isin(["slower", "faster"]).any())
    assert 0.92 <= np.mean(holds) <= 0.99
    assert alarms <= 6


@pytest.mark.parametrize(
    "other",
    [
        {"device": "a GPU", "target": "cpu"},
        {"device": "a processor", "target": "cpu:avx2"},
        {"device": "a processor", "target": "cpu", "threads": 4},
    ],
)
def test_what_drifts_elsewhere_is_not_taken_off(other: dict[str, Any]) -> None:
    """Ten cases take as long as before; ten of another kind drift by a fifth, nine of which are controls."""
    random, digests = np.random.default_rng(11), [*(f"code{number}" for number in range(9)), *[None] * 11]
    old, new = (run_of(SECONDS, random, noise=1e-4, digests=digests, with_baseline=False) for _ in range(2))
    for table in (old, new):
        table["threads"] = 1
        for name, value in other.items():
            table.loc[:9, name] = value
    drifting = ["time_s", "time_low_s", "time_high_s"]
    new.loc[:9, drifting] *= 0.8
    cases, notes = compare_tables(old, new)
    assert list(cases["how"]) == [*["identical"] * 9, "controlled", *["apart"] * 10]
    assert cases["ratio"].to_numpy() == pytest.approx(1.0, rel=2e-3)
    assert not cases["verdict"].isin(["slower", "faster"]).any()
    controlled, apart = notes
    assert controlled.startswith("9 cases of identical code took 0.8")
    assert apart.startswith("nothing says how the machine was in both runs (cpu, threads=1, a processor)")


def test_without_anything_in_common_errors_are_wide() -> None:
    random = np.random.default_rng(4)
    old, new = (run_of(SECONDS, random, noise=1e-4, with_baseline=False) for _ in range(2))
    cases, (note,) = compare_tables(old, new)
    assert set(cases["verdict"]) == {"ambiguous"}
    assert np.log(cases["high"] / cases["ratio"]).min() == pytest.approx(1.96 * RUN_TO_RUN, rel=1e-3)
    assert "3 % are added" in note


def test_times_of_another_device_are_not_compared() -> None:
    random = np.random.default_rng(6)
    old, new = (run_of(SECONDS, random, digests=KNOWN_BASELINE) for _ in range(2))
    new.loc[:9, "device"] = "another processor"
    cases, _ = compare_tables(old, new)
    assert cases["verdict"].isna().sum() == 10


def test_cases_of_one_run_are_left_out_whatever_their_order() -> None:
    random = np.random.default_rng(8)
    old, new = (run_of(SECONDS, random, digests=KNOWN_BASELINE) for _ in range(2))
    new["batch"] = np.arange(len(new))
    shuffled = new.iloc[[5, 0, 3, 5]].assign(reason=["first", None, None, "last"])
    cases, _ = compare_tables(old, shuffled)
    assert list(cases["case"]) == ["case000000", "case000003", "case000005"]
    assert list(cases["batch"]) == [0, 3, 5]
    assert list(cases["time_s_new"]) == list(new["time_s"].iloc[[0, 3, 5]])
    assert list(cases["time_s_old"]) == list(old["time_s"].iloc[[0, 3, 5]])
    assert cases["reason_new"].iloc[2] == "last"
