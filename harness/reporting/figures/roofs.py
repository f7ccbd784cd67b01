"""The roofs of a roofline: what a machine can compute at most, and read at most from each level of memory."""

from __future__ import annotations

import csv
import functools
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.reporting import published
from harness.reporting.frames import records

if TYPE_CHECKING:
    import pandas as pd

BANDWIDTH = "bandwidth_gb_s."
MEMORY = "memory"
"""The level behind all caches."""


@dataclass(frozen=True)
class Roof:
    """What one device can do at most."""

    device: str
    unit: str
    """What the peak is of, `fma-f32` or, of a data sheet, `bf16 tensor-core`; empty where nobody noted it."""
    tflops: float | None
    """The peak, TFLOP/s; None where nobody measured or stated it, or where a row refutes it."""
    bandwidths: Mapping[str, float]
    """GB/s by level of memory, the nearest first."""
    is_measured: bool = True
    """Whether that was measured beside the rows, or is stated by a data sheet."""

    def reach(self, level: str, intensity: float) -> float:
        """Return the TFLOP/s that a level of memory and the peak allow at an intensity in FLOP/byte."""
        slope = self.bandwidths[level] * intensity / 1e3
        return slope if self.tflops is None else min(self.tflops, slope)

    def ridge(self, level: str) -> float:
        """Return the intensity, FLOP/byte, from which on the peak is the limit."""
        return float("inf") if self.tflops is None else 1e3 * self.tflops / self.bandwidths[level]


def best_peaks(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the best measured peak of each device and unit of some rows, TFLOP/s."""
    by_unit = rows.assign(of=rows["peak_unit"].fillna("")).groupby(["device", "of"], sort=False)
    peaks = by_unit["peak_tflops"].max().dropna().reset_index()
    return {(str(row["device"]), str(row["of"])): float(row["peak_tflops"]) for row in records(peaks)}


def roofs_of(rows: pd.DataFrame) -> list[Roof]:
    """Return the roofs of each device of a panel's rows, one for each unit, else data sheets'."""
    roofs: list[Roof | None] = []
    for device, of_device in rows.groupby("device", sort=False):
        by_unit = of_device.groupby(of_device["peak_unit"].fillna(""), sort=False)
        measured = [_measured(of_unit, str(unit)) for unit, of_unit in by_unit]
        roofs += (
            measured if any(measured) else [data_sheet(str(device), of) for of in of_device["dtype"].unique()]
        )
    return [roof for roof in roofs if roof is not None]


def data_sheet(device: str, dtype: str) -> Roof | None:
    """Return what the vendor states of a device for a dtype; None where the table has nothing.

    `device` is as in tables of results: the driver's name, with the chip in brackets behind it.
    """
    name = device.rpartition(" (")[0] or device
    for row in _data_sheets():
        if name in row["names"].split(";") and dtype in row["dtypes"].split():
            memory = {MEMORY: float(row["memory_gb_s"])}
            of = f"{dtype} {row['unit']}"
            return Roof(row["device"], of, float(row["tflops"]), memory, is_measured=False)
    return None


@functools.cache
def _data_sheets() -> tuple[dict[str, str], ...]:
    text = importlib.resources.files(published).joinpath("device_peaks.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _measured(rows: pd.DataFrame, unit: str) -> Roof | None:
    columns = [name for name in map(str, rows.columns) if name.startswith(BANDWIDTH)]
    best = {name.removeprefix(BANDWIDTH): float(rows[name].max()) for name in columns}
    nearest_first = sorted(best, key=lambda level: (level == MEMORY, level))
    bandwidths = {level: best[level] for level in nearest_first if best[level] > 0}
    device = str(rows["device"].iloc[0])
    peak = best_peaks(rows).get((device, unit))
    if peak is None and not bandwidths:
        return None
    is_refuted = peak is not None and bool((rows["tflops"] > peak).any())
    return Roof(device, unit, None if is_refuted else peak, bandwidths)
