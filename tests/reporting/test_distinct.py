import math
from typing import Any

import pandas as pd
import pytest

from harness.reporting.distinct import first_rows, has_one_value, numbered


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([], "str", True),
        (["a", "b", "a"], "str", False),
        (["a", None, "a"], "str", False),
        ([None, None], "str", True),
        ([1, None, 1], "Int64", False),
        ([True, None, True], "boolean", False),
        ([0.5, math.nan, 0.5], "float64", False),
        (["a", "a"], "category", True),
    ],
)
def test_missing_counts_as_a_value_of_a_column(values: list[Any], dtype: str, expected: bool) -> None:
    column = pd.Series(values, dtype=dtype)
    assert has_one_value(column) is expected
    assert expected is (column.nunique(dropna=False) < 2)


def test_combinations_of_values_are_numbered_in_the_order_of_their_first_rows() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y", "x"], "b": [1.0, None, None, None], "same": "z"})
    numbers = numbered(frame, ["a", "same", "b"])
    assert numbers.tolist() == [0, 1, 2, 1]
    assert first_rows(numbers).tolist() == [0, 1, 2]
    assert numbered(frame, ["same"]).tolist() == [0, 0, 0, 0]
    assert first_rows(numbered(frame[:0], ["a"])).tolist() == []
