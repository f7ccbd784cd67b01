"""What a reader must know of how rows were measured: sentences for captions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from harness.reporting.frames import RUN_COLUMNS, is_missing, records
from harness.reporting.units import has_wide_interval
from harness.system.plurals import counted
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd

MEASURED_BY = (*RUN_COLUMNS, "device", "target", "threads", "target_options")
"""What has one peak for each dtype."""
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
    wide = sum(map(has_wide_interval, records(timed)))
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
    """Yield a sentence, without its full stop, for each doubt about the peaks of the rates."""
    timed = frame.loc[frame["time_s"].notna()]
    if _count(timed["peak_busy"]):
        yield "The measured peak is of a busy machine and may be too low"
    alike = timed.dropna(subset="peak_tflops").groupby([*MEASURED_BY, "dtype"], dropna=False, observed=True)
    if (alike["peak_tflops"].nunique() > 1).any():
        yield "Fractions of peak are of several peaks: each part of a run measures its own"
    yield from too_low_peak_notes(frame)


def too_low_peak_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, on rows that are faster than the peak that was measured."""
    faster = frame[frame["tflops"] > frame["peak_tflops"]]
    types = zip(faster["peak_dtype"], faster["dtype"], strict=True)
    others = Counter("" if is_missing(of) or str(of).split()[0] == dtype else str(of) for of, dtype in types)
    for of, number in others.items():
        why = f"of {of} and not of their type" if of else "too low there"
        yield f"Above 100 % of the measured peak, which is {why}: {counted(number, 'row')}"


def _range(numbers: pd.Series) -> str:
    values = sorted({int(number) for number in numbers.dropna().unique()})
    return "" if not values else f"{values[0]}" if len(values) == 1 else f"{values[0]}–{values[-1]}"


def _counted(number: str, noun: str) -> str:
    """Return `1 round`, `6 rounds`, or `6–9 rounds`."""
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def _count(flags: pd.Series) -> int:
    return int(flags.fillna(False).astype(bool).sum())
