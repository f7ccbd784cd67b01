"""Speed-ups over a baseline: the paired ones of a run, or for another baseline ratios of medians."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.reporting.captions import values_in_words
from harness.reporting.figures.base import NothingToDraw, require_times
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    RUN_LABEL,
    labels_in,
    several_values,
    varying,
)
from harness.system.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

PAIRED_NOTE = (
    "Error bars: 95 % interval of the typical ratio, paired by timing round, over starts and rounds."
)
MEDIANS_NOTE = "Ratios of median times, without interval, of what its run did not time against {}."
OVER = "baseline"
"""Column of compared rows: the series that a row's speed-up is over."""
IS_PAIRED = "is_paired"
"""Column of compared rows: whether their run recorded the speed-up."""


def compare(frame: pd.DataFrame, wanted: str | None) -> pd.DataFrame:
    """Return a prepared frame's rows with speed-ups over a baseline, which is itself left out.

    The baseline is a variant, a series, or by default the experiment's.  A variant stands for the parameter
    set that a row's own run compared it with: it may be another one for each problem, and in each run.
    Rows whose run recorded no speed-up over it have ratios of median times.

    Raises `NothingToDraw` when no baseline is named and none was timed, or several were that cannot stand
    beside each other, and `InputError` when the one named is not in the frame or has several parameter sets.
    """
    require_times(frame)
    wanted = _usual(frame) if wanted is None else wanted
    over = _with_run(frame, frame[BASELINE_LABEL])
    is_paired = (frame["baseline"] == wanted) | (over == wanted)
    is_series = wanted in labels_in(frame)
    is_baseline = frame["label" if is_series else "variant"] == wanted
    if not (is_baseline | is_paired).any():
        expected = ", ".join(labels_in(frame))
        raise InputError(f"figures.speedup.baseline: found {wanted!r}, expected one of {expected}")
    if is_paired.any() and not is_series:
        is_recorded = _without_run(frame).isin(frame.loc[is_paired, BASELINE_LABEL])
        is_own_case = (frame["baseline_case"] == frame["case"]).fillna(False)
        is_baseline &= is_own_case | (frame["baseline_case"].isna() & is_recorded)
    rows, paired = frame[~is_baseline], is_paired[~is_baseline]
    names_run = is_series and RUN_LABEL in frame
    of_baseline = _baseline_of_each(rows, frame[is_baseline], wanted, names_run=names_run)
    recorded = frame[BASELINE_LABEL].mask(is_paired & names_run, wanted)
    return rows.assign(
        speedup=rows["speedup"].where(paired, of_baseline["baseline_time_s"] / rows["time_s"]),
        speedup_low=rows["speedup_low"].where(paired),
        speedup_high=rows["speedup_high"].where(paired),
        **{OVER: recorded[~is_baseline].where(paired, of_baseline["series"]), IS_PAIRED: paired},
    )


def what_is_1(rows: pd.DataFrame, display: Callable[[str], str]) -> str:
    """Return what 1 stands for, in the words of a figure, of rows that `compare` returns."""
    names = rows.loc[rows["speedup"].notna(), OVER].dropna().unique()
    return display(str(names[0])) if len(names) == 1 else "baseline"


def comparison_notes(rows: pd.DataFrame, display: Callable[[str], str]) -> list[str]:
    """Return what the speed-ups of rows that `compare` returns are, and which baselines there are."""
    drawn = rows[rows["speedup"].notna()]
    names = drawn[OVER].dropna().unique()
    notes = [PAIRED_NOTE] if drawn[IS_PAIRED].any() else []
    notes += [] if drawn[IS_PAIRED].all() else [MEDIANS_NOTE.format(what_is_1(rows, display))]
    return notes if len(names) < 2 else [*notes, f"Baseline: {_described(drawn, display)}."]


def _usual(frame: pd.DataFrame) -> str:
    """Return the variant that all rows are compared with, those of one problem with one parameter set."""
    compared = frame[frame["baseline"].notna()]
    variants = sorted(map(str, compared["baseline"].unique()))
    if len(variants) == 1 and not several_values(compared, PROBLEM_COLUMNS, BASELINE_LABEL):
        return variants[0]
    if not variants:
        raise NothingToDraw("no baseline was timed; name one as figures.speedup.baseline")
    series = sorted(map(str, compared[BASELINE_LABEL].unique()))
    names = sorted(
        {*variants, *_with_run(compared, compared[BASELINE_LABEL])} & {*variants, *labels_in(frame)}
    )
    raise NothingToDraw(
        f"several baselines: {', '.join(series)}; name one as figures.speedup.baseline: {', '.join(names)}"
    )


def _with_run(rows: pd.DataFrame, names: pd.Series[str]) -> pd.Series[str]:
    """Return names of series of the rows' own runs as they are called, with the run where series carry it."""
    return names + " (" + rows[RUN_LABEL] + ")" if RUN_LABEL in rows else names


def _without_run(rows: pd.DataFrame) -> pd.Series[str]:
    """Return what the series of rows are called without their runs."""
    labels = rows["label"].astype(str)
    if RUN_LABEL not in rows:
        return labels
    return labels.combine(rows[RUN_LABEL], lambda label, run: label.removesuffix(f" ({run})"))


def _baseline_of_each(
    rows: pd.DataFrame, baseline: pd.DataFrame, wanted: str, *, names_run: bool
) -> pd.DataFrame:
    """Return time and series of the baseline's row of the same problem, and of the same run, for each row.

    A baseline that names its run is compared with the rows of all runs.
    """
    keys = [column for column in PROBLEM_COLUMNS if column in rows]
    keys += [] if names_run else RUN_COLUMNS
    times = baseline[[*keys, "time_s", "label"]].rename(columns={"time_s": "baseline_time_s"})
    if times.duplicated(keys).any():
        expected = ", ".join(labels_in(baseline))
        raise InputError(
            f"figures.speedup.baseline: {wanted!r} has several parameter sets, expected one of {expected}"
        )
    labels = times.pop("label").astype(str) if names_run else _without_run(baseline)
    return rows[keys].merge(times.assign(series=labels), on=keys, how="left").set_index(rows.index)


def _described(rows: pd.DataFrame, display: Callable[[str], str]) -> str:
    """Return each series that rows are compared with and where, `unfused tile_q=16 (head dim 64)`."""
    columns = varying(rows, (RUN_LABEL, *PROBLEM_COLUMNS))
    telling = [column for column in columns if not several_values(rows, [column], OVER)][:1]
    return "; ".join(
        f"{display(str(name))} ({', '.join(values_in_words(of_series, telling))})"
        for name, of_series in rows.groupby(OVER, sort=False)
    )
