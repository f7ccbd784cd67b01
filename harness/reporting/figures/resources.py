"""What the code of each series takes of a device: registers, spills, shared memory, occupancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import NothingToDraw, choose_rows
from harness.reporting.figures.layout import Panel, PanelGrid, new_drawing, panel_grid, panel_inches, wrap
from harness.reporting.figures.stacked import (
    BAR,
    INCHES_BESIDES,
    INCHES_OF_NAMES,
    INCHES_OF_ROW,
    NAME_SIZE,
    RowFigure,
    RowSettings,
    finish_rows,
    write_value,
)
from harness.reporting.figures.style import bar_properties, paper_style, series_styles
from harness.reporting.frames import labels_in, records
from harness.reporting.units import EMPTY, is_number, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Quantity:
    """One column of bars."""

    column: str
    title: str
    factor: float = 1.0
    """Shown is the value of the table times this."""

    def text(self, value: Any) -> str:
        """Return a value as it is written: counts whole."""
        if not is_number(value):
            return EMPTY
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
NOTE = "Counted in the generated code, not measured."


class Resources(RowFigure):
    """A row of bars for each series and form: registers, spills, shared memory, occupancy, code size."""

    name = "resources"
    summary = "registers, spills, shared memory, occupancy and code size of each series, a row each"
    data_columns = tuple(quantity.column for quantity in QUANTITIES)
    reads = "Occupancy: higher is better; all else: lower is better."
    lacking = "Without figures of its code"

    def known(self, frame: pd.DataFrame, settings: RowSettings) -> pd.DataFrame:
        """Return the rows with any figure of the code."""
        rows = choose_rows(frame, settings)
        columns = [quantity.column for quantity in QUANTITIES if quantity.column in rows]
        rows_with_figures = rows.dropna(subset=columns, how="all")
        if rows_with_figures.empty:
            raise NothingToDraw("no case has figures of its code")
        return rows_with_figures

    def draw(self, frame: pd.DataFrame, settings: RowSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        rows = self.rows(frame, settings)
        quantities = [quantity for quantity in QUANTITIES if rows[quantity.column].notna().any()]
        drawn = [quantity for quantity in quantities if (rows[quantity.column] > 0).any()] or quantities[:1]
        zero = [quantity.title.replace("\n", " ") for quantity in quantities if quantity not in drawn]
        notes = [NOTE, *self.notes_below(frame, settings)]
        notes += [f"0 in all rows: {', '.join(zero)}."] if zero else []
        grid = _with_quantities(panel_grid(rows, self.forms(rows, settings), 1), drawn)
        labels, styles = labels_in(rows), series_styles(frame)
        names = [wrap(settings.display(label), INCHES_OF_NAMES, NAME_SIZE) for label in labels]
        height = INCHES_BESIDES + INCHES_OF_ROW * sum(name.count("\n") + 1 for name in names)
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(grid, height, settings, caption, notes=notes)
            for place, (panel, axes) in enumerate(zip(grid.panels, all_axes, strict=True)):
                quantity = drawn[place % len(drawn)]
                for row in records(panel.frame):
                    line, value = labels.index(row["label"]), row[quantity.column]
                    length = value * quantity.factor if is_number(value) else 0
                    axes.barh(line, length, BAR, gid="bar", **bar_properties(styles[row["label"]]))
                    write_value(axes, length, line, quantity.text(value))
                longest = float(rows[quantity.column].max()) * quantity.factor
                texts = [quantity.text(value) for value in rows[quantity.column]]
                finish_rows(axes, names, longest, texts, panel_inches(grid, settings.inches))
                axes.set_xticks([])
                axes.spines["bottom"].set_visible(False)
                axes.set_title(panel.heading, loc="left", fontsize=NAME_SIZE)
                axes.set_title("")
        return drawing


def _with_quantities(forms: PanelGrid, quantities: list[Quantity]) -> PanelGrid:
    """Return a panel for each quantity of each form, side by side."""
    panels = []
    for line, form in enumerate(forms.panels):
        for column, quantity in enumerate(quantities):
            words = [quantity.title] if line == 0 else []
            words += [form.heading if column == 0 else " "] if form.heading else []
            panels.append(Panel("\n".join(words), form.frame))
    return PanelGrid(tuple(panels), len(quantities))
