"""The tables that text, LaTeX and page of a report share; they are made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.reporting.failures import missing_packages, without_missing
from harness.reporting.panel_tables import PanelTable, panel_tables
from harness.reporting.tables import Summary, summarize

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 2000
"""Of a run with more rows, or failures, texts have the first; the CSV files have all."""


@dataclass(frozen=True)
class ReportTables:
    """What is shown of the rows of a report."""

    missing: str | None
    """What is not installed, see `missing_packages`; such rows are in no table."""
    rows: pd.DataFrame
    """The other rows."""
    panels: Sequence[PanelTable]
    summary: Summary | None
    """None without rows."""


def report_tables(rows: pd.DataFrame) -> ReportTables:
    """Return the tables of the rows of a report, which are sorted."""
    missing = missing_packages(rows)
    shown = rows if missing is None else without_missing(rows)
    summary = None if shown.empty else summarize(shown, MOST_ROWS)
    return ReportTables(missing, shown, panel_tables(shown), summary)
