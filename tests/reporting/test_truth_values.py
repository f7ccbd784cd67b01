"""Truth values of problems have one wording, `yes` and `no`, wherever problems are named."""

import pandas as pd
from synthetic_results import make_result

from harness.reporting.captions import problem_words
from harness.reporting.figures.layout import panel_grid
from harness.reporting.frames import prepare, records
from harness.reporting.summary_columns import problem_columns
from harness.reporting.tables import summarize
from harness.results.frame import results_frame


def frame(*values: bool) -> pd.DataFrame:
    return prepare(
        results_frame([make_result("flash", case=str(value), sinks=value, time_s=1.0) for value in values])
    )


def test_headings_of_panels_say_yes_and_no() -> None:
    grid = panel_grid(frame(False, True), ["sinks"])
    assert [panel.heading for panel in grid.panels] == ["sinks no", "sinks yes"]


def test_captions_say_yes_and_no() -> None:
    assert problem_words(frame(False, True), ["sinks"])[-1] == "sinks no, yes"


def test_cells_of_the_summary_say_yes_and_no() -> None:
    shown = frame(False, True)
    (column,) = problem_columns(shown)
    assert [column.cell(row) for row in records(shown)] == ["no", "yes"]


def test_the_title_of_the_summary_says_yes() -> None:
    assert "sinks yes" in summarize(frame(True)).title
