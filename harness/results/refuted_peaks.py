"""Measured peaks that a row refutes: nothing is faster than the peak, so where a row is, the peak is too low.

Whether a peak is refuted is decided once, over all rows of the run that measured it, before anything leaves
rows out.  Equal peaks of one device, target and options in one run are one measurement, whatever dtype or
mask a row has: a row that refutes it refutes it for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

REFUTED_PEAK = "refuted_peak_tflops"
"""Column of `with_refuted_peaks`: the peak of a row, TFLOP/s, where it is refuted."""

REFUTED_BY = "peak_refuted_by"
"""Column of `with_refuted_peaks`: how many rows of the run are faster than that peak."""

SETTING = ("target", "threads", "target_options")
"""Columns of how a device is used, which its peaks may depend on."""

MEASURED_BY = ("experiment", "run", "device", *SETTING)
"""Columns of what measured a peak: equal ones of one run, device and setting are one."""


def without_refuted_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of whole runs, without the fractions of peaks that are too low."""
    found = _refuted(frame)
    return frame if found is None else _cleared(frame, found)


def with_refuted_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of whole runs as `without_refuted_peaks` does, with two columns on those peaks.

    Where no peak is refuted, there are no such columns.
    """
    found = _refuted(frame)
    return frame if found is None else _cleared(frame, found).assign(**found)


def credible_peaks(frame: pd.DataFrame) -> pd.Series[float]:
    """Return the peak of each row, TFLOP/s; none where `with_refuted_peaks` has found it to be too low."""
    peaks = frame["peak_tflops"]
    return peaks.where(frame[REFUTED_PEAK].isna()) if REFUTED_PEAK in frame else peaks


def _cleared(frame: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without their fractions of what `_refuted` has found."""
    return frame.assign(fraction_of_peak=frame["fraction_of_peak"].where(found[REFUTED_PEAK].isna()))


def _refuted(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the refuted peak of each row, and how many rows refute it; None where no row does."""
    import pandas as pd

    if not (frame["tflops"] > frame["peak_tflops"]).any():
        return None
    keys = [frame[column] for column in MEASURED_BY]
    alike = [*keys, frame["dtype"]]  # while a run goes on, the best so far counts
    best = frame["peak_tflops"].groupby(alike, dropna=False, sort=False, observed=True).transform("max")
    is_faster = frame["tflops"] > best
    count = is_faster.groupby([*keys, best], dropna=False, sort=False, observed=True).transform("sum")
    if not is_faster.any():
        return None
    return pd.DataFrame(
        {REFUTED_PEAK: best.where(count > 0), REFUTED_BY: count.astype("Int64").where(count > 0)}
    )
