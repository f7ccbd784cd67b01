"""The roofs of a roofline: what a machine can compute at most, and read at most from each level of memory."""

from __future__ import annotations

import csv
import functools
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.reporting import published
from harness.reporting.frames import several_values
from harness.reporting.units import significant

if TYPE_CHECKING:
    import pandas as pd

BANDWIDTH = "bandwidth_gb_s."
"""Begins the columns of measured bandwidths."""
MEMORY = "memory"
"""The level behind all caches."""
ROOF_COLUMNS = ("target", "threads", "dtype")
"""What a roof depends on, besides the device: a panel holds one value of each."""
OPTIONS = "target_options"
"""What it may depend on, too, see `columns_of_roofs`."""


@dataclass(frozen=True)
class Roof:
    """What one device can do at most."""

    device: str
    tflops: float | None
    """The peak, TFLOP/s; None where nobody measured or stated it, or where a row refutes it."""
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    """GB/s by level of memory, the nearest first."""
    is_measured: bool = True
    """Whether that was measured beside the rows, or is stated by a data sheet."""

    def reach(self, level: str, intensity: float) -> float:
        """Return the TFLOP/s that a level of memory and the peak allow at an intensity in FLOP/byte."""
        slope = self.bandwidths[level] * intensity / 1e3
        return slope if self.tflops is None else min(self.tflops, slope)

    def ridge(self, level: str) -> float | None:
        """Return the intensity, FLOP/byte, from which on the peak is the limit."""
        return None if self.tflops is None else 1e3 * self.tflops / self.bandwidths[level]

    def words(self, level: str) -> str:
        """Return what stands at the slope of a level."""
        return f"{level} {significant(self.bandwidths[level])} GB/s"


def with_roof_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return all rows of a report, each with the best peak that a run measured of what it ran on.

    There is none where a row of any run is faster, whichever rows a figure leaves out.
    """
    alike = [frame[column] for column in ("device", *ROOF_COLUMNS, OPTIONS)]
    peaks = frame["peak_tflops"].groupby(alike, dropna=False, sort=False, observed=True).transform("max")
    is_above = (frame["tflops"] > peaks).groupby(alike, dropna=False, sort=False, observed=True)
    return frame.assign(peak_tflops=peaks.where(~is_above.transform("any")))


def columns_of_roofs(frame: pd.DataFrame) -> list[str]:
    """Return the columns of which a panel holds one value each, for one roof of each device.

    Other options of targets are among them only where something else was measured with them.
    """
    place = ["device", *ROOF_COLUMNS]
    measured = ["peak_tflops", *_bandwidth_columns(frame)]
    best = frame.groupby([*place, OPTIONS], dropna=False, sort=False, observed=True)[measured].max()
    differ = any(several_values(best.reset_index(), place, column) for column in measured)
    return [*ROOF_COLUMNS, *([OPTIONS] if differ else [])]


def roofs_of(frame: pd.DataFrame) -> list[Roof]:
    """Return the roof of each device of a panel's rows, see `with_roof_peaks`, that is known at all.

    What runs measured is preferred, of several runs on a device the best; a data sheet is taken where nothing
    was measured.
    """
    roofs = [_measured(rows) or _stated(rows) for _, rows in frame.groupby("device", sort=False)]
    return [roof for roof in roofs if roof is not None]


def data_sheet(device: str, dtype: str) -> Roof | None:
    """Return what the vendor states of a device for a dtype; None where the table has nothing.

    `device` is as in tables of results: the driver's name, with the chip in brackets behind it.
    """
    name = device.rpartition(" (")[0] or device
    for row in _data_sheets():
        if name in row["names"].split(";") and dtype in row["dtypes"].split():
            memory = {MEMORY: float(row["memory_gb_s"])}
            return Roof(row["device"], float(row["tflops"]), memory, is_measured=False)
    return None


@functools.cache
def _data_sheets() -> tuple[dict[str, str], ...]:
    text = importlib.resources.files(published).joinpath("device_peaks.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _measured(rows: pd.DataFrame) -> Roof | None:
    peaks = rows["peak_tflops"].dropna()
    best = {name.removeprefix(BANDWIDTH): float(rows[name].max()) for name in _bandwidth_columns(rows)}
    nearest_first = sorted(best, key=lambda level: (level == MEMORY, level))
    bandwidths = {level: best[level] for level in nearest_first if best[level] > 0}
    if peaks.empty and not bandwidths:
        return None
    peak = None if peaks.empty or (rows["tflops"] > peaks.max()).any() else float(peaks.max())
    return Roof(str(rows["device"].iloc[0]), peak, bandwidths)


def _bandwidth_columns(frame: pd.DataFrame) -> list[str]:
    return [name for name in map(str, frame.columns) if name.startswith(BANDWIDTH)]


def _stated(rows: pd.DataFrame) -> Roof | None:
    if several_values(rows, [], "dtype"):
        return None
    return data_sheet(str(rows["device"].iloc[0]), str(rows["dtype"].iloc[0]))
