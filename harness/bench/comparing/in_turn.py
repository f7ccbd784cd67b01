"""Two codes whose runs took turns on one machine: what they differ by, of several pairs of runs.

Each pair gives a ratio of its own; what pairs scatter by holds all that differs between runs, so nothing has
to be known of how the machine was.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.bench.comparing.comparison import Outcome, add_outcomes, identical_code, set_verdicts

IN_TURN = "in turn"
LEAST_PAIRS = 3
"""Ratios that a verdict needs."""


def of_pairs(pairs: Sequence[pd.DataFrame], threshold: float) -> pd.DataFrame:
    """Return `Comparison.cases` of several pairs of runs, each compared by `compare_tables`.

    It has the cases of any pair.  A ratio is the geometric mean over the pairs that have one, its interval
    that of Student's t over the logarithms; times are geometric means, too.  Cases of identical code stay as
    they are.  With fewer than `LEAST_PAIRS` ratios a case is ambiguous, and its ratio has no interval.

    A failure of the new code in one pair outweighs what other pairs say; a failure of the old code does not.
    """
    cases = _decisive(pairs)
    ratios = np.stack([_values_of("ratio", cases, pair) for pair in pairs])
    counts = np.isfinite(ratios).sum(axis=0)
    is_right = (cases["was_checked"] & cases["is_checked"]).to_numpy(dtype=bool)
    timed = is_right & (cases["how"] != "identical").to_numpy() & (counts > 0)
    counts, logarithms = counts[timed], np.log(ratios[:, timed])
    means = np.nanmean(logarithms, axis=0)
    degrees = np.maximum(counts - 1.0, 1.0)
    scatter = np.sqrt(np.nansum((logarithms - means) ** 2, axis=0) / degrees)
    errors = np.where(counts < LEAST_PAIRS, np.inf, scatter / np.sqrt(counts))
    set_verdicts(cases, timed, np.exp(means), errors, degrees, threshold)
    cases.loc[timed, "how"] = [
        IN_TURN if count == len(pairs) else f"{IN_TURN}, {count} of {len(pairs)} pairs" for count in counts
    ]
    for name in ("time_s_old", "time_s_new"):
        times = np.stack([_values_of(name, cases, pair) for pair in pairs])[:, timed]
        times[np.isnan(logarithms)] = np.nan
        cases.loc[timed, name] = np.exp(np.nanmean(np.log(times), axis=0))
    add_outcomes(cases)
    return cases


def _decisive(pairs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return each case as one pair has it: one that lost it, else in which it fails now, else is right."""
    rows = pd.concat(pairs, ignore_index=True)
    is_right = rows["was_checked"] & rows["is_checked"]
    places = [rows["outcome"] == Outcome.LOST.value, rows["outcome"] == Outcome.FAILING.value, is_right]
    rows["weight"] = np.select(places, [3, 2, 1], 0)
    by_weight = rows.sort_values("weight", kind="stable").drop_duplicates("case", keep="last")
    names = rows["case"].drop_duplicates()
    return by_weight.drop(columns="weight").set_index("case").loc[names].reset_index()


def _values_of(column: str, cases: pd.DataFrame, pair: pd.DataFrame) -> np.ndarray:
    """Return a pair's numbers of a column in the order of `cases`."""
    return pair.set_index("case")[column].reindex(cases["case"]).to_numpy(dtype=np.float64)


def is_all_identical(cases: pd.DataFrame) -> bool:
    """Return whether every case that is right in either run has the same machine code in both."""
    right = cases[cases["was_checked"] | cases["is_checked"]]
    return bool(len(right)) and bool(identical_code(right).all())
