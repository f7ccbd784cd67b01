"""The measured peaks that rows of a throughput figure were compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.layout import describe_value
from harness.reporting.frames import RUN_COLUMNS, RUN_LABEL, run_names, several_values, varying
from harness.reporting.units import Unit, significant

if TYPE_CHECKING:
    import pandas as pd

IN_SIGHT = 1.6
"""A peak further above all data of a figure than this factor is written, not drawn to scale."""
MEASURED_FOR = ("target", "device", "threads", "dtype", "target_options")
"""Columns that a peak may depend on, besides the run: each measures its own."""
SHOWN = "shown_peak"
"""Column of peaks as they are written: what is equal there counts as equal."""


@dataclass(frozen=True)
class Peak:
    """A measured peak, in the unit of the vertical axis."""

    value: float
    unit: Unit
    owner: str = ""
    """What it is the peak of, where a panel has rows that have another one, or none."""

    @property
    def text(self) -> str:
        """The words at the line."""
        words = f"measured peak {significant(self.value)} {self.unit.symbol}"
        return f"{words} ({self.owner})" if self.owner else words


def peaks_of(frame: pd.DataFrame, unit: Unit) -> list[Peak]:
    """Return the peaks that a panel's rows were compared with, each a measured one; equal ones count once.

    They are told apart, and from rows that have none, by what they were measured for and, where that is not
    enough, by their runs.  One without an owner is the peak of all rows that have a rate.
    """
    rows = _with_peaks(frame)
    names: list[str] = []
    for column in varying(rows, (*MEASURED_FOR, RUN_LABEL)):
        if several_values(rows, names, SHOWN):
            names.append(column)
    groups = rows.groupby(names, dropna=False, observed=True, sort=False) if names else [((), rows)]
    peaks: dict[str, Peak] = {}
    for values, members in groups:
        if members["peak_tflops"].isna().all():
            continue
        owner = ", ".join(_owner(name, value) for name, value in zip(names, values, strict=True))
        peak = Peak(float(members["peak_tflops"].max()) * unit.factor, unit, owner)
        equal = peaks.get(significant(peak.value))
        peaks[significant(peak.value)] = peak if equal is None else _joined(equal, peak)
    return sorted(peaks.values(), key=lambda peak: peak.value)


def _with_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a rate, each with the peak of what it ran on, also as it is written.

    While a run goes on, its highest peak so far counts.
    """
    rows = frame[frame["tflops"].notna()]
    found = rows["peak_tflops"].fillna(rows["tflops"] / rows["fraction_of_peak"]).astype(float)
    rows = rows.assign(peak_tflops=found.where(found.gt(0) & found.lt(float("inf"))))
    rows[RUN_LABEL] = _run_names(rows)
    alike = rows.groupby([*MEASURED_FOR, RUN_LABEL], dropna=False, observed=True, sort=False)
    peaks = alike["peak_tflops"].transform("max")
    rows["peak_tflops"], rows[SHOWN] = peaks, peaks.map(significant)
    return rows


def _run_names(rows: pd.DataFrame) -> list[str]:
    """Return what the run of each row is called, in its series where they carry it."""
    if RUN_LABEL in rows:
        return list(rows[RUN_LABEL])
    names = run_names(rows)
    return [names[run] for run in zip(*(rows[column] for column in RUN_COLUMNS), strict=True)]


def _owner(column: str, value: Any) -> str:
    return str(value) if column == RUN_LABEL else describe_value(column, value)


def _joined(one: Peak, other: Peak) -> Peak:
    return replace(one, value=max(one.value, other.value), owner=f"{one.owner}; {other.owner}")
