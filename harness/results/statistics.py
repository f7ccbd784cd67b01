"""Statistics of timings: typical values and paired ratios with intervals, noise, and verdicts.

Times on a shared machine drift by tens of percent, ratios of neighbours in time hardly at all.  So candidates
take turns and are compared round by round.  A process keeps its luck (where its memory and its code lie) as
long as it lives, so candidates are started anew some times, and rounds are nested in starts: see
`nested_interval`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from harness.results.students_t import t_quantile

CONFIDENCE = 0.95
"""Probability with which intervals hold what they are of."""
NORMAL_95 = 1.959963984540054
"""Standard errors that a 95 % interval reaches to either side."""
RUN_TO_RUN = 0.03
"""Standard deviation of the logarithm of a time between runs of which nothing is known: on a shared machine
runs of the same code differ by a few percent."""
VARIANCE_OF_MEDIANS = math.pi / 2
"""Of a normal distribution's, over that of means."""
IQR_OF_NORMAL = 1.349
"""The interquartile range of a normal distribution, in standard deviations."""
SHARED_FREEDOM = 4
"""How much all starts together say of how one varies within, in degrees of freedom beside its own."""
MODEL_FREEDOM = 4
"""How much the expected variance between starts says beside the observed one, likewise."""
LEAST_VARIANCE = 1e-300
"""Of medians that are all equal: its inverse is still a number."""
MIN_SAMPLES_FOR_QUARTILES = 4
"""Of fewer samples there is no interquartile range, and so no noise."""


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
    SLOWER_WITHIN = "slower within the threshold"
    """By less than what matters."""
    AMBIGUOUS = "ambiguous"
    """The interval is too wide to tell: more rounds are needed."""


def median_interval(samples: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the median of the samples (at least one) and its confidence interval.

    The interval lies between order statistics and is free of any distribution (Thompson, *On confidence
    ranges for the median*, 1936); a bootstrap's lies within it.  The range of n samples holds the true median
    with probability 1 − 2^(1−n), so at 95 % fewer than 6 samples bound nothing and the interval is infinite
    (`min_samples` gives that number).

    Samples count as independent.  Times in sequence are not quite, for the machine drifts; ratios paired by
    round nearly are.
    """
    values = np.sort(_checked(samples))
    median = float(np.median(values))
    if len(values) < min_samples(confidence):
        return Interval(median, -math.inf, math.inf)
    return Interval(median, *_order_statistic_bounds(values, confidence))


def nested_interval(
    samples: ArrayLike, starts: ArrayLike | None = None, confidence: float = CONFIDENCE
) -> Interval:
    """Return the typical value of samples above 0 that were taken in several starts of a process.

    `starts` names the start of each sample; without it all are of one.  The value is the geometric mean over
    the starts of the median over their samples, in which starts that vary much within weigh less
    (`_precision`).  Its interval is Student's t over the logarithms of these medians, as weighted (Hartung
    and Knapp, *A refined method for the meta-analysis of controlled clinical trials*, 2001): what differs
    within starts makes their medians differ, and is in it.

    Unequal weights are worth fewer starts (Kish, *Survey Sampling*, 1965): their variance is that of the
    effective number of starts, 1 / Σ weight².  A few medians that lie close by chance would make timing stop,
    and the interval too narrow; so the variance that the weights expect counts beside the observed one
    (Smyth, *Linear models and empirical Bayes methods*, 2004).

    Of one start nothing tells how starts differ: the interval is then `median_interval`'s.
    """
    values = _checked(samples)
    groups = _by_start(values, starts)
    if len(groups) == 1:
        return median_interval(values, confidence)
    if values.min() <= 0:
        raise ValueError("samples of several starts must be above 0")
    logarithms = [np.log(group) for group in groups]
    medians = np.array([np.median(group) for group in logarithms])
    precision = _precision(logarithms, medians)
    weights = precision / precision.sum()
    center = float(weights @ medians)
    freedom = 1 / float(weights @ weights) - 1
    observed = float(weights @ (medians - center) ** 2) / freedom
    modelled = 1 / float(precision.sum())
    error = math.sqrt((freedom * observed + MODEL_FREEDOM * modelled) / (freedom + MODEL_FREEDOM))
    reach = t_quantile(confidence, len(medians) - 1) * error
    return Interval(math.exp(center), math.exp(center - reach), math.exp(center + reach))


def paired_ratio(
    baseline_seconds: ArrayLike,
    candidate_seconds: ArrayLike,
    starts: ArrayLike | None = None,
) -> Interval:
    """Return how many times faster the candidate is: `nested_interval` of baseline / candidate by round."""
    baseline, candidate = _checked(baseline_seconds), _checked(candidate_seconds)
    if len(baseline) != len(candidate):
        raise ValueError(f"rounds do not pair: {len(baseline)} of the baseline, {len(candidate)} others")
    if min(baseline.min(), candidate.min()) <= 0:
        raise ValueError("times must be above 0")
    return nested_interval(baseline / candidate, starts)


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


def _by_start(values: np.ndarray, starts: ArrayLike | None) -> list[np.ndarray]:
    if starts is None:
        return [values]
    names = np.asarray(starts)
    if names.shape != values.shape:
        raise ValueError(f"expected the start of each of {len(values)} samples, found {names.size}")
    return [values[names == name] for name in np.unique(names)]


def _precision(starts: Sequence[np.ndarray], medians: np.ndarray) -> np.ndarray:
    """Return the weight of each start: the inverse of its median's variance, between starts and within.

    What varies between is estimated from the medians (DerSimonian and Laird, *Meta-analysis in clinical
    trials*, 1986).  No start weighs more than one that varies typically within: quiet is also chance.
    """
    counts = np.array([len(samples) for samples in starts])
    freedom = counts - 1
    own = np.array([_variance(samples) for samples in starts])
    shared = float(freedom @ own) / max(1, int(freedom.sum()))
    within = (
        VARIANCE_OF_MEDIANS * (SHARED_FREEDOM * shared + freedom * own) / (SHARED_FREEDOM + freedom) / counts
    )
    typical = float(np.median(within))
    if typical == 0:
        return np.full(len(starts), 1 / max(LEAST_VARIANCE, float(medians.var(ddof=1))))
    precision = 1 / np.maximum(within, typical)
    mean = float(precision @ medians) / precision.sum()
    excess = float(precision @ (medians - mean) ** 2) - (len(starts) - 1)
    between = max(0.0, excess / (precision.sum() - float(precision @ precision) / precision.sum()))
    precision_of_medians: np.ndarray = 1 / (between + 1 / precision)
    return precision_of_medians


def _variance(samples: np.ndarray) -> float:
    """Return the variance of samples, by their quartiles where there are enough; 0 of a single one."""
    if len(samples) >= MIN_SAMPLES_FOR_QUARTILES:
        first, third = np.percentile(samples, [25, 75])
        return float((third - first) / IQR_OF_NORMAL) ** 2
    return float(samples.var(ddof=1)) if len(samples) > 1 else 0.0


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
