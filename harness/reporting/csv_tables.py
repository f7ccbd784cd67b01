"""Summary and results as comma-separated text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS
from harness.system.printable import spreadsheet_text

if TYPE_CHECKING:
    import pandas as pd

SUMMARY_COLUMNS = (
    *RUN_COLUMNS,
    "case",
    "device",
    "executor",
    *PROBLEM_COLUMNS,
    "label",
    "variant",
    "params",
    "chosen",
    "status",
    "phase",
    "reason",
    "error_ratio",
    "time_s",
    "time_low_s",
    "time_high_s",
    "tflops",
    "fraction_of_peak",
    "baseline",
    "speedup",
    "speedup_low",
    "speedup_high",
    "recompute_factor",
    "registers",
    "spills",
    "accumulator_registers",
    "scalar_registers",
    "scratch_bytes",
    "shared_bytes",
    "occupancy",
    "bank_conflicts",
    "model.fraction_of_peak",
    "model.bound",
    "noise",
    "busy",
    "flop_convention",
)
"""Columns of `summary.csv`, in base units (seconds, TFLOP/s, shares of 1)."""

SUMMARY_DIGITS = 6
"""Significant digits in `summary.csv`."""


def summary_csv(frame: pd.DataFrame) -> str:
    """Return the summary with values in base units, six significant digits; empty is not measured."""
    columns = [column for column in SUMMARY_COLUMNS if column in frame]
    return _csv(frame[columns], float_format=f"%.{SUMMARY_DIGITS}g")


def full_csv(frame: pd.DataFrame) -> str:
    """Return every column of a prepared frame, unrounded."""
    return _csv(frame)


def _csv(frame: pd.DataFrame, float_format: str | None = None) -> str:
    """Return a table as text in which no cell is a formula of a spreadsheet."""
    return frame.apply(_without_formulas).to_csv(index=False, float_format=float_format, lineterminator="\n")


def _without_formulas(column: pd.Series[Any]) -> pd.Series[Any]:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype):
        return column
    return column.map({text: spreadsheet_text(str(text)) for text in column.dropna().unique()})
