"""Is a case faster, slower or the same in a second run?  Decided for many cases at once.

A ratio is the new time over the old one, known within an interval; lower is better.  `Margins` has a number
for each of two questions.  Is the case slower by more than the threshold t, which a gate does not let pass?
Is there a difference above the minimum effect m, which is 0 if nobody asks for more?  An error that is itself
an estimate, of few controls, has degrees of freedom, and the deviations are Student's t.

- *slower*: that the ratio is at most 1 + t is refused.
- *slower within the threshold*: that it is at most 1 + m is refused, and the 95 % interval ends below 1 + t.
- *faster*: that it is at least 1/(1 + m) is refused.
- *same*: none of these, and the 95 % interval lies from 1/(1 + t) to 1 + t (two one-sided tests: Schuirmann,
  *A comparison of the two one-sided tests procedure and the power approach*, 1987).
- *ambiguous*: none of these.

Of many cases the refusals are those of Benjamini and Hochberg (*Controlling the false discovery rate*, 1995):
of all verdicts of a difference no more than 5 % are expected to be wrong, however many cases there are.  The
95 % interval lies beyond the bound, too.
"""

import math
from dataclasses import dataclass

import numpy as np

from harness.results.statistics import CONFIDENCE, NORMAL_95, Verdict
from harness.results.students_t import t_quantile, t_tail

FALSE_DISCOVERIES = 1 - CONFIDENCE
"""Share of the differences found that may be none."""

NINE_OF_TEN = 1.2815515655446004
"""Standard errors that nine of ten estimates exceed the value less of."""

MOST_DEGREES = 100
"""Degrees of freedom from which on more make no difference worth a word."""


@dataclass(frozen=True)
class Margins:
    """Which relative differences of times matter."""

    threshold: float = 0.03
    """A slowdown above it fails a gate."""
    minimum_effect: float = 0.0
    """A difference up to it is none."""

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_effect <= self.threshold:
            raise ValueError(
                f"minimum-effect: found {self.minimum_effect:g}, "
                f"expected 0 to the threshold of {self.threshold:g}"
            )


def verdicts(
    ratios: np.ndarray, errors: np.ndarray, margins: Margins, degrees: np.ndarray | None = None
) -> np.ndarray:
    """Return the verdict of each case."""
    logarithms = np.log(ratios)
    edge, least = math.log1p(margins.threshold), math.log1p(margins.minimum_effect)
    degrees = np.full(len(ratios), np.inf) if degrees is None else degrees
    reach = reach_of(errors, degrees)
    differs, matters = (_is_beyond(np.abs(logarithms), bound, errors, degrees) for bound in (least, edge))
    ends_below = logarithms + reach <= edge
    places = {
        Verdict.SLOWER: matters & (logarithms > 0),
        Verdict.SLOWER_WITHIN: differs & (logarithms > 0) & ends_below,
        Verdict.FASTER: differs & (logarithms < 0),
        Verdict.SAME: (logarithms - reach >= -edge) & ends_below,
    }
    words = [np.full(len(ratios), verdict.value, dtype=object) for verdict in places]
    return np.select(
        list(places.values()), words, np.full(len(ratios), Verdict.AMBIGUOUS.value, dtype=object)
    )


def _is_beyond(sizes: np.ndarray, edge: float, errors: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return for which of these absolute values that the true one is at most `edge` is refused.

    Near 0 a difference of either sign could have led to it: the probabilities of both are added.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above, below = ((sizes + sign * edge) / errors for sign in (-1, 1))
    tails = [upper_tail(np.where(np.isnan(side), -np.inf, side), degrees) for side in (above, below)]
    lies_beyond = sizes - reach_of(errors, degrees) > edge
    return lies_beyond & refused(np.minimum(1.0, tails[0] + tails[1]))


def least_findable(low: float, high: float, threshold: float) -> float:
    """Return the smallest relative difference that an interval as wide as this finds in nine of ten."""
    half = (math.log(high) - math.log(low)) / 2
    return (1 + threshold) * math.exp(half * (1 + NINE_OF_TEN / NORMAL_95)) - 1


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


def upper_tail(deviations: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the probability that Student's t exceeds each of these, in standard errors."""
    result = np.empty(len(deviations))
    whole = _whole(degrees)
    for count in np.unique(whole):
        places = whole == count
        result[places] = t_tail(deviations[places], count) if count else _normal_tail(deviations[places])
    return result


def reach_of(errors: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return how far 95 % intervals reach to either side, with these standard errors."""
    whole = _whole(degrees)
    quantiles = {count: t_quantile(CONFIDENCE, int(count)) for count in np.unique(whole) if count}
    return errors * np.array([quantiles.get(count, NORMAL_95) for count in whole.tolist()])


def joint_degrees(known_error: np.ndarray, estimated: np.ndarray, degrees: int) -> np.ndarray:
    """Return the degrees of freedom of √(known_error² + estimated²), an error that is in part an estimate.

    By Welch (*The generalization of Student's problem when several different population variances are
    involved*, 1947) and Satterthwaite: the smaller the part that has to be estimated, the more.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = estimated**2 / (known_error**2 + estimated**2)
        joint = degrees / share**2
    return np.where(np.isnan(joint), np.inf, joint)


def _whole(degrees: np.ndarray) -> np.ndarray:
    """Return degrees of freedom as whole numbers, rounded down; 0 is ∞, and `MOST_DEGREES` stand for more."""
    return np.where(np.isinf(degrees), 0, np.clip(degrees, 1, MOST_DEGREES)).astype(int)


def _normal_tail(deviations: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(value / math.sqrt(2)) for value in deviations.tolist()])


def standard_error(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the standard error of the logarithm of what has these 95 % intervals; ∞ where unbounded."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = (np.log(high) - np.log(low)) / 2
    return np.where(np.isfinite(half), half / NORMAL_95, np.inf)
