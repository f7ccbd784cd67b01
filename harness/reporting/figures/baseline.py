"""Speed-ups over a baseline: the paired ones of a run, or for another baseline ratios of medians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import InputError
from harness.reporting.distinct import numbered
from harness.reporting.figures.base import NothingTimed, NothingToDraw
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    RUN_LABEL,
    labels_in,
    runs_must_be_told_apart,
)

if TYPE_CHECKING:
    import pandas as pd

PAIRED_NOTE = (
    "Error bars: 95 % interval of the typical ratio, paired by timing round, over starts and rounds."
)
MEDIANS_NOTE = "Ratios of median times: the run's baseline was not {}, so there are no paired intervals."
SOME_MEDIANS_NOTE = "Without interval: ratios of median times, of runs whose baseline was not {}."
SPEEDUPS = ("speedup", "speedup_low", "speedup_high")


@dataclass(frozen=True)
class Comparison:
    """Rows with speed-ups over one baseline, which is itself left out."""

    frame: pd.DataFrame
    baseline: str
    """The baseline's variant or, where that is not enough, its series."""
    note: str
    """What the speed-ups and their intervals are."""


def compare(frame: pd.DataFrame, wanted: str | None) -> Comparison:
    """Compare a prepared frame with a baseline: a variant, a series, or by default the experiment's.

    Raises `NothingToDraw` when no baseline is named and none was timed, and `InputError` when the one
    named is not in the frame or has several parameter sets.
    """
    if not frame["time_s"].notna().any():
        raise NothingTimed("nothing was timed")
    pairs = frame[["baseline", BASELINE_LABEL]].dropna().drop_duplicates()
    series = sorted(map(str, pairs[BASELINE_LABEL]))
    if wanted is None and len(series) != 1:
        reason = "no baseline was timed" if not series else f"several baselines: {', '.join(series)}"
        raise NothingToDraw(f"{reason}; name one as figures.speedup.baseline")
    recorded = [str(variant) for variant in pairs["baseline"].drop_duplicates(keep=False)]
    name = recorded[0] if wanted is None else wanted
    for variant in recorded:
        own = _own(frame, variant)
        if name == variant or name in own:
            return _paired(frame, variant, name, own if name == variant else [name])
    return _ratios_of_medians(frame, name)


def _paired(frame: pd.DataFrame, variant: str, wanted: str, own: list[str]) -> Comparison:
    """Take the speed-ups that runs recorded over this baseline, and ratios of medians of all other runs.

    `own` are the series that are the baseline itself.  Of a series that names its run, only that run has
    pairs.
    """
    is_own, is_paired = frame["label"].isin(own), frame["baseline"] == variant
    if wanted != variant and RUN_LABEL in frame:
        is_paired &= frame[RUN_LABEL].isin(frame[RUN_LABEL][is_own])
    has_pairs = is_paired.groupby(numbered(frame, RUN_COLUMNS)).transform("any")
    ratios = _ratios(frame[~is_own & ~has_pairs], frame[is_own], wanted, frame)
    paired = frame.assign(**{name: frame[name].where(is_paired) for name in SPEEDUPS})
    paired["speedup"] = paired["speedup"].fillna(ratios)
    baseline = own[0] if len(own) == 1 else variant
    notes = [PAIRED_NOTE, *([SOME_MEDIANS_NOTE.format(baseline)] if ratios.notna().any() else [])]
    return Comparison(paired[~is_own], baseline, " ".join(notes))


def _own(frame: pd.DataFrame, variant: str) -> list[str]:
    """Return the series of a variant that are the baseline itself: their speed-ups are always 1.

    A series without any is the baseline where it has its name, in a run where the baseline failed.  Others
    without any are parameter sets that failed.
    """
    rows = frame.loc[frame["variant"] == variant, ["label", "baseline", "speedup"]]
    speedups = rows["speedup"].where(rows["baseline"] == variant)
    names = _names_of_baseline(frame, variant)
    return [
        label
        for label in labels_in(rows)
        if ((own == 1).all() if len(own := speedups[rows["label"] == label].dropna()) else label in names)
    ]


def _names_of_baseline(frame: pd.DataFrame, variant: str) -> set[str]:
    """Return the series that a baseline can have, with the name of each run where series carry it."""
    recorded = frame.loc[frame["baseline"] == variant, BASELINE_LABEL].dropna().unique()
    names = {str(name) for name in recorded}
    if RUN_LABEL not in frame:
        return names
    return {f"{name} ({run})" for name in names for run in frame[RUN_LABEL].unique()}


def _ratios_of_medians(frame: pd.DataFrame, wanted: str) -> Comparison:
    """Divide the baseline's median time by each row's."""
    labels = labels_in(frame)
    is_baseline = frame["label" if wanted in labels else "variant"] == wanted
    if not is_baseline.any():
        raise InputError(f"figures.speedup.baseline: found {wanted!r}, expected one of {', '.join(labels)}")
    rows = frame[~is_baseline]
    unknown: dict[str, Any] = dict.fromkeys(SPEEDUPS, float("nan"))
    ratios = _ratios(rows, frame[is_baseline], wanted, frame)
    return Comparison(rows.assign(**{**unknown, "speedup": ratios}), wanted, MEDIANS_NOTE.format(wanted))


def _ratios(rows: pd.DataFrame, baseline: pd.DataFrame, wanted: str, frame: pd.DataFrame) -> pd.Series[float]:
    """Return the median time of the baseline's row of the same problem over each row's.

    That is one of the same run, unless the baseline is a series that names its run.
    """
    import pandas as pd

    keys = [column for column in PROBLEM_COLUMNS if column in frame]
    if not (wanted in labels_in(frame) and runs_must_be_told_apart(frame)):
        keys += RUN_COLUMNS
    times = baseline[[*keys, "time_s"]].rename(columns={"time_s": "baseline_time_s"})
    if times.duplicated(keys).any():
        expected = ", ".join(labels_in(baseline))
        raise InputError(
            f"figures.speedup.baseline: {wanted!r} has several parameter sets, expected one of {expected}"
        )
    joined = rows[[*keys, "time_s"]].merge(times, on=keys, how="left")
    return pd.Series((joined["baseline_time_s"] / joined["time_s"]).to_numpy(), index=rows.index)
