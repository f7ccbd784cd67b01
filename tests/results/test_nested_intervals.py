"""Intervals over starts: what they promise, on simulated processes that keep their luck while they live."""

import math
import statistics

import numpy as np
import pytest

from harness.artifact.bound_call import Sample
from harness.bench.measure.rounds import RoundTimer
from harness.experiment.settings import TimingSettings
from harness.results.statistics import (
    Interval,
    median_interval,
    nested_interval,
    paired_ratio,
    relative_width,
)


def lucky_ratios(
    random: np.random.Generator, starts: int, rounds: int, luck: float, noise: float, ratio: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Ratios of two processes that are started anew some times, and the start of each."""
    of_starts = random.normal(0, luck, starts)[:, None] + random.normal(0, noise, (starts, rounds))
    return ratio * np.exp(of_starts).ravel(), np.repeat(np.arange(starts), rounds)


def test_of_one_start_it_is_the_interval_of_the_median():
    samples = np.random.default_rng(0).lognormal(size=20)
    assert nested_interval(samples) == nested_interval(samples, [3] * 20) == median_interval(samples)


def test_starts_are_told_apart_by_name_not_by_order():
    assert nested_interval([1.0, 8.0, 9.0, 2.0], [0, 1, 0, 0]) == nested_interval(
        [1.0, 9.0, 2.0, 8.0], [0, 0, 0, 1]
    )


def test_two_starts_that_differ_bound_next_to_nothing():
    """Student's t with one degree of freedom is 12.7."""
    interval = nested_interval([0.99] * 20 + [1.01] * 20, [0] * 20 + [1] * 20)
    assert relative_width(interval) == pytest.approx(2 * 12.706 * 0.01, rel=0.01)


def test_many_rounds_do_not_make_up_for_few_starts():
    ratios, starts = lucky_ratios(np.random.default_rng(0), starts=4, rounds=500, luck=0.01, noise=0.01)
    assert relative_width(nested_interval(ratios, starts)) > 5 * relative_width(median_interval(ratios))


def test_starts_that_vary_alike_are_students_t_of_their_medians() -> None:
    """Of 3 starts the quantile is 4.303."""
    starts = [0.0, 0.01, 0.05]
    interval = nested_interval(np.exp(np.repeat(starts, 3) + [-0.01, 0, 0.01] * 3), np.repeat(range(3), 3))
    reach = 4.303 * np.std(starts, ddof=1) / math.sqrt(3)
    assert math.log(interval.value) == pytest.approx(0.02)
    assert math.log(interval.high / interval.value) == pytest.approx(reach, rel=1e-3)


def test_a_start_that_was_disturbed_weighs_less() -> None:
    quiet = [1.0, 1.01, 0.99, 1.0, 1.01, 0.99]
    noisy = [1.3, 1.8, 0.8, 1.3, 1.7, 0.9]
    samples, starts = [*quiet * 4, *noisy], np.repeat(range(5), 6)
    interval = nested_interval(samples, starts)
    assert interval.value < 1.01
    of_medians = math.exp(math.log(1.3) / 5)
    assert of_medians > 1.05
    assert interval.low < 1 < interval.high


def test_a_start_that_is_quiet_by_chance_weighs_no_more_than_others() -> None:
    usual, quiet = [0.9, 1.0, 1.1, 0.95, 1.05], [1.1] * 5
    interval = nested_interval([*usual * 4, *quiet], np.repeat(range(5), 5))
    assert interval.value == pytest.approx(1.1 ** (1 / 5))


def test_medians_that_lie_close_by_chance_bound_nothing_closely() -> None:
    interval = nested_interval([0.9, 0.95, 1.0, 1.05, 1.1] * 4, np.repeat(range(4), 5))
    assert interval.value == 1
    assert interval.high - interval.low > 0.05


@pytest.mark.parametrize("starts", [3, 5, 8])
@pytest.mark.parametrize(("luck", "noise"), [(0.01, 0.01), (0.01, 0.03), (0.002, 0.02)])
def test_interval_holds_the_true_ratio_as_often_as_it_says(starts, luck, noise):
    random = np.random.default_rng(11)
    trials = 300
    hits = 0
    for _ in range(trials):
        interval = nested_interval(*lucky_ratios(random, starts, 6, luck, noise))
        hits += interval.low <= 1 <= interval.high
    assert hits / trials >= 0.93


def test_twins_with_luck_are_told_apart_by_rounds_alone_and_not_by_starts():
    random = np.random.default_rng(5)
    told_apart = {"rounds": 0, "starts": 0}
    for _ in range(200):
        ratios, starts = lucky_ratios(random, 5, 10, luck=0.01, noise=0.01)
        for name, of_starts in (("rounds", None), ("starts", starts)):
            interval = nested_interval(ratios, of_starts)
            told_apart[name] += not interval.low <= 1 <= interval.high
    assert told_apart["rounds"] > 40
    assert told_apart["starts"] <= 10


def test_a_slowdown_of_three_percent_is_found_in_nine_of_ten():
    random = np.random.default_rng(6)
    trials = 100
    found = 0
    for _ in range(trials):
        ratios, starts = lucky_ratios(random, 6, 10, luck=0.01, noise=0.02, ratio=1 / 1.03)
        found += paired_ratio(ratios, np.ones(len(ratios)), starts).high < 1
    assert found >= 0.9 * trials


class LuckyProcesses:
    """A synthetic machine: candidates with luck for each life, noise for each sample, and drift for all."""

    def __init__(self, random: np.random.Generator, slowdowns: dict[str, float], luck: float, noise: float):
        self.random, self.slowdowns, self.luck, self.noise = random, slowdowns, luck, noise
        self.now = 0.0
        self.lives: dict[str, float] = {}

    def start_anew(self, number, candidates):
        self.now += 0.7 * len(candidates) / 2
        self.lives = {candidate: math.exp(self.random.normal(0, self.luck)) for candidate in candidates}
        return {}

    def sample(self, candidate: str) -> Sample:
        drift = 1 + 0.2 * math.sin(self.now / 7)
        seconds = 5e-3 * drift * self.lives[candidate] * (1 + self.slowdowns[candidate])
        self.now += 0.02
        return Sample(seconds * math.exp(abs(self.random.normal(0, self.noise))), calls=4)

    def start(self) -> None: ...

    def share(self) -> float:
        return 0.0

    def intervals(self) -> dict[str, Interval]:
        timer = RoundTimer(
            list(self.slowdowns),
            "original",
            TimingSettings(budget_s=20.0),
            sample=self.sample,
            starter=self.start_anew,
            on_round=lambda taken, number, widths: None,
            on_failure=lambda candidate, failure: None,
            load=self,
            clock=lambda: self.now,
        )
        rounds = timer.run()
        starts = [taken.start for taken in rounds]
        seconds = {name: [taken.seconds[name] for taken in rounds] for name in self.slowdowns}
        return {name: paired_ratio(seconds["original"], seconds[name], starts) for name in self.slowdowns}


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.005, 0.03], ids=["quiet", "busy"])
def test_rounds_and_stopping_together_keep_what_intervals_promise(noise: float) -> None:
    random = np.random.default_rng(17)
    slowdowns = {"original": 0.0, "twin 1": 0.0, "twin 2": 0.0, "slowed": 0.03}
    told_apart, found = [], []
    for _ in range(100):
        intervals = LuckyProcesses(random, slowdowns, luck=0.007, noise=noise).intervals()
        told_apart += [not intervals[f"twin {n}"].low <= 1 <= intervals[f"twin {n}"].high for n in (1, 2)]
        found.append(intervals["slowed"].high < 1)
    assert sum(told_apart) <= 0.05 * len(told_apart)
    assert statistics.mean(found) >= 0.9
