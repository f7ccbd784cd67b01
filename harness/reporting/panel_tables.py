"""What a reader looks for first: variants down, lengths across, a table for each head dim and mask.

For a paper they are one table for each kind of problem, in which dtypes are groups of columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
from rich.table import Table
from rich.text import Text

from harness.reporting.captions import FIXED_LENGTH, problem_words
from harness.reporting.figures.base import Unreadable
from harness.reporting.figures.layout import Panel, check_readable, panel_columns, panel_grid
from harness.reporting.figures.places import LENGTHS, SAME_LENGTHS, along, x_label
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    is_own_baseline,
    labels_in,
    records,
    units_of,
    varying,
)
from harness.reporting.grids import Row, Value, grid_of, outcome
from harness.reporting.summary_columns import summary_title
from harness.reporting.tables import markdown_rows, whole_table
from harness.reporting.units import (
    EMPTY,
    UNCLEAR,
    UNCLEAR_NOTE,
    WIDE,
    WIDE_NOTE,
    Unit,
    has_wide_interval,
    interval,
    is_number,
    is_unclear,
    scaled,
    significant,
)
from harness.system.status import Status

PANELS = ("head_dim", "mask")
ACROSS = ("dtype",)
"""What splits panels, and is a group of columns in the one table of a paper."""
BUSY = "†"
BUSY_NOTE = f"{BUSY} measured while others used the machine"


@dataclass(frozen=True)
class PanelTable:
    """One panel as a table, a row for each series."""

    title: str
    """What its rows share and others do not, the unit, and what speed-ups are over."""
    places: tuple[str, ...]
    rows: Mapping[str, Sequence[str]]
    """Throughput and speed-up at each place, a mark where the speed-up may be none."""
    with_intervals: Mapping[str, Sequence[str]]
    """The same with the intervals of speed-ups instead of marks."""


def panel_tables(frame: pd.DataFrame) -> list[PanelTable]:
    """Return a table for each panel of a prepared frame.

    There is none where nothing was timed, where there is only one length, and where there would be more
    panels, series or lengths than can be read: then the summary, row by row, says more.
    """
    split = _split(frame)
    if split is None:
        return []
    frame, x, columns = split
    _, unit = units_of(frame)
    unnamed = varying(frame, (name for name in PROBLEM_COLUMNS if name not in {*LENGTHS, *columns}))
    return [_table(panel, x, unit, unnamed) for panel in panel_grid(frame, columns).panels]


def paper_grids(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return all panels as grids, see `harness.reporting.grids.grid_of`, with what each is of.

    They are one for each of the lengths that stay, such as decoding and prefill: what splits panels besides
    stands down.
    """
    split = _split(frame)
    if split is None:
        return []
    kinds = split[0].get(FIXED_LENGTH)
    parts = [frame] if kinds is None else [part for _, part in frame.groupby(kinds, sort=False)]
    return [(summary_title(part), _paper_grid(part)) for part in parts]


def _paper_grid(frame: pd.DataFrame) -> pd.DataFrame:
    frame, x = along(frame, "seq")
    columns = panel_columns(frame, PANELS, x)
    _, unit = units_of(frame)
    header = unit.symbol + _speedups_over(records(frame))
    value = Value(
        "throughput", header, partial(_cell, unit=unit, has_interval=False), lambda row: row["tflops"]
    )
    down = [*(name for name in columns if name not in ACROSS), "label"]
    across = [*(name for name in columns if name in ACROSS), x]
    grid = grid_of(frame.drop_duplicates([*down, *across], keep="last"), down, across, [value])
    return grid.rename_axis(index=lambda name: "variant" if name == "label" else name)


def _split(frame: pd.DataFrame) -> tuple[pd.DataFrame, str, list[str]] | None:
    frame, x = along(frame, "seq")
    if not frame["time_s"].notna().any() or frame[x].nunique() < 2:
        return None
    try:
        return frame, x, check_readable(frame, PANELS, x)
    except Unreadable:
        return None


def markdown_panel(table: PanelTable) -> str:
    """Return a panel as a GitHub table, its title not included; speed-ups carry their intervals."""
    rows = [(label, *cells) for label, cells in table.with_intervals.items()]
    return markdown_rows(("variant", *table.places), rows, [False, *(True for _ in table.places)])


def rich_panel(table: PanelTable) -> Table:
    """Return a panel as a table for a terminal."""
    columns = [("variant", False), *((place, True) for place in table.places)]
    rows = [(label, *cells) for label, cells in table.rows.items()]
    shown = whole_table(table.title, columns, rows)
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def marks_explained(tables: Sequence[Mapping[str, Sequence[str]]]) -> list[str]:
    """Return what the marks in the rows of tables mean, a line for each that there is."""
    texts = [text for rows in tables for cells in rows.values() for text in cells]
    meanings = {BUSY: BUSY_NOTE, WIDE: WIDE_NOTE, UNCLEAR: UNCLEAR_NOTE}
    return [note for mark, note in meanings.items() if any(mark in text for text in texts)]


def _table(panel: Panel, x: str, unit: Unit, unnamed: Sequence[str]) -> PanelTable:
    """Return the table of a panel; its title names what it has of columns that no heading names."""
    frame, label = panel.frame, x_label(panel.frame, x)
    by_length = "" if label == SAME_LENGTHS else f"by {label}"
    rows = {(str(row["label"]), row[x]): row for row in records(frame)}
    speedups = _speedups_over(rows.values())
    words = [panel.heading, by_length, *problem_words(frame, unnamed), f"{unit.symbol}{speedups}"]
    places = sorted(frame[x].unique())

    def texts(has_interval: bool) -> dict[str, list[str]]:
        return {
            label: [_cell(rows.get((label, place)), unit, has_interval) for place in places]
            for label in labels_in(frame)
        }

    return PanelTable(", ".join(filter(None, words)), tuple(map(str, places)), texts(False), texts(True))


def _speedups_over(rows: Iterable[Row]) -> str:
    """Return what the speed-ups of some rows are over, ` (speed-up over unfused)`; empty without any."""
    over = {str(row[BASELINE_LABEL]) for row in rows if _speedup(row, has_interval=True)}
    if len(over) == 1:
        return f" (speed-up over {over.pop()})"
    return " (speed-ups over different baselines)" if over else ""


def marks_of(row: Row) -> str:
    """Return the marks of a row whose time is to be taken with care."""
    return BUSY * (row["busy"] is True) + WIDE * has_wide_interval(row)


def _cell(row: Row | None, unit: Unit, has_interval: bool) -> str:
    if row is None:
        return EMPTY
    if not is_number(row["time_s"]):
        return "not timed" if row["status"] == Status.PASSED else outcome(row)
    return scaled(row["tflops"], unit.factor) + marks_of(row) + _speedup(row, has_interval)


def _speedup(row: Row, has_interval: bool) -> str:
    """Return the speed-up of a case over another one, ` (1.43× [1.42, 1.44])`, empty where there is none."""
    if not is_number(row["speedup"]) or is_own_baseline(row):
        return ""
    text, bounds = f"{significant(row['speedup'])}×", (row["speedup_low"], row["speedup_high"])
    if not has_interval:
        return f" ({UNCLEAR * is_unclear(*bounds)}{text})"
    return f" ({text} {interval(*bounds)})" if is_number(bounds[0]) else f" ({text})"
