"""Two codes whose runs took turns on one machine: what they differ by, of several pairs of runs.

Each pair gives a ratio of its own; what pairs scatter by holds all that differs between runs, so nothing has
to be known of how the machine was.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.comparing.comparison import OUTCOME, identical_code
from harness.comparing.verdicts import verdicts
from harness.measure.statistics import CONFIDENCE, NORMAL_95
from harness.measure.students_t import t_quantile

if TYPE_CHECKING:
    import pandas as pd

IN_TURN = "in turn"
LEAST_PAIRS = 3
OUTCOMES = tuple(f"{name}_{run}" for name in OUTCOME for run in ("old", "new"))
"""Columns that say what became of a case in both runs."""


def of_pairs(pairs: Sequence["pd.DataFrame"], threshold: float) -> "pd.DataFrame":
    """Return `Comparison.cases` of several pairs of runs, each compared by `compare_tables`.

    A ratio is the geometric mean over the pairs that have one, its interval that of Student's t over the
    logarithms; times are geometric means, too.  Cases of identical code stay as they are.  A case's outcomes
    are those of the last pair that has checked it in both runs, else of the last one.  Fewer than
    `LEAST_PAIRS` ratios make no verdict.  But a case that was lost in any of them is lost: its outcomes are
    those of the first such pair, and its times do not count.
    """
    cases = _last_checked(pairs)
    ratios = np.stack([_values_of("ratio", cases, pair) for pair in pairs])
    known = np.isfinite(ratios).sum(axis=0)
    checked = (cases["was_checked"] & cases["is_checked"]).to_numpy(dtype=bool)
    differs = checked & (cases["how"] != "identical").to_numpy()
    judged = differs & (known >= LEAST_PAIRS)
    _forget_times(cases, differs & ~judged)
    logarithms = np.log(ratios[:, judged])
    error = np.nanstd(logarithms, axis=0, ddof=1) / np.sqrt(known[judged]) * _widened(known[judged])
    ratio, reach = np.exp(np.nanmean(logarithms, axis=0)), np.exp(NORMAL_95 * error)
    cases.loc[judged, ["ratio", "low", "high"]] = np.stack([ratio, ratio / reach, ratio * reach], axis=1)
    cases.loc[judged, "verdict"] = verdicts(ratio, error, threshold)
    cases.loc[judged, "how"] = IN_TURN
    for name in ("time_s_old", "time_s_new"):
        times = np.stack([_values_of(name, cases, pair) for pair in pairs])[:, judged]
        cases.loc[judged, name] = np.exp(np.nanmean(np.log(times), axis=0))
    for pair in reversed(pairs):
        _add_lost(cases, pair)
    return cases


def _last_checked(pairs: Sequence["pd.DataFrame"]) -> "pd.DataFrame":
    """Return the cases of the last pair, each as the last pair has it that checked it in both runs."""
    import pandas as pd

    checked = [pair[pair["was_checked"] & pair["is_checked"]] for pair in pairs]
    newest = pd.concat([pairs[-1], *checked]).drop_duplicates("case", keep="last").set_index("case")
    return newest.loc[pairs[-1]["case"]].reset_index()[pairs[-1].columns]


def _add_lost(cases: "pd.DataFrame", pair: "pd.DataFrame") -> None:
    """Give cases that a pair lost the outcomes that they had there, in place, and no verdict of times."""
    lost = pair[pair["was_checked"] & ~pair["is_checked"]].set_index("case")
    places = cases["case"].isin(lost.index).to_numpy()
    lost = lost.reindex(cases["case"][places])
    for name in (*OUTCOMES, "was_checked", "is_checked"):
        cases.loc[places, name] = lost[name].array
    _forget_times(cases, places)


def _forget_times(cases: "pd.DataFrame", places: np.ndarray) -> None:
    """Take the verdict of times from cases, in place."""
    cases.loc[places, "verdict"] = None
    cases.loc[places, "how"] = ""
    cases.loc[places, ["ratio", "low", "high"]] = np.nan


def _values_of(column: str, cases: "pd.DataFrame", pair: "pd.DataFrame") -> np.ndarray:
    """Return a pair's numbers of a column in the order of `cases`."""
    return pair.set_index("case")[column].reindex(cases["case"]).to_numpy(dtype=np.float64)


def _widened(counts: np.ndarray) -> np.ndarray:
    """Return by how much errors that so many pairs tell are to be widened, to be taken for normal ones."""
    return np.array([t_quantile(CONFIDENCE, max(1, int(count) - 1)) / NORMAL_95 for count in counts])


def is_all_identical(cases: "pd.DataFrame") -> bool:
    """Return whether every case that is right in either run has the same machine code in both."""
    right = cases[cases["was_checked"] | cases["is_checked"]]
    return bool(len(right)) and bool(identical_code(right).all())


def balanced_turns(pairs: int) -> list[tuple[int, int]]:
    """Return who is first in each pair, 0 or 1, and who is second: each of both in every other pair."""
    return [(0, 1) if number % 2 == 0 else (1, 0) for number in range(pairs)]
