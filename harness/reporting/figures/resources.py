"""What the code of each series takes of a device: registers, spills, shared memory, occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, not_shown
from harness.reporting.figures.common_cases import common_cases
from harness.reporting.figures.row_bars import (
    BAR,
    BarRow,
    RowColumn,
    RowSettings,
    bar_rows,
    draw_rows,
    row_numbers,
)
from harness.reporting.units import EMPTY, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from harness.reporting.figures.style import SeriesStyle


@dataclass(frozen=True)
class Quantity:
    """One column of bars."""

    column: str
    title: str
    factor: float = 1.0
    """Shown is the value of the table times this."""

    @property
    def words(self) -> str:
        """Its title on one line."""
        return self.title.replace("\n", " ")

    def text(self, value: float) -> str:
        """Return a value as it is written: counts whole."""
        shown = value * self.factor
        return f"{shown:.0f}" if shown == round(shown) else significant(shown)


QUANTITIES = (
    Quantity("registers", "registers of\na thread"),
    Quantity("spills", "spilled\nregisters"),
    Quantity("scratch_bytes", "scratch of\na lane (B)"),
    Quantity("shared_bytes", "shared mem-\nory (KiB)", 1 / 1024),
    Quantity("bank_conflicts", "bank\nconflicts"),
    Quantity("occupancy", "occupancy\n(%)", 100.0),
    Quantity("code_bytes", "code\n(KiB)", 1 / 1024),
)

LEAST = "_least"
"""Ends the name of the column that has the least value of a row's cases."""
NOTE = "Counted in the generated code, not measured. Where the lengths of a row differ: a range."
DIFFERENT_LENGTHS = "Not all series below a heading have the same lengths."


class Resources(Figure):
    """A row of bars for each series and form: registers, spills, shared memory, occupancy, code size."""

    name = "resources"
    summary = "registers, spills, shared memory, occupancy and code size of each series, a row each"
    settings = RowSettings
    data_columns = tuple(f"{quantity.column}{end}" for quantity in QUANTITIES for end in ("", LEAST))
    shows_times = False
    shows_rates = False
    has_axis_of_lengths = False
    is_usual = False

    def reading(self, settings: RowSettings) -> str:
        """See `Figure.reading`."""
        return "Occupancy: higher is better; all else: lower is better."

    def rows(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows with any figure of the code."""
        shown = choose_rows(frame, settings)
        known = [quantity.column for quantity in QUANTITIES if quantity.column in shown]
        shown = shown[shown[known].notna().any(axis="columns")]
        if shown.empty:
            raise NothingToDraw("no case has figures of its code")
        return shown

    def numbers(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the largest and the least value of each quantity, a line for each row of bars."""
        shown = self.rows(frame, settings)
        return row_numbers(shown, bar_rows(shown, settings), _ranges)

    def draw(self, frame: pd.DataFrame, settings: RowSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown = self.rows(frame, settings)
        rows = bar_rows(shown, settings)
        known = [
            quantity
            for quantity in QUANTITIES
            if quantity.column in shown and shown[quantity.column].notna().any()
        ]
        drawn = [quantity for quantity in known if (shown[quantity.column] > 0).any()]
        zero = [quantity.words for quantity in known if quantity not in drawn]
        notes = [NOTE, *([DIFFERENT_LENGTHS] if common_cases(shown, rows).notes else [])]
        notes += not_shown("Without figures of its code", choose_rows(frame, settings), shown, settings)
        notes += [f"0 in all rows: {', '.join(zero)}."] if zero else []
        columns = [_column(rows, quantity) for quantity in drawn or known[:1]]
        return draw_rows(frame, rows, columns, settings, " ".join([*notes, caption]))


def _ranges(row: BarRow) -> dict[str, float | None]:
    """Return where the bars of a row end, and the ends of the ranges beside them, by column."""
    spreads = {quantity.column: row.spread(quantity.column) for quantity in QUANTITIES}
    largest = {name: spread[2] if spread else None for name, spread in spreads.items()}
    least = {f"{name}{LEAST}": spread[0] if spread else None for name, spread in spreads.items()}
    return {**largest, **least}


def _column(rows: Sequence[BarRow], quantity: Quantity) -> RowColumn:
    """Return one quantity of all rows."""
    spreads = [(row, row.spread(quantity.column)) for row in rows]

    def draw(axes: Axes, styles: dict[str, SeriesStyle]) -> None:
        for row, spread in spreads:
            if spread is not None:
                look = styles[row.label]
                axes.barh(
                    row.place,
                    spread[2] * quantity.factor,
                    BAR,
                    color=look.color,
                    hatch=look.hatch,
                    edgecolor="white",
                    linewidth=0.4,
                    gid="bar",
                )

    ends = [
        (row, 0.0, EMPTY) if spread is None else (row, spread[2] * quantity.factor, _text(quantity, spread))
        for row, spread in spreads
    ]
    return RowColumn(quantity.title, ends, draw)


def _text(quantity: Quantity, spread: tuple[float, float, float]) -> str:
    low, high = quantity.text(spread[0]), quantity.text(spread[2])
    return high if low == high else f"{low}–{high}"
