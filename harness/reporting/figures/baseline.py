"""Speed-ups over a baseline: the paired ones of a run, or for another baseline ratios of medians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import InputError
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
    compared = next(
        (variant for variant in recorded if name == variant or [name] == _own(frame, variant)), None
    )
    return _ratios_of_medians(frame, name) if compared is None else _paired(frame, compared)


def _paired(frame: pd.DataFrame, variant: str) -> Comparison:
    """Take the speed-ups that the run recorded; the series that is always 1 is the baseline itself."""
    columns = ["speedup", "speedup_low", "speedup_high"]
    is_paired = frame["baseline"] == variant
    paired = frame.assign(**{name: frame[name].where(is_paired) for name in columns})
    own = _own(frame, variant)
    baseline = own[0] if len(own) == 1 else variant
    return Comparison(paired[~paired["label"].isin(own)], baseline, PAIRED_NOTE)


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
    """Divide the baseline's median time by each row's, within a run unless the series names the run."""
    labels = labels_in(frame)
    is_series = wanted in labels
    is_baseline = frame["label" if is_series else "variant"] == wanted
    if not is_baseline.any():
        raise InputError(f"figures.speedup.baseline: found {wanted!r}, expected one of {', '.join(labels)}")
    keys = [column for column in PROBLEM_COLUMNS if column in frame]
    if not (is_series and runs_must_be_told_apart(frame)):
        keys += RUN_COLUMNS
    times = frame.loc[is_baseline, [*keys, "time_s"]].rename(columns={"time_s": "baseline_time_s"})
    if times.duplicated(keys).any():
        expected = ", ".join(labels_in(frame[is_baseline]))
        raise InputError(
            f"figures.speedup.baseline: {wanted!r} has several parameter sets, expected one of {expected}"
        )
    joined = frame[~is_baseline].merge(times, on=keys, how="left")
    return Comparison(
        joined.assign(
            speedup=joined["baseline_time_s"] / joined["time_s"],
            speedup_low=float("nan"),
            speedup_high=float("nan"),
        ),
        wanted,
        MEDIANS_NOTE.format(wanted),
    )
