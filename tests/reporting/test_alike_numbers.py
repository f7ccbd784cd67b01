"""Numbers that agree in six digits are told apart wherever problems are named."""

import pandas as pd
from synthetic_results import make_result

from harness.reporting.captions import problem_words
from harness.reporting.frames import distinct_texts, prepare, records
from harness.reporting.summary_columns import problem_columns
from harness.results.frame import results_frame

ALIKE = (0.1234567, 0.1234568, 0.25)
EXACT = ["0.1234567", "0.1234568", "0.25"]


def frame() -> pd.DataFrame:
    rows = [make_result("flash", 64, case=str(value), softcap=value) for value in ALIKE]
    return prepare(results_frame(rows))


def test_only_numbers_that_would_look_alike_are_exact() -> None:
    text_of = distinct_texts([*ALIKE, 1 / 3, 2.0, float("nan"), None])
    assert [text_of(value) for value in (*ALIKE, 1 / 3, 2.0)] == [*EXACT, "0.333333", "2"]


def test_cells_of_the_summary_tell_rows_apart() -> None:
    shown = frame()
    (column,) = problem_columns(shown)
    assert [column.cell(row) for row in records(shown)] == EXACT


def test_the_ends_of_a_range_are_told_apart() -> None:
    scales = [0.1234567 + 1e-8 * number for number in range(5)]
    rows = [make_result("flash", 64, case=str(value), softcap=value) for value in scales]
    (words,) = (text for text in problem_words(prepare(results_frame(rows)), ["softcap"]) if "…" in text)
    low, high = words.removeprefix("softcap ").split(" … ")
    assert (float(low), float(high)) == (scales[0], scales[-1])
