"""What the code of each series takes of a device: registers, spills, shared memory, occupancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, not_shown
from harness.reporting.figures.common_cases import common_cases
from harness.reporting.figures.layout import Panel, PanelGrid, new_drawing, panel_grid, panel_inches, wrap
from harness.reporting.figures.stacked import (
    BAR,
    INCHES_BESIDES,
    INCHES_OF_NAMES,
    INCHES_OF_ROW,
    NAME_SIZE,
    TEXT_SIZE,
    RowSettings,
    finish_rows,
    form_columns,
    row_numbers,
    write_value,
)
from harness.reporting.figures.style import SeriesStyle, bar_properties, paper_style, series_styles
from harness.reporting.frames import labels_in, records
from harness.reporting.units import EMPTY, is_number, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


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
        return row_numbers(shown, form_columns(shown, settings.by), _ranges)

    def draw(self, frame: pd.DataFrame, settings: RowSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown = self.rows(frame, settings)
        columns = form_columns(shown, settings.by)
        table = row_numbers(shown, columns, _ranges)
        known = [quantity for quantity in QUANTITIES if table[quantity.column].notna().any()]
        drawn = [quantity for quantity in known if (table[quantity.column] > 0).any()]
        zero = [quantity.words for quantity in known if quantity not in drawn]
        notes = [NOTE, *([DIFFERENT_LENGTHS] if common_cases(shown, columns)[1] else [])]
        notes += not_shown("Without figures of its code", choose_rows(frame, settings), shown, settings)
        notes += [f"0 in all rows: {', '.join(zero)}."] if zero else []
        grid, quantities = _with_quantities(panel_grid(table, columns, 1), drawn or known[:1])
        labels, styles = labels_in(table), series_styles(frame)
        names = [wrap(settings.display(label), INCHES_OF_NAMES, NAME_SIZE) for label in labels]
        height = INCHES_BESIDES + INCHES_OF_ROW * sum(name.count("\n") + 1 for name in names)
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(grid, height, settings, caption, notes=notes)
            for panel, axes, quantity in zip(grid.panels, all_axes, quantities, strict=True):
                _draw_bars(axes, panel.frame, quantity, labels, styles)
                finish_rows(axes, names)
                _scale(axes, table, quantity, panel_inches(grid, settings.inches))
                axes.set_title(panel.heading, loc="left", fontsize=NAME_SIZE)
                axes.set_title("")
        return drawing


def _ranges(cases: pd.DataFrame) -> dict[str, float | None]:
    """Return where the bars of a row end, and the least values of the ranges beside them, by column."""
    ranges: dict[str, float | None] = {}
    for quantity in QUANTITIES:
        values = list(cases[quantity.column].dropna()) if quantity.column in cases else []
        ranges[quantity.column] = float(max(values)) if values else None
        ranges[f"{quantity.column}{LEAST}"] = float(min(values)) if values else None
    return ranges


def _with_quantities(forms: PanelGrid, quantities: list[Quantity]) -> tuple[PanelGrid, list[Quantity]]:
    """Return a panel for each quantity of each form, side by side, and the quantities of all panels."""
    panels = []
    for form in forms.panels:
        for column, quantity in enumerate(quantities):
            title = quantity.title if form.row == 0 else ""
            lines = [title, *([form.heading if column == 0 else " "] if form.heading else [])]
            panels.append(Panel(form.row, column, "\n".join(filter(None, lines)), form.frame))
    return PanelGrid(tuple(panels), forms.rows, len(quantities)), quantities * len(forms.panels)


def _draw_bars(
    axes: Axes, rows: pd.DataFrame, quantity: Quantity, labels: list[str], styles: dict[str, SeriesStyle]
) -> None:
    """Draw a bar for each series, and beside it the value or the range of its cases."""
    for row in records(rows):
        place, value = labels.index(row["label"]), row[quantity.column]
        if is_number(value):
            look = bar_properties(styles[row["label"]])
            axes.barh(place, value * quantity.factor, BAR, gid="bar", **look)
        write_value(axes, value * quantity.factor if is_number(value) else 0, place, _text(quantity, row))


def _scale(axes: Axes, table: pd.DataFrame, quantity: Quantity, inches: float) -> None:
    """Leave room for the texts beside the bars."""
    widest = max(len(_text(quantity, row)) for row in records(table)) * TEXT_SIZE / 110 + 0.05
    largest = float(table[quantity.column].max()) * quantity.factor or 1.0
    axes.set_xlim(0, largest / (1 - min(widest / inches, 0.7)))
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _text(quantity: Quantity, row: dict[str, Any]) -> str:
    if not is_number(row[quantity.column]):
        return EMPTY
    low, high = quantity.text(row[f"{quantity.column}{LEAST}"]), quantity.text(row[quantity.column])
    return high if low == high else f"{low}–{high}"
