"""What a reader must know of how rows were measured: sentences for captions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.reporting.frames import RUN_COLUMNS

if TYPE_CHECKING:
    import pandas as pd


def measurement_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, on samples and for each doubt about the times in a frame."""
    timed = frame.loc[frame["time_s"].notna(), ["samples", "starts", "busy", "order_effect"]]
    rounds, starts = _range(timed["samples"]), _range(timed["starts"])
    if rounds:
        taken = [_counted(rounds, "round"), *([_counted(starts, "start")] if starts else [])]
        yield f"Samples: {' in '.join(taken)}"
    busy = _count(timed["busy"])
    if busy:
        yield f"Busy, others used the processors meanwhile: {busy} of {len(timed)} rows"
    disturbed = int(timed["order_effect"].notna().sum())
    if disturbed:
        largest = timed["order_effect"].abs().max()
        yield (
            f"Times that depend on the candidate that ran before, by up to {largest:.0%}: {disturbed} of "
            f"{len(timed)} rows"
        )
    single = int((timed["starts"].fillna(1) == 1).sum())
    if single:
        yield (
            f"Timed in one start, so that intervals do not hold what differs between processes: {single} of "
            f"{len(timed)} rows"
        )


def peak_notes(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence, without its full stop, for each doubt about the peaks of the rates."""
    columns = [*RUN_COLUMNS, "target", "dtype", "threads", "peak_busy", "peak_tflops", "tflops"]
    timed = frame.loc[frame["time_s"].notna(), columns]
    if _count(timed["peak_busy"]):
        yield "The measured peak is of a busy machine and may be too low"
    compared = timed[timed["peak_tflops"].notna()].groupby(
        [*RUN_COLUMNS, "target", "dtype", "threads"], dropna=False
    )
    if (compared["peak_tflops"].nunique() > 1).any():
        yield "Fractions of peak are of several peaks, since a run has not ended: --resume ends it"
    above = int((timed["tflops"] > timed["peak_tflops"]).sum())
    if above:
        yield (
            "Faster than the measured peak, which is therefore too low and is not compared with: "
            f"{above} of {len(timed)} rows"
        )


def _range(numbers: pd.Series) -> str:
    """Return the numbers that occur as a text, empty where none is known."""
    known = sorted({int(number) for number in numbers.dropna().unique()})
    return "" if not known else f"{known[0]}" if len(known) == 1 else f"{known[0]}–{known[-1]}"


def _counted(number: str, noun: str) -> str:
    """Return `1 round`, `6 rounds`, or `6–9 rounds`."""
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def _count(flags: pd.Series) -> int:
    return int(flags.fillna(False).astype(bool).sum())
