"""What vendors state of their devices: dense matrix products and memory, for roofs that nobody measured.

A data sheet is only taken for a device whose name says which it is, and never called measured.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
from dataclasses import dataclass

TABLE = "device_peaks.csv"


@dataclass(frozen=True)
class DataSheet:
    """A device as its vendor states it."""

    device: str
    names: tuple[str, ...]
    """What drivers call it."""
    dtypes: tuple[str, ...]
    """What the peak is for."""
    tflops: float
    """Dense matrix products, TFLOP/s."""
    memory_gb_s: float
    """Bandwidth of the device's memory, GB/s."""


def data_sheet(device: str, dtype: str) -> DataSheet | None:
    """Return what the vendor states of a device for a dtype; None where the table has nothing.

    `device` is as in tables of results: the driver's name, with the chip in brackets behind it.
    """
    name = device.rpartition(" (")[0] or device
    return next((sheet for sheet in _table() if name in sheet.names and dtype in sheet.dtypes), None)


@functools.cache
def _table() -> tuple[DataSheet, ...]:
    text = importlib.resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return tuple(
        DataSheet(
            device=row["device"],
            names=tuple(row["names"].split(";")),
            dtypes=tuple(row["dtypes"].split()),
            tflops=float(row["tflops"]),
            memory_gb_s=float(row["memory_gb_s"]),
        )
        for row in csv.DictReader(text.splitlines())
    )
