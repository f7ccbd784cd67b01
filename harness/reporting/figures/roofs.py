"""The roofs of a roofline: what a machine can compute at most, and read at most from each level of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.reporting.frames import records, several_values
from harness.reporting.published.data_sheets import data_sheet
from harness.reporting.units import is_number, significant

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

    @property
    def source(self) -> str:
        """Where the numbers are from, before the word that they are of."""
        return "measured" if self.is_measured else "data sheet"

    def words(self, level: str) -> str:
        """Return what stands at the slope of a level."""
        return f"{level} {significant(self.bandwidths[level])} GB/s"


def with_roof_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return all rows of a report, each with the best peak that a run measured of what it ran on.

    There is none where a row of any run is faster, whichever rows a figure leaves out.
    """
    alike = [frame[column] for column in ("device", *ROOF_COLUMNS, OPTIONS)]
    best = frame["peak_tflops"].groupby(alike, dropna=False, sort=False, observed=True).transform("max")
    is_above = (frame["tflops"] > best).groupby(alike, dropna=False, sort=False, observed=True)
    return frame.assign(peak_tflops=best.where(~is_above.transform("any")))


def columns_of_roofs(frame: pd.DataFrame) -> list[str]:
    """Return the columns of which a panel holds one value each, for one roof of each device.

    Other options of targets are among them only where something else was measured with them.
    """
    place = ["device", *ROOF_COLUMNS]
    measured = ["peak_tflops", *_bandwidth_columns(frame)]
    alike = frame.groupby([*place, OPTIONS], dropna=False, sort=False, observed=True)
    best = alike[measured].max().reset_index()
    differ = any(several_values(best, place, column) for column in measured)
    return [*ROOF_COLUMNS, OPTIONS] if differ else [*ROOF_COLUMNS]


def roofs_of(frame: pd.DataFrame) -> list[Roof]:
    """Return the roof of each device of a panel's rows, see `with_roof_peaks`, that is known at all.

    What runs measured is preferred, of several runs on a device the best; a data sheet is taken where nothing
    was measured.
    """
    roofs = [_measured(rows) or _stated(rows) for _, rows in frame.groupby("device", sort=False)]
    return [roof for roof in roofs if roof is not None]


def _measured(rows: pd.DataFrame) -> Roof | None:
    peaks, device = rows["peak_tflops"].dropna(), str(rows["device"].iloc[0])
    bandwidths = {
        name.removeprefix(BANDWIDTH): float(rows[name].max())
        for name in _bandwidth_columns(rows)
        if rows[name].gt(0).any()
    }
    if peaks.empty and not bandwidths:
        return None
    peak = None if peaks.empty else float(peaks.max())
    if peak is not None and bool((rows["tflops"] > peak).any()):
        peak = None
    nearest_first = sorted(bandwidths, key=lambda level: (level == MEMORY, level))
    return Roof(device, peak, {level: bandwidths[level] for level in nearest_first})


def _bandwidth_columns(frame: pd.DataFrame) -> list[str]:
    return [name for name in map(str, frame.columns) if name.startswith(BANDWIDTH)]


def _stated(rows: pd.DataFrame) -> Roof | None:
    """Return the roof of a data sheet, where all rows are of a type that it states."""
    if several_values(rows, [], "dtype"):
        return None
    row = records(rows.head(1))[0]
    sheet = data_sheet(str(row["device"]), str(row["dtype"]))
    if sheet is None:
        return None
    return Roof(sheet.device, sheet.tflops, {MEMORY: sheet.memory_gb_s}, is_measured=False)


def without_roof(frame: pd.DataFrame) -> list[str]:
    """Return the devices of rows of which no peak is known."""
    known = {str(device) for device, rows in frame.groupby("device") if (_measured(rows) or _stated(rows))}
    return [device for device in frame["device"].dropna().unique() if device not in known]


def intensities(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a place over their arithmetic intensity."""
    return frame[[is_number(value) and value > 0 for value in frame["intensity"]]]
