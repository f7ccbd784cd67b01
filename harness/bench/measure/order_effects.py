"""Whether it matters to a candidate which other one ran right before it.

A candidate leaves caches, the clock and the heat of the chip behind, and may leave threads that still spin.
Orders are balanced (`harness.bench.measure.order`), so that what a predecessor does is the same mixture for
all; it is still no property of the candidate, and a reader should know of it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from harness.bench.measure.order import balanced_orders
from harness.bench.measure.rounds import TimedRound
from harness.bench.measure.turns import steady_seconds
from harness.results.statistics import CONFIDENCE, Interval, min_samples, nested_interval

LEAST_EFFECT = 0.01
"""A smaller share of the time is not worth a word."""
LEAST_CANDIDATES = 3
"""Of two candidates, each has one predecessor other than itself."""


@dataclass(frozen=True)
class OrderEffect:
    """What a predecessor does to a candidate, beyond noise."""

    predecessor: str
    ratio: Interval
    """Time right after that one, over the candidate's typical time."""


def times_after(
    samples: Mapping[str, Sequence[float | None]], predecessors: Mapping[str, Sequence[str | None]]
) -> dict[str, dict[str, float]]:
    """Return, of samples of some rounds, each candidate's time after each other one, over its typical time.

    `predecessors` names for each sample who was sampled before it; None is nobody.  What the machine was
    slower or faster in a round is taken off first.
    """
    relative_times: dict[str, dict[str, float]] = {}
    for candidate, seconds in steady_seconds(samples).items():
        by_predecessor: dict[str, list[float]] = {}
        for sample_s, predecessor in zip(seconds, predecessors[candidate], strict=True):
            if predecessor not in (None, candidate) and math.isfinite(sample_s):
                by_predecessor.setdefault(str(predecessor), []).append(float(sample_s))
        if by_predecessor:
            typical = median(sample_s for taken in by_predecessor.values() for sample_s in taken)
            relative_times[candidate] = {
                name: median(taken) / typical for name, taken in by_predecessor.items()
            }
    return relative_times


def order_effects_of_rounds(rounds: Sequence[TimedRound]) -> dict[str, OrderEffect]:
    """Return `order_effects` of blocks of rounds, in which each candidate follows each other one as often."""
    after, starts = [], []
    for start, of_start in itertools.groupby(rounds, key=lambda taken: taken.start):
        ordered = [taken for taken in of_start if taken.order]
        size = len(balanced_orders(max((len(taken.order) for taken in ordered), default=1)))
        for begin in range(0, len(ordered), size):
            after.append(_times_after_in(ordered[begin : begin + size]))
            starts.append(start)
    return order_effects(after, starts)


def _times_after_in(rounds: Sequence[TimedRound]) -> dict[str, dict[str, float]]:
    """Return `times_after` of rounds that follow each other."""
    seconds: dict[str, list[float | None]] = {}
    predecessors: dict[str, list[str | None]] = {}
    last: str | None = None
    for taken in rounds:
        for candidate in taken.order:
            seconds.setdefault(candidate, []).append(taken.seconds.get(candidate))
            predecessors.setdefault(candidate, []).append(last)
            last = candidate
    return times_after(seconds, predecessors)


def order_effects(
    after: Sequence[Mapping[str, Mapping[str, float]]], starts: Sequence[int]
) -> dict[str, OrderEffect]:
    """Return the largest effect of a predecessor on each candidate that has one beyond noise.

    `after` has `times_after` of each block of rounds, `starts` the start that it belongs to.  An effect
    counts where its interval lies wholly outside of 1 ± `LEAST_EFFECT`.  Many pairs are looked at: the
    intervals are so wide that all of them hold with 95 % (Bonferroni).
    """
    candidates = sorted({candidate for of_round in after for candidate in of_round})
    if len(candidates) < LEAST_CANDIDATES:
        return {}
    confidence = 1 - (1 - CONFIDENCE) / (len(candidates) * (len(candidates) - 1))
    effects: dict[str, OrderEffect] = {}
    for candidate in candidates:
        for predecessor in candidates:
            ratio = _ratio(after, starts, candidate, predecessor, confidence)
            if ratio is None or not _is_beyond_noise(ratio):
                continue
            largest = effects.get(candidate)
            if largest is None or abs(math.log(ratio.value)) > abs(math.log(largest.ratio.value)):
                effects[candidate] = OrderEffect(predecessor, ratio)
    return effects


def _ratio(
    after: Sequence[Mapping[str, Mapping[str, float]]],
    starts: Sequence[int],
    candidate: str,
    predecessor: str,
    confidence: float,
) -> Interval | None:
    """Return the ratio of one pair over all blocks that have it; None where these are too few."""
    ratios_and_starts = [
        (of_round[candidate][predecessor], start)
        for of_round, start in zip(after, starts, strict=True)
        if predecessor in of_round.get(candidate, {})
    ]
    if len(ratios_and_starts) < min_samples(confidence):
        return None
    ratios, own_starts = zip(*ratios_and_starts, strict=True)
    return nested_interval(np.array(ratios), np.array(own_starts), confidence)


def _is_beyond_noise(ratio: Interval) -> bool:
    return ratio.low > 1 + LEAST_EFFECT or ratio.high < 1 - LEAST_EFFECT
