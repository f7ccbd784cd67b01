import pandas as pd

from harness.reporting.distinct import first_rows, numbered


def test_combinations_of_values_are_numbered_in_the_order_of_their_first_rows() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y", "x"], "b": [1.0, None, None, None], "same": "z"})
    numbers = numbered(frame, ["a", "same", "b"])
    assert numbers.tolist() == [0, 1, 2, 1]
    assert first_rows(numbers).tolist() == [0, 1, 2]
    assert numbered(frame, ["same"]).tolist() == [0, 0, 0, 0]
    assert first_rows(numbered(frame[:0], ["a"])).tolist() == []
