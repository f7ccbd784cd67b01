"""Verdicts over pairs of runs that took turns."""

import numpy as np
import pandas as pd
import pytest
from runs_of_cases import run_of

from harness.bench.comparing.comparison import compare_tables
from harness.bench.comparing.in_turn import is_all_identical, notes_of_pairs, of_pairs

SECONDS = np.full(40, 1e-3)


def pairs_of(random: np.random.Generator, factors: np.ndarray, count: int = 6) -> list[pd.DataFrame]:
    """Compare runs of two codes pair by pair, on a machine that is another one each time."""
    pairs = []
    for _ in range(count):
        old, new = (
            run_of(seconds, random, drift=0.1 * random.standard_normal(), noise=0.01)
            for seconds in (SECONDS, SECONDS * factors)
        )
        for run in (old, new):  # the baseline alone is the same
            run["binary_digest"] = ["code", *[None] * (len(run) - 1)]
        pairs.append(compare_tables(old, new, 0.03)[0])
    return pairs


def verdicts_of(pairs: list[pd.DataFrame]) -> pd.Series:
    cases = of_pairs(pairs, 0.03)
    return cases[cases["how"] == "in turn"]["verdict"]


def test_equal_code_is_the_same_or_ambiguous():
    random = np.random.default_rng(1)
    found = pd.concat([verdicts_of(pairs_of(random, np.ones(40))) for _ in range(5)])
    assert len(found) == 5 * 39
    assert found.isin(["same", "ambiguous"]).mean() >= 0.98
    assert (found == "same").mean() > 0.5


def test_a_slowdown_is_found_and_how_large_it_is():
    factors = np.where(np.arange(40) % 4 == 3, 1.08, 1.0)
    cases = of_pairs(pairs_of(np.random.default_rng(2), factors), 0.03)
    slowed = cases[factors != 1]
    assert (slowed["verdict"] == "slower").mean() >= 0.9
    assert slowed["ratio"].mean() == pytest.approx(1.08, abs=0.01)
    assert not (cases[factors == 1]["verdict"] == "slower").any()


def test_times_are_those_of_all_pairs_as_ratios_are():
    pairs = pairs_of(np.random.default_rng(4), np.full(40, 1.2), count=4)
    for number, pair in enumerate(pairs):
        pair[["time_s_old", "time_s_new"]] = (1e-3 * 2**number, 3e-3 * 2**number)
    cases = of_pairs(pairs, 0.03)
    judged = cases[cases["how"] == "in turn"]
    assert np.allclose(judged["time_s_old"], 1e-3 * 2**1.5)
    assert np.allclose(judged["time_s_new"], 3e-3 * 2**1.5)


def test_a_case_that_is_wrong_in_one_pair_is_lost_as_it_was_there():
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=3)
    pairs[0].loc[5, "is_checked"] = False
    pairs[0].loc[5, ["status_new", "reason_new"]] = ["wrong", "row 3"]
    pairs[0].loc[5, ["time_s_new", "ratio"]] = np.nan
    cases = of_pairs(pairs, 0.03)
    assert list(np.flatnonzero(~cases["is_checked"])) == [5]
    lost = cases.loc[5]
    assert (lost["status_old"], lost["status_new"], lost["reason_new"]) == ("passed", "wrong", "row 3")
    assert pd.isna(lost["verdict"])
    assert lost["how"] == ""
    assert cases["verdict"].drop(5).notna().all()


def fail(pair: pd.DataFrame, place: int, **is_right: bool) -> None:
    """Let a case fail in the runs of a pair in which it is not said to be right."""
    for name in ("was_checked", "is_checked"):
        pair.loc[place, name] = is_right.get(name, False)
    pair.loc[place, ["time_s_old", "time_s_new", "ratio"]] = np.nan
    pair.loc[place, "verdict"] = None
    pair.loc[place, "how"] = ""


@pytest.mark.parametrize("is_right", [{}, {"is_checked": True}])
def test_a_failure_of_the_old_code_in_the_last_pair_hides_no_regression(is_right: dict[str, bool]) -> None:
    factors = np.ones(40)
    factors[5] = 1.5
    pairs = pairs_of(np.random.default_rng(3), factors, count=4)
    fail(pairs[-1], 5, **is_right)
    cases = of_pairs(pairs, 0.03)
    assert list(cases["case"]) == list(pairs[-1]["case"])
    assert cases["verdict"][5] == "slower"
    assert (cases["was_checked"] & cases["is_checked"]).all()


def test_a_case_that_no_pair_has_checked_in_both_runs_has_no_verdict() -> None:
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=4)
    for pair in pairs:
        fail(pair, 5, is_checked=True)
    assert list(np.flatnonzero(of_pairs(pairs, 0.03)["verdict"].isna())) == [5]


@pytest.mark.parametrize("is_right", [{"is_checked": True}, {"was_checked": True}])
def test_code_that_failed_once_is_not_taken_for_identical(is_right: dict[str, bool]) -> None:
    run = run_of(SECONDS, np.random.default_rng(4), digests=["code"] * 40)
    cases = compare_tables(run, run)[0]
    fail(cases, 5, **is_right)
    cases.loc[5, "binary_digest_new"] = "other code"
    assert not is_all_identical(cases)


def come_to(pair: pd.DataFrame, place: int, old: str, new: str) -> None:
    """Let a case come to statuses of which not both are right."""
    fail(pair, place, was_checked=old == "passed", is_checked=new == "passed")
    pair.loc[place, ["status_old", "status_new"]] = [old, new]


def test_a_case_of_too_few_pairs_is_ambiguous_and_told_with_its_ratio() -> None:
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=3)
    come_to(pairs[0], 5, "out-of-memory", "passed")
    for pair, ratio in zip(pairs[1:], (1.0, 4.0), strict=True):
        pair.loc[5, ["ratio", "time_s_old", "time_s_new"]] = (ratio, 1.0, ratio)
    case = of_pairs(pairs, 0.03).loc[5]
    assert (case["verdict"], case["how"]) == ("ambiguous", "in turn, too few pairs: 2 of 3")
    assert list(case[["ratio", "time_s_old", "time_s_new"]]) == pytest.approx([2.0, 1.0, 2.0])
    assert case[["low", "high"]].isna().all()


@pytest.mark.parametrize(
    ("others", "found"),
    [
        (("unsupported", "unsupported"), "unsupported"),
        (("unsupported", "passed"), "unsupported"),
        (("wrong", "passed"), "wrong"),
    ],
)
def test_a_failure_of_the_new_code_in_one_pair_is_told(others: tuple[str, str], found: str) -> None:
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=3)
    for pair in pairs:
        come_to(pair, 5, *others)
    come_to(pairs[1], 5, others[0], "wrong")
    case = of_pairs(pairs, 0.03).loc[5]
    assert (case["status_old"], case["status_new"]) == (found, "wrong")
    assert not case["is_checked"]


def test_a_failure_of_both_codes_counts_where_other_pairs_are_too_few_and_is_noted_elsewhere() -> None:
    for count, status in ((3, "crashed"), (4, "passed")):
        pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=count)
        come_to(pairs[0], 5, "wrong", "crashed")
        cases = of_pairs(pairs, 0.03)
        assert cases["status_new"][5] == status
        what = "cases that failed in both runs of a pair, and were right in both of another"
        noted = [f"{what}: case000005 (1 of 4 pairs)"]
        assert notes_of_pairs(pairs, cases) == (noted if count == 4 else [])


def test_a_case_that_the_last_pair_lacks_is_kept_and_noted() -> None:
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=3)
    pairs[-1] = pairs[-1].drop(5)
    cases = of_pairs(pairs, 0.03)
    (kept,) = cases[cases["case"] == "case000005"]["how"]
    assert kept == "in turn, too few pairs: 2 of 3"
    assert notes_of_pairs(pairs, cases) == ["cases that are missing from a run: case000005 (1 of 3 pairs)"]


def test_code_that_is_identical_needs_no_turns():
    run = run_of(SECONDS, np.random.default_rng(4), digests=["code"] * 40)
    cases = compare_tables(run, run)[0]
    assert is_all_identical(cases)
    assert set(of_pairs([cases] * 3, 0.03)["verdict"]) == {"same"}
    assert not is_all_identical(cases.iloc[:0])
