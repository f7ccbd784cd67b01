import io
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from synthetic_results import make_result

from harness.reporting import csv_tables
from harness.reporting.csv_tables import csv_lines, full_csv, summary_csv
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.status import Status


def text_of(pieces: Iterator[bytes | memoryview]) -> str:
    return b"".join(pieces).decode()


@pytest.fixture
def frame() -> pd.DataFrame:
    """A timed row, and one that failed."""
    return prepare(
        results_frame(
            [
                make_result("flash", 256, time_s=0.00136957, speedup=2.0631),
                make_result("unfused", 512, status=Status.OUT_OF_MEMORY, phase="run", reason="killed"),
            ]
        )
    )


def test_the_summary_csv_holds_base_units_and_empty_cells(frame: pd.DataFrame) -> None:
    header, first, *_, last = text_of(summary_csv(frame)).splitlines()
    values = dict(zip(header.split(","), first.split(","), strict=True))
    assert (values["label"], values["time_s"], values["speedup"]) == ("flash", "0.00136957", "2.0631")
    failed = dict(zip(header.split(","), last.split(","), strict=True))
    assert (failed["status"], failed["time_s"], failed["speedup"]) == ("out-of-memory", "", "")


def test_the_full_csv_holds_every_column(frame: pd.DataFrame) -> None:
    header, first, *_ = text_of(full_csv(frame)).splitlines()
    assert header.split(",") == [str(column) for column in frame.columns]
    assert first.split(",")[header.split(",").index("flops")] == str(4 * 16 * 256 * 256 * 64)


def test_cells_of_a_csv_are_quoted_where_they_must_be() -> None:
    frame = pd.DataFrame({"a,b": ['say "x"', None, "two\nlines"], "n": [0.1, float("nan"), 1 / 3]})
    text = text_of(csv_lines(frame))
    assert text == '"a,b",n\n"say ""x""",0.1\n,\n"two\nlines",0.3333333333333333\n'
    assert pd.read_csv(io.StringIO(text), dtype_backend="numpy_nullable")["n"][2] == 1 / 3


def test_cells_of_a_csv_may_repeat_or_be_missing_in_any_column() -> None:
    frame = pd.DataFrame(
        {
            "same": ["=1+1"] * 3,
            "missing": [None] * 3,
            "begins": pd.Series(["-x", "-1", "a,b"], dtype="str"),
            "gaps": pd.Series([None, "x", "y"], dtype="str"),
            "whole": pd.array([1, None, 1], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "label": pd.Categorical(["p", "q", "p"]),
            "number": [float("nan")] * 3,
        }
    )
    assert text_of(csv_lines(frame)).splitlines()[1:] == [
        "'=1+1,,'-x,,1,True,p,",
        "'=1+1,,-1,x,,,q,",
        '\'=1+1,,"a,b",y,1,False,p,',
    ]
    assert text_of(csv_lines(frame[["same", "number"]])) == "same,number\n" + "'=1+1,\n" * 3
    assert text_of(csv_lines(frame[:0][["same", "number"]])) == "same,number\n"


def test_a_csv_is_the_same_in_one_piece_and_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "first": [1, 1, 1, 2, 2],
            "same": "é",
            "text": ["a", "=b", "a", "a,", "ü"],
            "time_s": [*random.random(3), float("nan"), 2.5e-7],
            "last": pd.array([None, None, None, None, 7], dtype="Int64"),
        }
    )
    whole = text_of(csv_lines(frame))
    assert whole.splitlines()[4:] == ['2,é,"a,",,', "2,é,ü,2.5e-07,7"]
    for rows in (1, 2, 3):
        monkeypatch.setattr(csv_tables, "BATCH", rows)
        assert text_of(csv_lines(frame)) == whole


def test_a_csv_says_numbers_as_python_does() -> None:
    values = [0.1, 1 / 3, 2.0, 1e-5, 12345678.9, 1e20, float("inf"), -0.25]
    for digits, expected in ((None, [*map(repr, values)]), (6, [f"{value:.6g}" for value in values])):
        assert text_of(csv_lines(pd.DataFrame({"n": values}), digits)).splitlines() == ["n", *expected]


def test_texts_of_a_csv_may_lie_in_several_pieces_of_memory() -> None:
    pieces = [pd.Series(texts, dtype="str") for texts in (["a", "b"], ["c", "d"])]
    frame = pd.DataFrame({"text": pd.concat(pieces, ignore_index=True)})
    assert text_of(csv_lines(frame)) == "text\na\nb\nc\nd\n"
