"""What a reader looks for first: a table for each head dim and mask, variants down, lengths across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.captions import problem_words, said_of_runs, words_of_runs
from harness.reporting.figures.base import Unreadable
from harness.reporting.figures.layout import Panel, check_readable, panel_grid
from harness.reporting.figures.places import LENGTHS, SAME_LENGTHS, along, x_label
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    is_missing,
    is_own_baseline,
    labels_in,
    records,
    units_of,
    varying,
)
from harness.reporting.tables import markdown_rows
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

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

PANELS = ("head_dim", "mask")
BUSY = "†"
BUSY_NOTE = f"{BUSY} measured while others used the machine"


@dataclass(frozen=True)
class Cell:
    """One variant at one length."""

    rate: str
    """Throughput, or what became of the case instead."""
    speedup: float | None = None
    interval: str = ""
    is_unclear: bool = False
    """Whether that interval does not tell the speed-up from 1."""
    over: str | None = None
    """The series that the speed-up is over."""


@dataclass(frozen=True)
class PanelRow:
    """One series of a panel."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class PanelTable:
    """One panel as a table."""

    heading: str
    """What its rows share and others do not, `head dim 64, full mask`."""
    unit: str
    places: tuple[str, ...]
    rows: tuple[PanelRow, ...]
    runs: str = ""
    """In what the runs of all panels differ, `before: heads 8. after: heads 16.`"""

    @property
    def baselines(self) -> tuple[str, ...]:
        """What the panel's speed-ups are over, each once."""
        cells = (cell for row in self.rows for cell in row.cells)
        return tuple(dict.fromkeys(cell.over for cell in cells if cell.over is not None))

    @property
    def title(self) -> str:
        """The heading, the unit, and what speed-ups compare with."""
        words = self.title_without_speedups
        if len(self.baselines) > 1:
            return f"{words} (speed-ups over different baselines)"
        return f"{words} (speed-up over {self.baselines[0]})" if self.baselines else words

    @property
    def title_without_speedups(self) -> str:
        """The heading and the unit."""
        return f"{self.heading}, {self.unit}" if self.heading else self.unit

    def labels(self) -> list[str]:
        """What the rows are called."""
        return [row.label for row in self.rows]

    def texts(self, digits: int = 3, *, with_interval: bool = False) -> list[list[str]]:
        """The cells of all rows, speed-ups with so many digits, none at all for 0.

        Where the speed-ups of a table are over several baselines, each cell names its own.
        """
        names_baseline = len(self.baselines) > 1
        return [
            [_text(cell, digits, with_interval, names_baseline) for cell in row.cells] for row in self.rows
        ]


def panel_tables(frame: pd.DataFrame) -> list[PanelTable]:
    """Return a table for each panel of a prepared frame.

    There is none where nothing was timed, where there is only one length, and where there would be more
    panels, series or lengths than can be read: then the summary, row by row, says more.
    """
    frame, x = along(frame, "seq")
    if not frame["time_s"].notna().any() or frame[x].nunique() < 2:
        return []
    try:
        columns = check_readable(frame, PANELS, x)
        grid = panel_grid(frame, columns)
    except Unreadable:
        return []
    _, unit = units_of(frame)
    of_runs = said_of_runs(frame)
    places = [name for name in LENGTHS if name == x or name not in of_runs]
    runs = words_of_runs(frame, places)
    untold = [name for name in PROBLEM_COLUMNS if name not in {*places, *of_runs, *columns}]
    untold = varying(frame, untold)
    return [_table(_heading(panel, x, untold), panel.frame, x, unit, runs) for panel in grid.panels]


def markdown_panel(table: PanelTable) -> str:
    """Return a panel as a GitHub table, its title not included; speed-ups carry their intervals."""
    texts = table.texts(with_interval=True)
    rows = [(label, *cells) for label, cells in zip(table.labels(), texts, strict=True)]
    return markdown_rows(("variant", *table.places), rows, [False, *(True for _ in table.places)])


def rich_panel(table: PanelTable, width: int) -> Table:
    """Return a panel as a table for a terminal; a narrow one shows speed-ups with fewer digits, or none.

    Instead of the intervals, for which there is no room, a mark says which speed-ups may be none.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    digits = _digits_that_fit(table, width)
    shown = Table(
        title=Text(table.title if digits else table.title_without_speedups, style="table.title"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    shown.add_column("variant", no_wrap=True)
    for place in table.places:
        shown.add_column(place, justify="right", no_wrap=True)
    for label, cells in zip(table.labels(), table.texts(digits), strict=True):
        shown.add_row(Text(label), *map(Text, cells))
    return shown


def notes_on_rates(tables: Sequence[PanelTable]) -> list[str]:
    """Return what the marks of rates mean, a line for each that there is."""
    return marks_explained([table.texts(0) for table in tables])


def terminal_notes(tables: Sequence[PanelTable], width: int) -> list[str]:
    """Return what runs differ in and what marks mean, as a terminal of this width shows them, a line each."""
    shown = [table.texts(_digits_that_fit(table, width)) for table in tables]
    return [*notes_on_runs(tables), *marks_explained(shown)]


def notes_on_runs(tables: Sequence[PanelTable]) -> list[str]:
    """Return a line that says of which problems the runs in the tables are, where they differ."""
    return [tables[0].runs] if tables and tables[0].runs else []


def marks_explained(tables: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """Return what the marks in the texts of tables mean, a line for each that there is."""
    texts = [text for table in tables for row in table for text in row]
    meanings = {BUSY: BUSY_NOTE, WIDE: WIDE_NOTE, UNCLEAR: UNCLEAR_NOTE}
    return [note for mark, note in meanings.items() if any(mark in text for text in texts)]


def _heading(panel: Panel, x: str, untold: Sequence[str]) -> str:
    """Return a panel's heading, and what its rows have of the columns that nothing else tells.

    These vary, from panel to panel or together with the length.  Where lengths of queries and keys differ, it
    says which of both the columns are of.
    """
    label = x_label(panel.frame, x)
    words = [panel.heading] if panel.heading else []
    words += [] if label == SAME_LENGTHS else [f"by {label}"]
    return ", ".join([*words, *problem_words(panel.frame, untold)])


def _table(heading: str, frame: pd.DataFrame, x: str, unit: Unit, runs: str) -> PanelTable:
    places = sorted(frame[x].unique())
    cells = {(str(row["label"]), row[x]): _cell(row, unit) for row in records(frame)}
    rows = [
        PanelRow(label, tuple(cells.get((label, place), Cell(EMPTY)) for place in places))
        for label in labels_in(frame)
    ]
    return PanelTable(heading, unit.symbol, tuple(map(str, places)), tuple(rows), runs)


def _cell(row: dict[str, Any], unit: Unit) -> Cell:
    if not is_number(row["time_s"]):
        status = Status(row["status"])
        return Cell("not timed" if status is Status.PASSED else str(status))
    mark = BUSY if not is_missing(row["busy"]) and row["busy"] else ""
    if has_wide_interval(row):
        mark += WIDE
    rate = scaled(row["tflops"], unit.factor) + mark
    if not is_number(row["speedup"]) or is_own_baseline(row):
        return Cell(rate)
    bounds = interval(row["speedup_low"], row["speedup_high"]) if is_number(row["speedup_low"]) else ""
    unclear = is_unclear(row["speedup_low"], row["speedup_high"])
    return Cell(rate, float(row["speedup"]), bounds, unclear, over=str(row[BASELINE_LABEL]))


def _text(cell: Cell, digits: int, with_interval: bool, names_baseline: bool) -> str:
    """Return rate and speed-up, the latter with so many digits, none at all for 0."""
    if cell.speedup is None or not digits:
        return cell.rate
    words = [f"{significant(cell.speedup, digits)}×"]
    if names_baseline:
        words[0] += f" over {cell.over}"
    if with_interval and cell.interval:
        words.append(cell.interval)
    if not with_interval and cell.is_unclear:
        words[0] = UNCLEAR + words[0]
    return f"{cell.rate} ({' '.join(words)})"


def _digits_that_fit(table: PanelTable, width: int) -> int:
    """Return the digits of speed-ups with which a table fits; 0 where only one without them may."""
    return next((digits for digits in (3, 2) if _width(table, table.texts(digits)) <= width), 0)


def _width(table: PanelTable, texts: Sequence[Sequence[str]]) -> int:
    """Return how many columns of a terminal the table takes."""
    columns = zip(table.places, *texts, strict=True)
    return max(map(len, table.labels())) + sum(max(map(len, column)) + 2 for column in columns) + 1
