"""Is a case faster, slower or the same in a second run?  Decided for many cases at once.

A ratio is the new time over the old one, known within an interval; lower is better.  Ratios from 1/(1 + t) to
1 + t count as no difference, t being the threshold of relevance.

- *slower* and *faster*: that the ratio lies within that band, or beyond it on the other side, is refused.  Of
  many cases the refusals are those of Benjamini and Hochberg (*Controlling the false discovery rate*, 1995):
  of all verdicts of a difference no more than 5 % are expected to be wrong, however many cases there are.
- *same*: the 95 % interval lies within the band (two one-sided tests: Schuirmann, *A comparison of the two
  one-sided tests procedure and the power approach*, 1987).
- *ambiguous*: neither.
"""

import math

import numpy as np

from harness.measure.statistics import CONFIDENCE, NORMAL_95, Verdict

FALSE_DISCOVERIES = 1 - CONFIDENCE
"""Share of the differences found that may be none."""


def verdicts(ratios: np.ndarray, errors: np.ndarray, threshold: float) -> np.ndarray:
    """Return the verdict of each case.

    Args:
        ratios: new time over old time, above 0.
        errors: standard errors of their natural logarithms; ∞ where nothing bounds a ratio.
        threshold: smallest relative difference that matters, 0.03 for 3 %.
    """
    if threshold < 0:
        raise ValueError(f"threshold must be ≥ 0, found {threshold}")
    logarithms, edge = np.log(ratios), math.log1p(threshold)
    found = np.full(len(ratios), Verdict.AMBIGUOUS.value, dtype=object)
    reach = NORMAL_95 * errors
    within = (logarithms - reach >= -edge) & (logarithms + reach <= edge)
    found[within] = Verdict.SAME.value
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = (np.abs(logarithms) - edge) / errors
    differs = refused(upper_tail(np.where(np.isnan(beyond), -np.inf, beyond)))
    found[differs & (logarithms > 0)] = Verdict.SLOWER.value
    found[differs & (logarithms < 0)] = Verdict.FASTER.value
    return found


def refused(probabilities: np.ndarray, share: float = FALSE_DISCOVERIES) -> np.ndarray:
    """Return which hypotheses the procedure of Benjamini and Hochberg refuses, given their p-values."""
    count = len(probabilities)
    order = np.argsort(probabilities, kind="stable")
    allowed = share * np.arange(1, count + 1) / max(1, count)
    below = np.flatnonzero(probabilities[order] <= allowed)
    result = np.zeros(count, dtype=bool)
    if len(below):
        result[order[: below[-1] + 1]] = True
    return result


def upper_tail(deviations: np.ndarray) -> np.ndarray:
    """Return the probability that a normal number exceeds each of these, in standard deviations."""
    return np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in deviations.tolist()])


def standard_error(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the standard error of the logarithm of what has these 95 % intervals; ∞ where unbounded."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = (np.log(high) - np.log(low)) / 2
    return np.where(np.isfinite(half), half / NORMAL_95, np.inf)
