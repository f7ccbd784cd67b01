"""Two codes whose runs took turns on one machine: what they differ by, of several pairs of runs.

Each pair gives a ratio of its own; what pairs scatter by holds all that differs between runs, so nothing has
to be known of how the machine was.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.bench.comparing.comparison import FAILED, OUTCOME, identical_code
from harness.bench.comparing.verdicts import reach_of, verdicts
from harness.results.statistics import Verdict

if TYPE_CHECKING:
    import pandas as pd

IN_TURN = "in turn"
LEAST_PAIRS = 3
"""Ratios that a verdict needs."""
MOST_NAMES = 10
"""Cases in which pairs disagree, of which a note gives the names."""
OUTCOMES = tuple(f"{name}_{run}" for name in OUTCOME for run in ("old", "new"))
"""Columns that say what became of a case in both runs."""


def of_pairs(pairs: Sequence["pd.DataFrame"], threshold: float) -> "pd.DataFrame":
    """Return `Comparison.cases` of several pairs of runs, each compared by `compare_tables`.

    It has the cases of any pair.  A ratio is the geometric mean over the pairs that have one, its interval
    that of Student's t over the logarithms; times are geometric means, too.  Cases of identical code stay as
    they are.  A case's outcomes are those of the last pair that has checked it in both runs, else of the last
    one that has it.  With fewer than `LEAST_PAIRS` ratios a case is ambiguous, and its ratio has no interval.

    A failure of the new code outweighs what other pairs say: then outcomes are those of the first such pair,
    and times do not count.  So it is where the old code was right in that pair, which makes the case a lost
    one; where the old code did not fail there, either; and, in cases that times do not judge, where it did.
    """
    cases = _last_checked(pairs)
    ratios = np.stack([_values_of("ratio", cases, pair) for pair in pairs])
    ratio_counts = np.isfinite(ratios).sum(axis=0)
    checked = (cases["was_checked"] & cases["is_checked"]).to_numpy(dtype=bool)
    differs = checked & (cases["how"] != "identical").to_numpy()
    judged, short = (
        differs & (ratio_counts >= LEAST_PAIRS),
        differs & (ratio_counts > 0) & (ratio_counts < LEAST_PAIRS),
    )
    _forget_times(cases, differs & ~judged)
    logarithms = np.log(ratios[:, judged])
    error, degrees = (
        np.nanstd(logarithms, axis=0, ddof=1) / np.sqrt(ratio_counts[judged]),
        ratio_counts[judged] - 1.0,
    )
    ratio, reach = np.exp(np.nanmean(logarithms, axis=0)), np.exp(reach_of(error, degrees))
    cases.loc[judged, ["ratio", "low", "high"]] = np.stack([ratio, ratio / reach, ratio * reach], axis=1)
    cases.loc[judged, "verdict"] = verdicts(ratio, error, threshold, degrees)
    cases.loc[judged, "how"] = IN_TURN
    cases.loc[short, "ratio"] = np.exp(np.nanmean(np.log(ratios[:, short]), axis=0))
    cases.loc[short, "verdict"] = Verdict.AMBIGUOUS.value
    cases.loc[short, "how"] = [
        f"{IN_TURN}, too few pairs: {count} of {len(pairs)}" for count in ratio_counts[short]
    ]
    timed = judged | short
    for name in ("time_s_old", "time_s_new"):
        times = np.stack([_values_of(name, cases, pair) for pair in pairs])[:, timed]
        times[np.isnan(ratios[:, timed])] = np.nan
        cases.loc[timed, name] = np.exp(np.nanmean(np.log(times), axis=0))
    undecided = cases["case"][~judged & ~(checked & ~differs)]
    failures = [
        *(pair[_failed_in_both(pair) & pair["case"].isin(undecided)] for pair in reversed(pairs)),
        *(pair[_failing(pair)] for pair in reversed(pairs)),
        *(pair[_lost(pair)] for pair in reversed(pairs)),
    ]
    for rows in failures:
        _take_outcomes(cases, rows)
    return cases


def notes_of_pairs(pairs: Sequence["pd.DataFrame"], cases: "pd.DataFrame") -> list[str]:
    """Return what the rows of `of_pairs` do not say, a line each: in which cases pairs disagree."""
    right = cases["case"][cases["was_checked"] & cases["is_checked"]]
    failed = [pair["case"][_failed_in_both(pair) & pair["case"].isin(right)] for pair in pairs]
    missing = [cases["case"][~cases["case"].isin(pair["case"])] for pair in pairs]
    cases_by_note = {
        "cases that failed in both runs of a pair, and were right in both of another": failed,
        "cases that are missing from a run": missing,
    }
    return [
        f"{what}: {_names(names, len(pairs))}"
        for what, names in cases_by_note.items()
        if any(map(len, names))
    ]


def _names(cases_by_pair: Sequence["pd.Series"], pairs: int) -> str:
    """Return the names of cases, each with the number of pairs that have it."""
    counts = Counter(name for names in cases_by_pair for name in names)
    listed = [f"{name} ({count} of {pairs} pairs)" for name, count in counts.most_common(MOST_NAMES)]
    return ", ".join(
        [*listed, *([f"and {len(counts) - MOST_NAMES} more"] if len(counts) > MOST_NAMES else [])]
    )


def _last_checked(pairs: Sequence["pd.DataFrame"]) -> "pd.DataFrame":
    """Return the cases of all pairs, each as the last pair has it that checked it in both runs.

    Those of the last pair are first, in its order.
    """
    import pandas as pd

    checked = [pair[pair["was_checked"] & pair["is_checked"]] for pair in pairs]
    newest = pd.concat([*pairs, *checked]).drop_duplicates("case", keep="last").set_index("case")
    names = pd.concat([pair["case"] for pair in reversed(pairs)]).drop_duplicates()
    return newest.loc[names].reset_index()[pairs[-1].columns]


def _lost(pair: "pd.DataFrame") -> "pd.Series":
    """Whether the old code was right, and the new one was not."""
    return pair["was_checked"] & ~pair["is_checked"]


def _failing(pair: "pd.DataFrame") -> "pd.Series":
    """Whether the new code failed, and the old one was neither right nor failed."""
    return pair["status_new"].isin(FAILED) & ~pair["status_old"].isin(FAILED) & ~pair["was_checked"]


def _failed_in_both(pair: "pd.DataFrame") -> "pd.Series":
    """Whether both codes failed."""
    return pair["status_new"].isin(FAILED) & pair["status_old"].isin(FAILED)


def _take_outcomes(cases: "pd.DataFrame", rows: "pd.DataFrame") -> None:
    """Give cases the outcomes that they had in a pair, in place, and no verdict of times."""
    places = cases["case"].isin(rows["case"]).to_numpy()
    taken = rows.set_index("case").reindex(cases["case"][places])
    for name in (*OUTCOMES, "was_checked", "is_checked"):
        cases.loc[places, name] = taken[name].array
    _forget_times(cases, places)


def _forget_times(cases: "pd.DataFrame", places: np.ndarray) -> None:
    """Take the verdict of times from cases, in place."""
    cases.loc[places, "verdict"] = None
    cases.loc[places, "how"] = ""
    cases.loc[places, ["ratio", "low", "high"]] = np.nan


def _values_of(column: str, cases: "pd.DataFrame", pair: "pd.DataFrame") -> np.ndarray:
    """Return a pair's numbers of a column in the order of `cases`."""
    return pair.set_index("case")[column].reindex(cases["case"]).to_numpy(dtype=np.float64)


def is_all_identical(cases: "pd.DataFrame") -> bool:
    """Return whether every case that is right in either run has the same machine code in both."""
    right = cases[cases["was_checked"] | cases["is_checked"]]
    return bool(len(right)) and bool(identical_code(right).all())
