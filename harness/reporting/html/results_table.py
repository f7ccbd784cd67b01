"""The sortable table of a page: the summary's columns, reasons and cases, with the numbers of the texts."""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.reporting.frames import PROBLEM_COLUMNS, is_missing, records, varying
from harness.reporting.summary_columns import Column, measured_columns, problem_columns
from harness.system.errors import cut
from harness.system.status import FAILURES

MOST_ROWS = 5000
"""Rows of the table; of more the page has failures first, results.csv has all."""
LONGEST_CELL = 400
RAW_DIGITS = 6
"""Significant digits of the numbers that the table is sorted by."""
MOST_CHOICES = 40
"""Different texts of a column that are offered as a list to choose from; of more one searches."""


@dataclass(frozen=True)
class ResultsTable:
    """The table as data for a page."""

    columns: list[dict[str, Any]]
    """Title, whether it is of numbers, whether its texts are offered as a list."""
    rows: list[list[Any]]
    """Of each row the texts; for a column of numbers text and number."""
    hidden: int


def results_table(frame: pd.DataFrame) -> ResultsTable:
    """Return the table of a prepared frame; rows keep their order where there is room for all."""
    columns = [*problem_columns(frame), *measured_columns(frame), *_ending(frame)]
    shown = frame if len(frame) <= MOST_ROWS else frame.iloc[failures_first(frame)[:MOST_ROWS]]
    rows = records(shown)
    cells = [[_cell(column, row) for column in columns] for row in rows]
    return ResultsTable(
        columns=[_described(column, [row[place] for row in cells]) for place, column in enumerate(columns)],
        rows=cells,
        hidden=len(frame) - len(shown),
    )


def _ending(frame: pd.DataFrame) -> list[Column]:
    columns = [Column(name, name, str, is_number=False) for name in ("phase", "reason", "case", "device")]
    shown = [column for column in columns if frame[column.source].notna().any()]
    return [column for column in shown if column.source != "device" or varying(frame, ["device"])]


def failures_first(frame: pd.DataFrame) -> np.ndarray:
    """Return the places of all rows, failures before others."""
    failed = frame["status"].isin([str(status) for status in FAILURES])
    return (~failed).to_numpy().argsort(kind="stable")


def _cell(column: Column, row: dict[str, Any]) -> Any:
    text = cut(column.cell(row), LONGEST_CELL)
    return [text, raw_number(row[column.source])] if column.is_number else text


def raw_number(value: Any) -> float | None:
    """Return a number as JSON can hold it, rounded; None where there is none."""
    if is_missing(value):
        return None
    number = float(f"{float(value):.{RAW_DIGITS}g}")
    return number if math.isfinite(number) else math.copysign(sys.float_info.max, number)


def _described(column: Column, cells: list[Any]) -> dict[str, Any]:
    is_problem = column.source in PROBLEM_COLUMNS
    texts = {cell[0] if column.is_number else cell for cell in cells}
    return {
        "title": column.header.replace("\n", " "),
        "isNumber": column.is_number,
        "isStatus": column.source == "status",
        "isLong": column.source == "reason",
        "isChosen": len(texts) <= MOST_CHOICES and (is_problem or not column.is_number),
    }
