"""The measured peaks that rows of a throughput figure were compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.reporting.captions import forms_in_words
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
    text: str
    """With what it is the peak of, where a panel has rows that have another one, or none."""


def peaks_of(frame: pd.DataFrame, unit: Unit) -> list[Peak]:
    """Return the peaks that a panel's rows were compared with, each a measured one; equal ones count once.

    They are told apart, and from rows that have none, by what they were measured for and, where that is not
    enough, by their runs.
    """
    rows = _with_peaks(frame)
    names: list[str] = []
    for column in varying(rows, (*MEASURED_FOR, RUN_LABEL)):
        if several_values(rows, names, SHOWN):
            names.append(column)
    owners: dict[float, list[str]] = {}
    for _, of_peak in rows.dropna(subset="peak_tflops").groupby(SHOWN, sort=False):
        forms = list(dict.fromkeys(of_peak[names].itertuples(index=False, name=None)))
        owners[float(of_peak["peak_tflops"].max()) * unit.factor] = forms_in_words(names, forms)
    return [
        Peak(
            value,
            f"measured peak {significant(value)} {unit.symbol}" + (f" ({'; '.join(of)})" if any(of) else ""),
        )
        for value, of in sorted(owners.items())
    ]


def _with_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a rate, each with the peak of what it ran on, also as it is written.

    While a run goes on, its highest peak so far counts.
    """
    rows = frame[frame["tflops"].notna()]
    peaks = rows["peak_tflops"].fillna(rows["tflops"] / rows["fraction_of_peak"]).astype(float)
    rows = rows.assign(peak_tflops=peaks.where(peaks.gt(0) & peaks.lt(float("inf"))))
    if RUN_LABEL not in rows:
        names = run_names(rows)
        runs = zip(*(rows[column] for column in RUN_COLUMNS), strict=True)
        rows[RUN_LABEL] = [names[run] for run in runs]
    alike = rows.groupby([*MEASURED_FOR, RUN_LABEL], dropna=False, observed=True, sort=False)
    highest = alike["peak_tflops"].transform("max")
    return rows.assign(**{"peak_tflops": highest, SHOWN: highest.map(significant)})
