"""What the model of a kernel's loop predicts, beside what a device's clock says of the same code.

The share of the dense peak that was measured is

    operations executed / time / (operations of a cycle at the dense peak · cycles of the clock in a second)

with the clock that was read while the case was timed.  It needs no measured peak, and no clock that a peak is
stated for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.reporting.frames import describe_problem, is_missing, records
from harness.reporting.tables import markdown_rows
from harness.reporting.units import EMPTY, percent, significant

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest

NEEDED = ("time_s", "clock_mhz", "flops_executed", "model.fraction_of_peak", "model.peak_flops_per_cycle")
"""Columns without which a row has no measured share, or no modelled one."""
MEASURED = "measured_fraction_of_dense_peak"

SHOWN: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "clock (MHz)": ("clock_mhz", significant),
    "model: loop (% of peak)": ("model.fraction_of_peak", percent),
    "model: call (% of peak)": ("model.grid_fraction_of_peak", percent),
    "measured (% of peak)": (MEASURED, percent),
    "model: bound by": ("model.bound", str),
    "registers": ("registers", str),
    "registers by the driver": ("driver_registers", str),
    "spills": ("spills", str),
    "local bytes by the driver": ("driver_local_bytes", str),
}
"""Columns of the table: the frame's column, without which there is none, and how its values read."""


def beside_the_clock(frame: pd.DataFrame, manifests: Sequence[Manifest]) -> pd.DataFrame:
    """Return the rows that have a model and a clock, with the column `measured_fraction_of_dense_peak`.

    Only rows of code that ran on a device of the chip that is modelled: code for `sm_80` runs on later chips,
    too, of which its model says nothing.  `manifests` say which chips the devices are.
    """
    missing = [name for name in (*NEEDED, "device") if name not in frame]
    if missing:
        return frame.iloc[:0].assign(**{MEASURED: np.array([], float)})
    chips = {gpu.name: gpu.chip for manifest in manifests for gpu in manifest.gpus}
    is_of_its_chip = [
        device in chips and target.partition(":")[2].startswith(chips[device])
        for device, target in zip(frame["device"].fillna(""), frame["target"], strict=True)
    ]
    rows = frame[np.array(is_of_its_chip, bool) & frame[list(NEEDED)].notna().all(axis=1).to_numpy()]
    executed, seconds, clock, peak = (
        rows[name].to_numpy(dtype=float)
        for name in ("flops_executed", "time_s", "clock_mhz", "model.peak_flops_per_cycle")
    )
    return rows.assign(**{MEASURED: executed / seconds / (peak * clock * 1e6)})


def markdown_beside_the_clock(frame: pd.DataFrame, manifests: Sequence[Manifest]) -> str:
    """Return these rows as a table in Markdown; empty where there is none."""
    rows = beside_the_clock(frame, manifests)
    if rows.empty:
        return ""
    shown = {header: column for header, column in SHOWN.items() if column[0] in rows}
    cells = [
        [
            str(row["label"]),
            str(row["target"]),
            describe_problem(row),
            *(EMPTY if is_missing(row[name]) else text_of(row[name]) for name, text_of in shown.values()),
        ]
        for row in records(rows)
    ]
    headers = ["variant", "target", "problem", *shown]
    return markdown_rows(headers, cells, [False] * 3 + [header != "model: bound by" for header in shown])
