"""Verdicts of many cases at once."""

import numpy as np
import pytest
from sweeps import sweep

from harness.bench.comparing.verdicts import (
    Margins,
    joint_degrees,
    least_findable,
    reach_of,
    refused,
    standard_error,
    upper_tail,
    verdicts,
)

BAND = Margins(threshold=0.03, minimum_effect=0.03)
GATE = Margins(threshold=0.05)
DIFFERENT = ["slower", "slower within the threshold", "faster"]


def test_swapping_both_runs_swaps_faster_and_slower() -> None:
    ratios = np.random.default_rng(0).uniform(0.8, 1.25, 200)
    errors = np.full(200, 0.01)
    swapped = {"faster": "slower", "slower": "faster"}
    found = verdicts(ratios, errors, BAND)
    assert [swapped.get(one, one) for one in found] == list(verdicts(1 / ratios, errors, BAND))


@pytest.mark.parametrize(
    ("ratio", "error", "verdict"),
    [
        (1.07, 0.005, "slower"),
        (1.07, 0.02, "ambiguous"),
        (1.03, 0.005, "slower within the threshold"),
        (1.03, 0.0125, "ambiguous"),
        (0.97, 0.005, "faster"),
        (0.97, 0.02, "ambiguous"),
        (0.985, 0.01, "same"),
        (1.002, 0.005, "same"),
    ],
)
def test_any_difference_is_told_and_a_slowdown_is_weighed_by_the_threshold(
    ratio: float, error: float, verdict: str
) -> None:
    assert list(verdicts(np.array([ratio]), np.array([error]), GATE)) == [verdict]


def test_a_difference_up_to_the_minimum_effect_is_none() -> None:
    ratios, errors = np.array([1.02, 0.98, 0.9]), np.full(3, 0.004)
    margins = Margins(threshold=0.05, minimum_effect=0.02)
    assert list(verdicts(ratios, errors, margins)) == ["same", "same", "faster"]


@pytest.mark.parametrize(("threshold", "minimum_effect"), [(0.03, 0.05), (0.03, -0.01)])
def test_a_minimum_effect_above_the_threshold_is_refused(threshold: float, minimum_effect: float) -> None:
    with pytest.raises(ValueError, match=r"minimum-effect: found .*, expected 0 to the threshold of 0\.03"):
        Margins(threshold, minimum_effect)


@pytest.mark.parametrize(("margins", "margin"), [(Margins(), 0.0), (BAND, 0.03)])
def test_the_least_difference_that_an_interval_finds_is_found_in_nine_of_ten(
    margins: Margins, margin: float
) -> None:
    error = 0.01
    reach = np.exp(1.96 * error)
    least = least_findable(1 / reach, reach, margin)
    drawn = np.exp(-np.log1p(least) - error * np.random.default_rng(7).standard_normal(4000))
    faster = [verdicts(np.array([ratio]), np.array([error]), margins)[0] == "faster" for ratio in drawn]
    assert np.mean(faster) == pytest.approx(0.9, abs=0.02)


def test_what_nothing_bounds_is_ambiguous() -> None:
    assert list(verdicts(np.array([5.0]), np.array([np.inf]), BAND)) == ["ambiguous"]
    assert list(verdicts(np.array([5.0]), np.array([0.0]), BAND)) == ["slower"]


def test_of_many_cases_few_differences_are_wrong() -> None:
    """Half of 400 cases lie at the edge of the band, where a lone test errs in 2.5 % of them."""
    random = np.random.default_rng(1)
    wrong = found = 0
    for _ in range(50):
        true = np.concatenate([np.full(200, np.log(1.03)), np.full(200, np.log(1.10))])
        ratios = np.exp(true + 0.01 * random.standard_normal(400))
        slower = verdicts(ratios, np.full(400, 0.01), BAND) == "slower"
        wrong += slower[:200].sum()
        found += slower.sum()
    assert found > 50 * 195
    assert wrong / found < 0.05


def share_of_false_alarms(
    random: np.random.Generator, samples: int, cases: int, scatter: float, margins: Margins
) -> float:
    """Return how many of 200 comparisons tell a difference between equal codes, of few samples a case."""
    alarms = 0
    for _ in range(200):
        logarithms = random.normal(0, scatter, (samples, cases))
        error = logarithms.std(axis=0, ddof=1) / np.sqrt(samples)
        found = verdicts(np.exp(logarithms.mean(axis=0)), error, margins, np.full(cases, samples - 1.0))
        alarms += bool(np.isin(found, DIFFERENT).any())
    return alarms / 200


@pytest.mark.parametrize("scatter", sweep([0.05, 0.2], but=[0.05]))
@pytest.mark.parametrize("cases", sweep([20, 500], but=[500]))
@pytest.mark.parametrize("samples", sweep([3, 6], but=[3]))
@pytest.mark.parametrize("margins", sweep([BAND, Margins()], but=[Margins()]))
def test_errors_that_are_estimates_tell_no_more_false_differences(
    samples: int, cases: int, scatter: float, margins: Margins
) -> None:
    assert share_of_false_alarms(np.random.default_rng(5), samples, cases, scatter, margins) <= 0.09


def test_the_interval_of_a_difference_lies_beyond_the_band() -> None:
    random = np.random.default_rng(6)
    ratios = np.exp(random.uniform(-0.2, 0.2, 500))
    errors, degrees = random.uniform(0.005, 0.05, 500), random.integers(1, 200, 500).astype(float)
    found = verdicts(ratios, errors, BAND, degrees)
    reach = np.exp(reach_of(errors, degrees))
    assert (ratios / reach)[found == "slower"].min() >= 1.03
    assert (ratios * reach)[found == "faster"].max() <= 1 / 1.03


def test_degrees_of_freedom_grow_as_what_is_estimated_gets_smaller() -> None:
    found = joint_degrees(np.array([0.0, 1.0, 10.0, np.inf, 0.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.0]), 3)
    assert found == pytest.approx([3, 12, 3 * 101**2, np.inf, np.inf])


def test_the_procedure_of_benjamini_and_hochberg() -> None:
    probabilities = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    assert list(refused(probabilities, 0.05)) == [True, True, True, True, False]
    assert list(refused(np.array([0.03, 0.5]), 0.05)) == [False, False]
    assert not refused(np.array([])).size


def test_errors_are_those_of_95_percent_intervals() -> None:
    error = standard_error(np.array([np.exp(-0.196), np.nan]), np.array([np.exp(0.196), 2.0]))
    assert error == pytest.approx([0.1, np.inf], rel=1e-4)
    known = np.full(2, np.inf)
    assert upper_tail(np.array([1.959964, -np.inf]), known) == pytest.approx([0.025, 1.0], rel=1e-4)
