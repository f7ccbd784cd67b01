"""Speed-ups over a baseline: the paired ones of a run, or for another baseline ratios of medians."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import InputError
from harness.reporting.captions import values_in_words
from harness.reporting.distinct import numbered
from harness.reporting.figures.base import NothingTimed, NothingToDraw
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    RUN_LABEL,
    labels_in,
    runs_must_be_told_apart,
    several_values,
    varying,
)
from harness.results.frame import dtype_of

if TYPE_CHECKING:
    import pandas as pd

PAIRED_NOTE = (
    "Error bars: 95 % interval of the typical ratio, paired by timing round, over starts and rounds."
)
MEDIANS_NOTE = "Ratios of median times: the run's baseline was not {}, so there are no paired intervals."
SOME_MEDIANS_NOTE = "Without interval: ratios of median times, of {} whose baseline was not {}."
SPEEDUPS = ("speedup", "speedup_low", "speedup_high")
OVER = "baseline"
"""Column of compared rows: the series that a row's speed-up is over."""
SEVERAL = "baseline"
"""What 1 stands for where speed-ups are over several series, of which a note says when."""


@dataclass(frozen=True)
class Comparison:
    """Rows with speed-ups over one baseline, which is itself left out."""

    frame: pd.DataFrame
    """The column `OVER` names the series that each speed-up is over."""
    baseline: str
    """What 1 stands for, in the words of a figure."""
    note: str
    """What the speed-ups and their intervals are."""


def compare(frame: pd.DataFrame, wanted: str | None, display: Callable[[str], str] = str) -> Comparison:
    """Compare a prepared frame with a baseline: a variant, a series, or by default the experiment's.

    A variant stands for the parameter set that a row's own run compared it with: it may be another one for
    each problem, and in each run.  `display` returns what the figure calls a series.

    Raises `NothingToDraw` when no baseline is named and none was timed, or several were that cannot stand
    beside each other, and `InputError` when the one named is not in the frame or has several parameter sets.
    """
    if not frame["time_s"].notna().any():
        raise NothingTimed("nothing was timed")
    name = _usual(frame) if wanted is None else wanted
    for variant in map(str, frame["baseline"].dropna().unique()):
        is_own = _is_baseline(frame, variant)
        over = _series_of_baselines(frame).where(frame["baseline"] == variant)
        if name == variant:
            return _paired(frame, name, is_own, over, display)
        is_named = frame["label"] == name
        if bool((is_own & is_named).any()):
            return _paired(frame, name, is_named, over.where(over == name), display)
    return _ratios_of_medians(frame, name, display)


def _usual(frame: pd.DataFrame) -> str:
    """Return the variant that all rows are compared with, those of one problem with one parameter set."""
    compared = frame[frame["baseline"].notna()]
    series = sorted(map(str, compared[BASELINE_LABEL].unique()))
    variants = [str(variant) for variant in compared["baseline"].unique()]
    if len(variants) == 1 and not several_values(compared, PROBLEM_COLUMNS, BASELINE_LABEL):
        return variants[0]
    if not series:
        raise NothingToDraw("no baseline was timed; name one as figures.speedup.baseline")
    accepted = _own_baselines(compared, variants, labels_in(frame))
    names = "" if accepted == series else f": {', '.join(accepted)}"
    reason = f"several baselines: {', '.join(series)}"
    raise NothingToDraw(f"{reason}; name one as figures.speedup.baseline{names}")


def _own_baselines(compared: pd.DataFrame, variants: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return what names a baseline of compared rows: a variant, or a series, with its run if it has one."""
    series = set(_series_of_baselines(compared)) & set(labels)
    return sorted({*variants, *series})


def _paired(
    frame: pd.DataFrame,
    wanted: str,
    is_baseline: pd.Series[bool],
    over: pd.Series[str],
    display: Callable[[str], str],
) -> Comparison:
    """Take the speed-ups that runs recorded over this baseline, and ratios of medians of all other rows.

    `over` is the series that a row is paired with.  A row that its run could not pair with this baseline,
    since that has no time, has neither.
    """
    is_paired = over.notna()
    has_pairs = is_paired.groupby(numbered(frame, RUN_COLUMNS)).transform("any")
    is_other = ~is_baseline & ~is_paired & (frame["baseline"].notna() | ~has_pairs)
    ratios = _ratios(frame[is_other], frame[is_baseline], wanted, frame)
    series = over.fillna(ratios["series"])
    speedups = {name: frame[name].where(is_paired) for name in SPEEDUPS}
    speedups["speedup"] = speedups["speedup"].fillna(ratios["speedup"])
    rows = frame.assign(**speedups, **{OVER: series})[~is_baseline]
    called, notes = _what_is_1(rows, wanted, display)
    others = ratios.index[ratios["speedup"].notna()]
    if len(others):
        what = "cases" if bool(has_pairs[others].any()) else "runs"
        notes.append(SOME_MEDIANS_NOTE.format(what, display(_only_series(rows) or wanted)))
    return Comparison(rows, called, " ".join([PAIRED_NOTE, *notes]))


def _ratios_of_medians(frame: pd.DataFrame, wanted: str, display: Callable[[str], str]) -> Comparison:
    """Divide the baseline's median time by each row's."""
    labels = labels_in(frame)
    is_baseline = frame["label" if wanted in labels else "variant"] == wanted
    if not is_baseline.any():
        raise InputError(f"figures.speedup.baseline: found {wanted!r}, expected one of {', '.join(labels)}")
    rows = frame[~is_baseline]
    unknown: dict[str, Any] = dict.fromkeys(SPEEDUPS, float("nan"))
    ratios = _ratios(rows, frame[is_baseline], wanted, frame)
    rows = rows.assign(**{**unknown, "speedup": ratios["speedup"], OVER: ratios["series"]})
    called, notes = _what_is_1(rows, wanted, display)
    return Comparison(rows, called, " ".join([MEDIANS_NOTE.format(display(wanted)), *notes]))


def _ratios(rows: pd.DataFrame, baseline: pd.DataFrame, wanted: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the median time of the baseline's row of the same problem over each row's, and its series.

    That is one of the same run, unless the baseline is a series that names its run.
    """
    keys = [column for column in PROBLEM_COLUMNS if column in frame]
    if not (wanted in labels_in(frame) and runs_must_be_told_apart(frame)):
        keys += RUN_COLUMNS
    times = baseline[[*keys, "time_s"]].rename(columns={"time_s": "baseline_time_s"})
    if times.duplicated(keys).any():
        expected = ", ".join(labels_in(baseline))
        raise InputError(
            f"figures.speedup.baseline: {wanted!r} has several parameter sets, expected one of {expected}"
        )
    times = times.assign(series=baseline["label"].astype(dtype_of("str")))
    joined = rows[[*keys, "time_s"]].merge(times, on=keys, how="left").set_index(rows.index)
    return joined.assign(speedup=joined["baseline_time_s"] / joined["time_s"])[["speedup", "series"]]


def _is_baseline(frame: pd.DataFrame, variant: str) -> pd.Series[bool]:
    """Say of each row whether it is what its run compared others of its problem with.

    Rows of older versions do not say which case that was: there it is one whose speed-up is 1.  A row without
    a speed-up, since it failed, is one where it has a baseline's name.
    """
    is_of_variant = frame["variant"] == variant
    is_compared = (frame["baseline"] == variant) & frame["speedup"].notna()
    is_own_case = (frame["baseline_case"] == frame["case"]).fillna(False)
    is_own = is_own_case | (frame["baseline_case"].isna() & (frame["speedup"] == 1))
    has_its_name = _without_run(frame, "label").isin(frame.loc[is_compared, BASELINE_LABEL])
    return (is_of_variant & (is_own & is_compared | has_its_name & ~is_compared)).astype(bool)


def _series_of_baselines(frame: pd.DataFrame) -> pd.Series[str]:
    """Return the series that each row's recorded speed-up is over, with its run where series name that."""
    names = frame[BASELINE_LABEL]
    return names + " (" + frame[RUN_LABEL] + ")" if RUN_LABEL in frame else names


def _only_series(rows: pd.DataFrame) -> str | None:
    """Return what the speed-ups of compared rows are over, without a run; None for several series."""
    names = list(_without_run(rows[rows["speedup"].notna()], OVER).dropna().unique())
    return str(names[0]) if len(names) == 1 else None


def _what_is_1(rows: pd.DataFrame, wanted: str, display: Callable[[str], str]) -> tuple[str, list[str]]:
    """Return what 1 stands for, and a sentence where that is several series."""
    drawn = rows[rows["speedup"].notna() & rows[OVER].notna()]
    if drawn.empty or (drawn[OVER].nunique() == 1 and RUN_LABEL not in rows):
        return display(wanted if drawn.empty else str(drawn[OVER].iloc[0])), []
    if bool((drawn[OVER] == wanted).all()):
        return display(wanted), []
    only = _only_series(drawn)
    if only is not None:
        return f"{display(only)} of the same run", []
    return SEVERAL, [
        f"Baseline: {'; '.join(_described(drawn.assign(**{OVER: _without_run(drawn, OVER)}), display))}."
    ]


def _without_run(rows: pd.DataFrame, column: str) -> pd.Series[str]:
    """Return the series that a column names without its run, which is the row's own."""
    import pandas as pd

    names = rows[column].astype(dtype_of("str"))
    if RUN_LABEL not in rows:
        return names
    plain = [
        name.removesuffix(f" ({run})") if isinstance(name, str) else name
        for name, run in zip(names, rows[RUN_LABEL], strict=True)
    ]
    return pd.Series(plain, index=rows.index, dtype=names.dtype)


def _described(rows: pd.DataFrame, display: Callable[[str], str]) -> list[str]:
    """Return each series that rows are compared with and where, `unfused tile_q=16 (head dim 64)`."""
    places = [RUN_LABEL] if RUN_LABEL in rows else []
    is_told_by_run = bool(places) and not several_values(rows, places, OVER)
    columns = [] if is_told_by_run else varying(rows, PROBLEM_COLUMNS)
    alone = (column for column in columns if not several_values(rows, [*places, column], OVER))
    told = list(itertools.islice(alone, 1)) or columns
    words = []
    for series, of_series in rows.groupby(OVER, sort=False):
        names = [str(name) for name in of_series[RUN_LABEL].unique()] if places else []
        where = [", ".join(names)] if names else []
        where += values_in_words(of_series, told)
        words.append(f"{display(str(series))} ({'; '.join(where)})")
    return words
