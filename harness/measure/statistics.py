"""Statistics of timings: medians and paired ratios with intervals, noise, and verdicts.

Times on a shared machine drift by tens of percent, ratios of neighbours in time hardly at all.  So candidates
take turns and are compared round by round: the statistic of a comparison is the median of the per-round
ratios.  Intervals are percentile bootstrap intervals (Efron 1979) with a fixed seed, so that equal samples
always give equal intervals, widened where there are few samples: see `median_interval`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

CONFIDENCE = 0.95
RESAMPLES = 2000
MIN_SAMPLES_FOR_QUARTILES = 4


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that holds the true value with the asked confidence.

    The bounds are −∞ and ∞ where the samples are too few to bound anything.
    """

    value: float
    low: float
    high: float

    @property
    def is_bounded(self) -> bool:
        """Whether there were samples enough for an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


class Verdict(StrEnum):
    """How a candidate compares with its baseline."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    AMBIGUOUS = "ambiguous"
    """The interval is too wide to tell: more rounds are needed."""


def median_interval(
    samples: ArrayLike, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the median of the samples (at least one) and its confidence interval.

    The interval is the percentile bootstrap's, joined with the distribution-free one between order
    statistics: with few samples the bootstrap alone is too narrow (at 95 % it holds the median in 91 to 94 of
    100 cases).  The range of n samples holds the true median with probability 1 − 2^(1−n), so at 95 % fewer
    than 6 samples bound nothing and the interval is infinite (`min_samples` gives that number).

    Samples count as independent.  Times in sequence are not quite, for the machine drifts; ratios paired by
    round nearly are.
    """
    values = np.sort(_checked(samples))
    median = float(np.median(values))
    if len(values) < min_samples(confidence):
        return Interval(median, -math.inf, math.inf)
    resampled = _resampled_medians(values, resamples, seed)
    tail = 50 * (1 - confidence)
    low, high = np.percentile(resampled, [tail, 100 - tail])
    first, last = _order_statistic_bounds(values, confidence)
    return Interval(median, float(min(low, first, median)), float(max(high, last, median)))


def paired_ratio(
    baseline_seconds: ArrayLike,
    candidate_seconds: ArrayLike,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return how many times faster the candidate is: the median over rounds of baseline / candidate.

    Both hold one time per round, of the same rounds in the same order (`round_medians` makes them from
    several samples a round).  Rounds are what the bootstrap draws.
    """
    baseline, candidate = _checked(baseline_seconds), _checked(candidate_seconds)
    if len(baseline) != len(candidate):
        raise ValueError(f"rounds do not pair: {len(baseline)} of the baseline, {len(candidate)} others")
    if min(baseline.min(), candidate.min()) <= 0:
        raise ValueError("times must be above 0")
    return median_interval(baseline / candidate, confidence, resamples, seed)


def round_medians(rounds: Sequence[Sequence[float]]) -> np.ndarray:
    """Return one time per round: the median of each round's samples."""
    return np.array([np.median(_checked(samples)) for samples in rounds])


def relative_width(interval: Interval) -> float:
    """Return the interval's full width, high − low, as a share of its value; ∞ when it is unbounded."""
    if not interval.is_bounded or interval.value == 0:
        return math.inf
    return (interval.high - interval.low) / abs(interval.value)


def noise(samples: ArrayLike) -> float:
    """Return the interquartile range over the median; NaN with too few samples for quartiles (4)."""
    values = _checked(samples)
    median = float(np.median(values))
    if len(values) < MIN_SAMPLES_FOR_QUARTILES or median == 0:
        return math.nan
    first, third = np.percentile(values, [25, 75])
    return float(third - first) / abs(median)


def verdict(interval: Interval, threshold: float) -> Verdict:
    """Judge a speed-up (baseline's time / candidate's time) against the smallest difference that matters.

    Speed-ups between 1/(1 + threshold) and 1 + threshold count as no difference, so swapping baseline and
    candidate swaps FASTER and SLOWER.  An interval wholly inside that band is SAME, wholly above FASTER,
    wholly below SLOWER; one that reaches across an edge is AMBIGUOUS.
    """
    if threshold < 0:
        raise ValueError(f"threshold must be ≥ 0, found {threshold}")
    lower, upper = 1 / (1 + threshold), 1 + threshold
    if interval.low > upper:
        return Verdict.FASTER
    if interval.high < lower:
        return Verdict.SLOWER
    if lower <= interval.low and interval.high <= upper:
        return Verdict.SAME
    return Verdict.AMBIGUOUS


def min_samples(confidence: float = CONFIDENCE) -> int:
    """Return how many samples an interval needs: the least n with 1 − 2^(1−n) ≥ confidence."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, found {confidence}")
    return max(2, 1 + math.ceil(-math.log2(1 - confidence)))


def _checked(samples: ArrayLike) -> np.ndarray:
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"expected a list of at least one sample, found shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("samples must be finite")
    return values


def _resampled_medians(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return the medians of `resamples` samples drawn with replacement."""
    draws = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
    return np.median(values[draws], axis=1)


def _order_statistic_bounds(ordered: np.ndarray, confidence: float) -> tuple[float, float]:
    """Return the narrowest symmetric pair of order statistics that holds the median with this confidence.

    The number of samples below the true median is binomial (n, 1/2); the pair (rank, n − 1 − rank) misses it
    with probability 2 · P(at most `rank` samples below), for whatever distribution the samples have.
    """
    count = len(ordered)
    allowed = (1 - confidence) / 2
    rank, below = 0, 0.5**count
    while rank + 1 < count // 2:
        next_below = below + math.exp(_log_binomial(count, rank + 1) - count * math.log(2))
        if next_below > allowed:
            break
        rank, below = rank + 1, next_below
    return float(ordered[rank]), float(ordered[count - 1 - rank])


def _log_binomial(count: int, chosen: int) -> float:
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)
