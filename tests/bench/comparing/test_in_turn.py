"""Verdicts over pairs of runs that took turns."""

import numpy as np
import pandas as pd
import pytest
from runs_of_cases import run_of

from harness.bench.comparing.comparison import add_outcomes, compare_tables
from harness.bench.comparing.in_turn import is_all_identical, of_pairs

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


def come_to(pair: pd.DataFrame, place: int, old: str, new: str) -> None:
    """Let a case come to statuses of which not both are right."""
    for name, status in (("was_checked", old), ("is_checked", new)):
        pair.loc[place, name] = status == "passed"
    pair.loc[place, ["status_old", "status_new"]] = [old, new]
    pair.loc[place, ["time_s_old", "time_s_new", "ratio"]] = np.nan
    pair.loc[place, "verdict"] = None
    pair.loc[place, "how"] = ""
    add_outcomes(pair)


def test_a_case_that_is_wrong_in_one_pair_is_lost() -> None:
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=3)
    come_to(pairs[0], 5, "passed", "wrong")
    pairs[0].loc[5, "reason_new"] = "row 3"
    cases = of_pairs(pairs, 0.03)
    assert list(np.flatnonzero(cases["outcome"] == "no longer right")) == [5]
    assert (cases.loc[5, "status_new"], cases.loc[5, "reason_new"]) == ("wrong", "row 3")
    assert pd.isna(cases.loc[5, "verdict"])
    assert cases["verdict"].drop(5).notna().all()


@pytest.mark.parametrize("new", ["wrong", "passed"])
def test_a_failure_of_the_old_code_in_one_pair_hides_no_regression(new: str) -> None:
    factors = np.ones(40)
    factors[5] = 1.5
    pairs = pairs_of(np.random.default_rng(3), factors, count=4)
    come_to(pairs[-1], 5, "wrong", new)
    case = of_pairs(pairs, 0.03).loc[5]
    assert (case["outcome"], case["how"]) == ("slower", "in turn, 3 of 4 pairs")


@pytest.mark.parametrize("is_right", ["old", "new"])
def test_code_that_failed_once_is_not_taken_for_identical(is_right: str) -> None:
    run = run_of(SECONDS, np.random.default_rng(4), digests=["code"] * 40)
    cases = compare_tables(run, run)[0]
    come_to(cases, 5, *("passed" if name == is_right else "wrong" for name in ("old", "new")))
    cases.loc[5, "binary_digest_new"] = "other code"
    assert not is_all_identical(cases)


def test_a_case_of_too_few_pairs_is_ambiguous_with_its_ratio() -> None:
    """The last pair lacks it, or an earlier one failed."""
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=4)
    come_to(pairs[0], 5, "out-of-memory", "passed")
    for pair, ratio in zip(pairs[1:], (1.0, 4.0, 4.0), strict=True):
        pair.loc[5, ["ratio", "time_s_old", "time_s_new"]] = (ratio, 1.0, ratio)
    pairs[-1] = pairs[-1].drop(5)
    case = of_pairs(pairs, 0.03).loc[5]
    assert (case["outcome"], case["how"]) == ("ambiguous", "in turn, 2 of 4 pairs")
    assert list(case[["ratio", "time_s_old", "time_s_new"]]) == pytest.approx([2.0, 1.0, 2.0])
    assert case[["low", "high"]].isna().all()


@pytest.mark.parametrize(
    ("others", "outcome"),
    [
        (("unsupported", "unsupported"), "failing now"),
        (("unsupported", "passed"), "failing now"),
        (("wrong", "passed"), "right now"),
        (("wrong", "wrong"), "failed in both runs"),
    ],
)
def test_a_failure_of_the_new_code_in_one_pair_is_told(others: tuple[str, str], outcome: str) -> None:
    pairs = pairs_of(np.random.default_rng(3), np.ones(40), count=3)
    for pair in pairs:
        come_to(pair, 5, *others)
    come_to(pairs[1], 5, others[0], "wrong")
    assert of_pairs(pairs, 0.03).loc[5, "outcome"] == outcome


def test_code_that_is_identical_needs_no_turns():
    run = run_of(SECONDS, np.random.default_rng(4), digests=["code"] * 40)
    cases = compare_tables(run, run)[0]
    assert is_all_identical(cases)
    assert set(of_pairs([cases] * 3, 0.03)["verdict"]) == {"same"}
    assert not is_all_identical(cases.iloc[:0])
