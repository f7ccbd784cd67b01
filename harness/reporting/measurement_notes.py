"""What a reader must know of how rows were measured: sentences for captions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from harness.reporting.units import WIDEST, percent
from harness.system.plurals import counted
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd

WITHOUT_DEVICE = {Status.EMULATED: "emulated", Status.BUILT: "built, not run"}
"""What is said of rows whose target has no device here."""


def without_times(statuses: Collection[str]) -> str:
    """Return that no time was measured, where rows of such statuses had no device; else nothing."""
    ends = " and ".join(words for status, words in WITHOUT_DEVICE.items() if status in statuses)
    return f"{ends}: no time was measured" if ends and Status.PASSED not in statuses else ""


def measurement_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, on samples and for each doubt about the times in a frame."""
    timed = frame.loc[frame["time_s"].notna()]
    rounds, starts = _range(timed["samples"]), _range(timed["starts"])
    if rounds:
        taken = [_counted(rounds, "round"), *([_counted(starts, "start")] if starts else [])]
        yield f"Samples: {' in '.join(taken)}"
    busy = _count(timed["busy"])
    if busy:
        yield f"Busy, others used the processors meanwhile: {busy} of {counted(len(timed), 'row')}"
    wide = _count(_is_wide(timed, "time_s", "time") | _is_wide(timed, "speedup", "speedup"))
    if wide:
        yield (
            f"Times whose interval is wider than half of them, for which budget_s was too small: {wide} of "
            f"{counted(len(timed), 'row')}"
        )
    single = int((timed["starts"].fillna(1) == 1).sum())
    if single:
        yield (
            f"Timed in one start, so that intervals do not hold what differs between processes: {single} of "
            f"{counted(len(timed), 'row')}"
        )


def peak_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, on each unit's peak, and on rows that are above it."""
    timed = frame.loc[frame["time_s"].notna()]
    for unit, rows in timed.groupby("peak_unit", sort=True):
        spreads = rows["peak_noise"].dropna()
        if len(spreads):
            ends = dict.fromkeys(percent(end) for end in (spreads.min(), spreads.max()))
            yield f"The peak of {unit}, in turns with the rows, spreads by {'–'.join(ends)} % (interquartile)"
    yield from too_low_peak_notes(frame)


def too_low_peak_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, on rows that are faster than the peak that was measured."""
    faster = frame[frame["fraction_of_peak"] > 1]
    for unit, rows in faster.groupby(faster["peak_unit"].fillna("the measured unit"), sort=True):
        yield (
            f"Above 100 % of the peak of {unit}, which they do not use alone, or it was measured too low: "
            f"{counted(len(rows), 'row')}"
        )


def _is_wide(rows: pd.DataFrame, value: str, name: str) -> pd.Series:
    """Return which rows know a value within a wide interval only, see `harness.reporting.units.is_wide`."""
    low, high = (rows[f"{name}_{end}{'_s' * (name == 'time')}"] for end in ("low", "high"))
    return (high - low) > WIDEST * rows[value].abs()


def _range(numbers: pd.Series) -> str:
    values = sorted({int(number) for number in numbers.dropna().unique()})
    return "" if not values else f"{values[0]}" if len(values) == 1 else f"{values[0]}–{values[-1]}"


def _counted(number: str, noun: str) -> str:
    """Return `1 round`, `6 rounds`, or `6–9 rounds`."""
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def _count(flags: pd.Series) -> int:
    return int(flags.fillna(False).astype(bool).sum())
