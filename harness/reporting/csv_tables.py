"""Results as comma-separated text."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from harness.system.printable import spreadsheet_text


def full_csv(frame: pd.DataFrame) -> str:
    """Return every column of a prepared frame, unrounded; no cell is a formula of a spreadsheet."""
    return frame.apply(_without_formulas).to_csv(index=False, lineterminator="\n")


def _without_formulas(column: pd.Series[Any]) -> pd.Series[Any]:
    if is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype):
        return column
    return column.map({text: spreadsheet_text(str(text)) for text in column.dropna().unique()})
