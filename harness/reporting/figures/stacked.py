"""Rows of stacked bars: the parts of a whole for each series, in a panel for each form of problem.

A figure says which rows have parts and what they are; of several lengths the longest is drawn.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from harness.reporting.distinct import numbered
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    PanelColumn,
    Unreadable,
    choose_rows,
    not_shown,
)
from harness.reporting.figures.layout import (
    inches_of,
    new_drawing,
    panel_columns,
    panel_grid,
    panel_inches,
    wrap,
)
from harness.reporting.figures.places import LENGTHS
from harness.reporting.figures.style import paper_style
from harness.reporting.frames import labels_in, records, varying
from harness.reporting.units import EMPTY, is_number, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SIZES = (*LENGTHS, "batch", "kv_lengths", "cu_seqlens_q", "cu_seqlens_kv")
"""Columns in which the cases of a row may differ: lengths, and what may follow from them."""
LENGTH_NOTE = (
    "Of several lengths: the longest that all series below a heading have, else the longest of each."
)
MOST_ROWS = 48
"""More rows than this nobody can read."""
MOST_PARTS = 9
"""More parts than this nobody can tell apart: the smallest become one."""
OTHERS = "others"
PART_LOOKS = (
    ("#0173b2", ""),
    ("#de8f05", "////"),
    ("#029e73", "...."),
    ("#d55e00", "\\\\\\\\"),
    ("#56b4e9", "xxxx"),
    ("#ca9161", "----"),
    ("#cc78bc", "||||"),
    ("#3b3b3b", ""),
    ("#ece133", "++++"),
    ("#949494", "oo"),
)
"""Colour and hatch of the parts; a palette that the colour-blind can tell apart."""
BAR = 0.72
"""Height of a bar over the distance between two."""
INCHES_OF_ROW, INCHES_OF_LINE, INCHES_BESIDES = 0.19, 0.12, 0.3
"""Heights of a row, of each line of its name where it has several, and of a panel besides its rows."""
INCHES_OF_NAMES = 1.7
NAME_SIZE, TEXT_SIZE = 6.5, 5.5


class RowSettings(FigureSettings):
    """What figures of rows can be told."""

    by: tuple[PanelColumn, ...] = ("target", "dtype", "head_dim", "mask")
    """What panels differ in first; whatever else is no size is added."""


@dataclass(frozen=True)
class Stack:
    """What the bars of some rows are made of."""

    parts: Mapping[str, str]
    """Columns and their names, in the order of the stack."""
    label: str
    factor: float = 1.0
    hatch: str | None = None
    """One hatch for all parts, instead of one for each."""
    mark: tuple[str, str] | None = None
    """A column and its name: a line across each bar at that value."""


class RowFigure(Figure):
    """A row of bars for each series in a panel for each form, of the longest length."""

    settings: ClassVar[type[FigureSettings]] = RowSettings
    shows_times = False
    shows_rates = False
    has_axis_of_lengths = False
    is_usual = False
    reads = "Lower is better."
    lacking: ClassVar[str]
    """What rows that are not shown lack: `Without a build time`."""

    @abstractmethod
    def known(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the chosen rows that have something to show; raises `NothingToDraw` where none has."""

    def forms(self, rows: pd.DataFrame, settings: Any) -> list[str]:
        """Return the columns that tell forms of problems apart."""
        return form_columns(rows, settings.by)

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the row of each series of each form."""
        known_rows = self.known(frame, settings)
        return longest_cases(known_rows, self.forms(known_rows, settings))

    def notes_below(self, frame: pd.DataFrame, settings: Any) -> list[str]:
        """Return sentences on what is not shown, and on which lengths are."""
        known_rows = self.known(frame, settings)
        notes = not_shown(self.lacking, choose_rows(frame, settings), known_rows, settings)
        return [*notes, *([LENGTH_NOTE] if varying(known_rows, LENGTHS) else [])]


class StackedFigure(RowFigure):
    """A stack of parts for each row, and a text beside it."""

    @abstractmethod
    def stack(self, rows: pd.DataFrame, settings: Any) -> Stack:
        """Return what the bars of some rows are made of."""

    def text(self, row: Mapping[str, Any], stack: Stack) -> str:
        """Return what stands beside a row's stack: its length."""
        return significant(_end(row, stack) * stack.factor)

    @abstractmethod
    def facts(self, rows: pd.DataFrame, settings: Any) -> list[str]:
        """Return what the caption says of the parts, sentences."""

    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw a stack for each row; see `Figure.draw`."""
        rows = self.numbers(frame, settings)
        stack = self.stack(rows, settings)
        rows, parts = _with_few_parts(rows, stack.parts)
        stack = Stack(parts, stack.label, stack.factor, stack.hatch, stack.mark)
        rows = rows.assign(text=[self.text(row, stack) for row in records(rows)])
        grid = panel_grid(rows, self.forms(rows, settings), settings.panels_beside if stack.mark else 1)
        labels = labels_in(rows)
        names = [wrap(settings.display(label), INCHES_OF_NAMES, NAME_SIZE) for label in labels]
        lines = max(name.count("\n") + 1 for name in names)
        looks = {
            column: {
                "facecolor": color,
                "hatch": stack.hatch or hatch,
                "edgecolor": "white",
                "linewidth": 0.4,
            }
            for column, (color, hatch) in zip(parts, itertools.cycle(PART_LOOKS), strict=False)
        }
        longest = max(_end(row, stack) for row in records(rows)) * stack.factor
        room = panel_inches(grid, settings.inches - INCHES_OF_NAMES / 2)
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(
                grid,
                INCHES_BESIDES + 0.15 + max(INCHES_OF_ROW, INCHES_OF_LINE * lines) * len(labels),
                settings,
                caption,
                notes=[*self.facts(rows, settings), *self.notes_below(frame, settings)],
                legend=_legend(looks, stack),
                labels=(stack.label, ""),
            )
            for panel, axes in zip(grid.panels, all_axes, strict=True):
                for row in records(panel.frame):
                    place = labels.index(row["label"])
                    _draw_stack(axes, row, place, looks, stack)
                    write_value(axes, _end(row, stack) * stack.factor, place, row["text"])
                for label in set(labels) - set(labels_in(panel.frame)):
                    write_value(axes, 0, labels.index(label), EMPTY)
                finish_rows(axes, names, longest, list(rows["text"]), room)
                axes.grid(axis="x")
        return drawing


def form_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the columns that tell forms apart: those that are wanted, and whatever else is no size.

    A size is one, too, where cases of equal lengths differ in it; else it follows from the lengths, which
    share a row.  Raises `Unreadable` where there would be too many rows.
    """
    sizes = [name for name in SIZES if name not in wanted and name in frame]
    forms = panel_columns(frame.drop(columns=sizes), wanted)
    columns = panel_columns(frame.assign(lengths=numbered(frame, LENGTHS)), forms, "lengths")
    rows = len(frame[[*columns, "label"]].drop_duplicates())
    if rows > MOST_ROWS:
        raise Unreadable(
            f"{rows} rows ({len(labels_in(frame))} series; {', '.join(columns)}), of which at most "
            f"{MOST_ROWS} can be read; narrow them down with variants or where"
        )
    return columns


def longest_cases(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Keep of each series of each form the case of the longest lengths that all series of the form have."""
    series = frame.assign(form=numbered(frame, columns), lengths=numbered(frame, LENGTHS))
    in_form = series.groupby("form")["label"].transform("nunique")
    of_length = series.groupby(["form", "lengths"])["label"].transform("nunique")
    ordered = frame.assign(is_common=in_form == of_length).sort_values(
        ["is_common", "seq_kv", "seq_q"], kind="stable"
    )
    kept = ordered.drop_duplicates([*columns, "label"], keep="last").index
    return frame[frame.index.isin(kept)]


def write_value(axes: Axes, end: float, place: int, text: str) -> None:
    """Write a value beside a bar's end."""
    words = axes.annotate(text, (end, place), xytext=(3, 0), textcoords="offset points", gid="value")
    words.set(va="center_baseline", fontsize=TEXT_SIZE, color="0.1", in_layout=False)


def finish_rows(
    axes: Axes, names: Sequence[str], longest: float, texts: Sequence[str], inches: float
) -> None:
    """Write the names of rows, the first on top, and leave room for the texts beside the longest bar."""
    widest = max(inches_of(text, TEXT_SIZE) for text in texts) + 0.1
    axes.set_xlim(0, (longest or 1.0) / (1 - min(widest / inches, 0.7)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=NAME_SIZE)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_stack(
    axes: Axes, row: Mapping[str, Any], place: int, looks: Mapping[str, dict[str, Any]], stack: Stack
) -> None:
    left = 0.0
    for column, name in stack.parts.items():
        if is_number(row[column]) and row[column]:
            length = row[column] * stack.factor
            axes.barh(place, length, BAR, left=left, gid=name, **looks[column])
            left += length
    if stack.mark is not None:
        column, name = stack.mark
        ends = place - BAR / 2 - 0.1, place + BAR / 2 + 0.1
        axes.vlines(row[column] * stack.factor, *ends, color="0.1", gid=name)


def _end(row: Mapping[str, Any], stack: Stack) -> float:
    """Return where a row's stack, or its mark, ends."""
    length = float(sum(row[column] for column in stack.parts if is_number(row[column])))
    return max(length, row[stack.mark[0]]) if stack.mark is not None else length


def _legend(looks: Mapping[str, dict[str, Any]], stack: Stack) -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {name: Patch(**looks[column]) for column, name in stack.parts.items()}
    return entries if stack.mark is None else {**entries, stack.mark[1]: Line2D([], [], color="0.1")}


def _with_few_parts(rows: pd.DataFrame, parts: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Leave out parts that are 0, and put the smallest together where there are too many."""
    shown = [column for column in parts if (rows[column] > 0).any()]
    largest = rows[shown].max().sort_values(ascending=False, kind="stable").index[:MOST_PARTS]
    kept = {column: parts[column] for column in shown if column in largest}
    rest = [column for column in shown if column not in largest]
    if not rest:
        return rows, kept
    return rows.assign(**{OTHERS: rows[rest].sum(axis="columns")}), {**kept, OTHERS: OTHERS}


def by_size(rows: pd.DataFrame, parts: Mapping[str, str]) -> dict[str, str]:
    """Return parts in the order of their largest values; what stands for others comes last."""
    return dict(sorted(parts.items(), key=lambda part: (part[1] == OTHERS, -float(rows[part[0]].max()))))
