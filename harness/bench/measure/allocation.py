"""How the time of a timing is best shared between starts and rounds."""

import math
from collections.abc import Sequence

import numpy as np


def best_rounds(logarithms: Sequence[Sequence[float]], start_s: float, round_s: float) -> float:
    """Return how many rounds of a start narrow the interval of the mean most for their time.

    Starts vary among themselves, and rounds vary within a start: where starts hardly vary, more rounds are
    worth more than another start (Kalibera and Jones, *Rigorous benchmarking in reasonable time*, 2013,
    section 6).  `logarithms` are of ratios of times, of each round, by start.
    Infinite where starts do not vary beyond what their rounds explain; 1 where nothing is known.
    """
    groups = [np.asarray(group, dtype=np.float64) for group in logarithms if len(group) > 1]
    if len(groups) < 2 or round_s <= 0:
        return 1.0
    within = float(np.mean([group.var(ddof=1) for group in groups]))
    rounds = float(np.mean([len(group) for group in groups]))
    between = float(np.var([group.mean() for group in groups], ddof=1)) - within / rounds
    if between <= 0:
        return math.inf
    return max(1.0, math.sqrt(start_s / round_s * within / between))
