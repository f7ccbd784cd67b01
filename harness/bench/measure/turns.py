"""Candidates that were sampled in the same turns, on a machine whose speed changes.

A neighbour on the same core, or a clock that changes, makes all candidates of some turns slower by tens of
percent.  The samples of one turn are neighbours in time, so that they tell how the machine was; that is taken
off before the turns are compared (the two steps of Tukey's median polish, *Exploratory data analysis*, 1977).
"""

from collections.abc import Mapping, Sequence

import numpy as np


def steady_seconds(samples: Mapping[str, Sequence[float | None]]) -> dict[str, np.ndarray]:
    """Return each candidate's seconds in each turn as if the machine had been as fast in all; NaN for None.

    How slow the machine was in a turn is the median, over the candidates that have samples in all turns, of
    the logarithm of their time relative to their own median; one candidate alone tells nothing of it.  One
    may have had fewer turns than the others.
    """
    turns = max(map(len, samples.values()), default=0)
    seconds = np.full((len(samples), turns), np.nan)
    for own, taken in zip(seconds, samples.values(), strict=True):
        own[: len(taken)] = [np.nan if sample is None else sample for sample in taken]
    complete = seconds[np.isfinite(seconds).all(axis=1)]
    if len(complete) > 1:
        seconds = seconds / np.exp(_slowness_of_turns(np.log(complete)))
    return {
        candidate: own[: len(taken)] for (candidate, taken), own in zip(samples.items(), seconds, strict=True)
    }


def _slowness_of_turns(logarithms: np.ndarray) -> np.ndarray:
    """Return how slow the machine was in each turn, of logarithms of times (candidates × turns)."""
    relative = logarithms - np.median(logarithms, axis=1, keepdims=True)
    slowness = np.median(relative, axis=0)
    return slowness - np.median(slowness)
