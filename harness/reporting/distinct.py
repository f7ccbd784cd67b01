"""Which values, and which combinations of them, the columns of a frame hold; found by whole columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def has_one_value(column: pd.Series[Any]) -> bool:
    """Whether all rows have the same value (missing counts as a value), or there is none.

    Comparing with the first value costs a tenth of counting the values that there are.
    """
    import pandas as pd

    if len(column) < 2:
        return True
    first, last = column.iloc[0], column.iloc[-1]
    if pd.isna(first):
        return bool(column.isna().all())
    if pd.isna(last) or first != last:
        return False
    return bool((column == first).all()) and not column.hasnans


def numbered(frame: pd.DataFrame, columns: Iterable[str]) -> np.ndarray:
    """Return which combination of values of the columns each row has, as its number.

    Combinations are numbered in the order of their first rows; missing counts as a value.
    """
    import numpy as np
    import pandas as pd

    codes = np.zeros(len(frame), dtype=np.int64)
    for column in (frame[name] for name in columns if name in frame):
        if has_one_value(column):
            continue
        of_column, values = pd.factorize(column, use_na_sentinel=False)
        is_first = not codes.any()
        codes = of_column if is_first else pd.factorize(codes * len(values) + of_column)[0]
    return codes


def last_rows(numbers: np.ndarray) -> np.ndarray:
    """Return the place of the last row of each number, see `numbered`."""
    import numpy as np

    places = np.zeros(numbers.max(initial=-1) + 1, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))  # of several values for one place the last one stays
    return places


def first_rows(numbers: np.ndarray) -> np.ndarray:
    """Return the place of the first row of each number, see `numbered`."""
    return len(numbers) - 1 - last_rows(numbers[::-1])
