"""Texts of a table as pyarrow has them; tables of rows are tested with the rows, in test_result.py."""

import pandas

from harness.results.frame import arrow_texts, is_among


def test_texts_are_one_array_wherever_they_lie():
    parts = [pandas.Series(texts, dtype="str") for texts in (["a", None], ["b"])]
    texts = arrow_texts(pandas.concat(parts, ignore_index=True))
    assert texts.to_pylist() == ["a", None, "b"]
    assert arrow_texts(pandas.Series([None, None], dtype=object)).to_pylist() == [None, None]
    assert arrow_texts([]).to_pylist() == []


def test_a_missing_text_is_among_no_others():
    texts = pandas.Series(["a", None, "b", "a"], dtype="str")
    assert is_among(texts, pandas.Series(["a", None], dtype="str")).tolist() == [True, False, False, True]
    assert is_among(texts, ["b"]).tolist() == [False, False, True, False]
    assert is_among(texts, []).tolist() == [False] * 4
