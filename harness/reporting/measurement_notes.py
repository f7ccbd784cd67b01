"""What a reader must know of how rows were measured: sentences for captions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.plurals import counted
from harness.reporting.frames import RUN_LABEL, records
from harness.reporting.units import has_wide_interval, rate_unit, significant
from harness.results.refuted_peaks import MEASURED_BY, REFUTED_BY, REFUTED_PEAK, credible_peaks

if TYPE_CHECKING:
    import pandas as pd

MOST_PEAKS = 4
"""More peaks than this are given as a range, and more runs are counted."""


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
            f"Intervals wider than half of their value, for which budget_s was too small: {wide} of "
            f"{counted(len(timed), 'row')}"
        )
    disturbed = int(timed["order_effect"].notna().sum())
    if disturbed:
        largest = timed["order_effect"].abs().max()
        yield (
            f"Times that depend on the candidate that ran before, by up to {largest:.0%}: {disturbed} of "
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
    columns = [*MEASURED_BY, "dtype", "peak_busy", "peak_tflops", "tflops"]
    timed = frame.loc[frame["time_s"].notna(), columns]
    if _count(timed["peak_busy"]):
        yield "The measured peak is of a busy machine and may be too low"
    compared = timed.assign(peak_tflops=credible_peaks(frame)).dropna(subset="peak_tflops")
    alike = compared.groupby([*MEASURED_BY, "dtype"], dropna=False)
    if (alike["peak_tflops"].nunique() > 1).any():
        yield "Fractions of peak are of several peaks, since a run has not ended: --resume ends it"
    yield from refuted_peak_notes(frame)


def refuted_peak_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, on the peaks of a prepared frame's rows that are too low.

    Rows that refute them count wherever in the report they are.
    """
    if REFUTED_PEAK not in frame:
        return
    refuted = frame[frame["tflops"].notna() & frame[REFUTED_PEAK].notna()]
    peaks = refuted[[*MEASURED_BY, REFUTED_PEAK, REFUTED_BY]].drop_duplicates()
    if peaks.empty:
        return
    values, count = sorted(peaks[REFUTED_PEAK].unique()), int(peaks[REFUTED_BY].sum())
    unit = rate_unit(values)
    rates = list(dict.fromkeys(significant(value * unit.factor) for value in values))
    shown = f"{rates[0]} … {rates[-1]}" if len(rates) > MOST_PEAKS else ", ".join(rates)
    noun, verb = ("peak", "is") if len(peaks) == 1 else ("peaks", "are")
    yield (
        f"Faster than the measured {noun} of {shown} {unit.symbol}, which {verb} therefore too low and "
        f"{verb} not compared with: {_counted(str(count), 'row')}{_of_runs(refuted)}"
    )


def _of_runs(rows: pd.DataFrame) -> str:
    """Return which runs rows are of, where series carry the names of their runs."""
    names = list(dict.fromkeys(rows[RUN_LABEL])) if RUN_LABEL in rows else []
    shown = ", ".join(names) if len(names) <= MOST_PEAKS else f"{len(names)} runs"
    return f" ({shown})" if shown else ""


def _range(numbers: pd.Series) -> str:
    """Return the numbers that occur as a text, empty where none is known."""
    known = sorted({int(number) for number in numbers.dropna().unique()})
    return "" if not known else f"{known[0]}" if len(known) == 1 else f"{known[0]}–{known[-1]}"


def _counted(number: str, noun: str) -> str:
    """Return `1 round`, `6 rounds`, or `6–9 rounds`."""
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def _count(flags: pd.Series) -> int:
    return int(flags.fillna(False).astype(bool).sum())
