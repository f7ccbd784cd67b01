"""Statistics of timings: what the intervals promise, on exact properties and on simulated samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.results.statistics import (
    Interval,
    median_interval,
    min_samples,
    noise,
    paired_ratio,
    relative_width,
)

seconds = st.floats(min_value=1e-6, max_value=1e3)
untimed = settings(deadline=None)


@untimed
@given(st.lists(seconds, min_size=1, max_size=40))
def test_interval_contains_the_sample_median(samples):
    interval = median_interval(samples[::-1])
    assert interval.value == np.median(samples)
    assert interval.low <= interval.value <= interval.high
    if len(samples) >= min_samples():
        assert min(samples) <= interval.low
        assert interval.high <= max(samples)


@untimed
@given(st.lists(seconds, min_size=6, max_size=30), st.integers(-10, 10))
def test_interval_scales_with_the_samples(samples, exponent):
    factor = 2.0**exponent
    interval = median_interval(samples)
    scaled = median_interval([factor * sample for sample in samples])
    assert scaled.value == factor * interval.value
    assert scaled.low == pytest.approx(factor * interval.low, rel=1e-12)
    assert scaled.high == pytest.approx(factor * interval.high, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_too_few_samples_bound_nothing(count):
    interval = median_interval([1.0] * count)
    assert interval == Interval(1.0, -math.inf, math.inf)
    assert not interval.is_bounded
    assert relative_width(interval) == math.inf


@pytest.mark.parametrize(("confidence", "expected"), [(0.5, 2), (0.9, 5), (0.95, 6), (0.99, 8)])
def test_least_number_of_samples_follows_from_the_confidence(confidence, expected):
    assert min_samples(confidence) == expected


@untimed
@given(st.lists(seconds, min_size=8, max_size=30))
def test_more_confidence_never_gives_a_narrower_interval(samples):
    wide = median_interval(samples, confidence=0.99)
    narrow = median_interval(samples, confidence=0.8)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@pytest.mark.parametrize("count", [6, 8, 15, 40])
@pytest.mark.parametrize("distribution", ["normal", "lognormal", "exponential"])
def test_interval_holds_the_true_median_as_often_as_it_says(distribution, count):
    random = np.random.default_rng(7)
    draw, truth = {
        "normal": (lambda: random.normal(10, 1, count), 10.0),
        "lognormal": (lambda: random.lognormal(0, 1, count), 1.0),
        "exponential": (lambda: random.exponential(1, count), math.log(2)),
    }[distribution]
    trials = 400
    intervals = [median_interval(draw()) for _ in range(trials)]
    hits = sum(interval.low <= truth <= interval.high for interval in intervals)
    standard_error = math.sqrt(0.95 * 0.05 / trials)
    assert hits / trials >= 0.95 - 3 * standard_error


@untimed
@given(st.lists(seconds, min_size=6, max_size=30), st.integers(-5, 5))
def test_ratio_recovers_a_constant_factor_however_the_machine_drifts(times, exponent):
    factor = 2.0**exponent
    ratio = paired_ratio([factor * time for time in times], times)
    assert ratio == Interval(factor, factor, factor)


@untimed
@given(st.lists(st.tuples(seconds, seconds), min_size=7, max_size=29).filter(lambda pairs: len(pairs) % 2))
def test_swapping_baseline_and_candidate_inverts_the_ratio(pairs):
    baseline, candidate = zip(*pairs, strict=True)
    forward = paired_ratio(baseline, candidate)
    backward = paired_ratio(candidate, baseline)
    assert backward.value == pytest.approx(1 / forward.value, rel=1e-12)


def test_pairing_by_round_is_narrower_than_the_drift():
    random = np.random.default_rng(3)
    drift = random.lognormal(0, 0.2, 40)
    baseline = 2.0 * drift * random.normal(1, 0.01, 40)
    candidate = drift * random.normal(1, 0.01, 40)
    ratio = paired_ratio(baseline, candidate)
    assert ratio.low <= 2.0 <= ratio.high
    assert relative_width(ratio) < 0.02 < relative_width(median_interval(baseline))


def test_rounds_that_do_not_pair_are_refused():
    with pytest.raises(ValueError, match="rounds do not pair: 2 of the baseline, 3 others"):
        paired_ratio([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf], [[1.0, 2.0]]])
def test_samples_that_are_no_list_of_numbers_are_refused(samples):
    with pytest.raises(ValueError, match="sample"):
        median_interval(samples)


def test_times_of_zero_have_no_ratio():
    with pytest.raises(ValueError, match="above 0"):
        paired_ratio([1.0, 0.0], [1.0, 1.0])


def test_noise_is_the_interquartile_range_over_the_median():
    assert noise([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)


@untimed
@given(st.lists(seconds, min_size=4, max_size=30))
def test_noise_of_equal_samples_is_zero_and_of_others_is_not_negative(samples):
    assert noise([samples[0]] * len(samples)) == 0
    assert noise(samples) >= 0


def test_noise_of_fewer_samples_than_quartiles_need_is_unknown():
    assert math.isnan(noise([1.0, 2.0, 3.0]))
