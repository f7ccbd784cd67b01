"""Which values, and which combinations of them, the columns of a frame hold; found by whole columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def has_one_value(column: pd.Series[Any]) -> bool:
    """Whether all rows have the same value (missing counts as a value), or there is none."""
    return column.nunique(dropna=False) < 2


def is_of_numbers(column: pd.Series[Any]) -> bool:
    """Whether a column is of numbers; truth values are none."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)


def numbered(frame: pd.DataFrame, columns: Iterable[str]) -> np.ndarray:
    """Return which combination of values of the columns each row has, as its number.

    Combinations are numbered in the order of their first rows; missing counts as a value.
    """
    import numpy as np

    keys = [name for name in dict.fromkeys(columns) if name in frame]
    if not keys:
        return np.zeros(len(frame), dtype=np.int64)
    return frame.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy()


def first_rows(numbers: np.ndarray) -> np.ndarray:
    """Return the place of the first row of each number, see `numbered`."""
    import numpy as np

    return np.unique(numbers, return_index=True)[1]
