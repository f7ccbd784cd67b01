"""The legend above the panels: as many columns as its labels leave room for, long labels wrapped."""

from __future__ import annotations

import bisect
import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.style import FONT_SIZES, PAPER_WIDTH, POINTS_PER_INCH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TITLE_SIZE = 9.0
TEXT_SIZE = float(FONT_SIZES["legend.fontsize"])
MOST_COLUMNS = 4
LONGEST_TEXT = 200
"""Characters of a label that are drawn."""
FILLED = 0.95
"""Share of the figure's width for the legend: hinted text of a PNG is a little wider than measured."""
SMALLEST_HEIGHT = 0.45
"""Inches that a legend of two lines takes."""

# In units of the font size, as matplotlib counts them.
HANDLE_LENGTH = 3.0
HANDLE_GAP = 0.8
COLUMN_GAP = 1.5
ROW_GAP = 0.5
PADDING = 0.4
LINE_HEIGHT = 1.2


@dataclass(frozen=True)
class Legend:
    """Where the entries of a legend go, so that nothing is cut off at the figure's edges."""

    labels: tuple[str, ...]
    """One for each entry; with line breaks where a label is wider than the figure."""
    columns: int
    title: str | None
    height: float
    """In inches, the title included."""


def plan_legend(labels: Sequence[str], title: str | None, width: float = PAPER_WIDTH) -> Legend:
    """Arrange labels in the most columns, at most `MOST_COLUMNS`, that fit into `width` inches."""
    room = FILLED * width * POINTS_PER_INCH - 2 * PADDING * TEXT_SIZE
    entry_room = room - (HANDLE_LENGTH + HANDLE_GAP) * TEXT_SIZE
    shown = [wrap(label, TEXT_SIZE, entry_room) for label in labels]
    columns = min(MOST_COLUMNS, max(1, len(shown)))
    while columns > 1 and _width(shown, columns) > room:
        columns -= 1
    shown_title = None if title is None else wrap(title, TITLE_SIZE, room)
    return Legend(tuple(shown), columns, shown_title, _height(shown, columns, shown_title))


def add_legend(drawing: Drawing, legend: Legend, handles: Sequence[Any]) -> None:
    """Put the legend above the panels, outside the data; `handles` are in the order of its labels."""
    for handle, label in zip(handles, legend.labels, strict=True):
        handle.set_label(label)
    drawing.legend(
        handles=list(handles),
        title=legend.title,
        title_fontsize=TITLE_SIZE,
        loc="outside upper center",
        ncols=legend.columns,
        handlelength=HANDLE_LENGTH,
        handletextpad=HANDLE_GAP,
        columnspacing=COLUMN_GAP,
        labelspacing=ROW_GAP,
        borderpad=PADDING,
        borderaxespad=0.2,
    )


def wrap(text: str, size: float, width: float) -> str:
    """Break a text, at its spaces where it can be, so that no line is wider than `width` points.

    Of names that nobody can read, which rows of other origin may have, the beginning is kept.
    """
    text = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    if text_width(text, size) <= width:
        return text

    def is_too_wide(characters: int) -> bool:
        return max(text_width(line, size) for line in textwrap.wrap(text, characters)) > width

    most = bisect.bisect_left(range(2, len(text)), True, key=is_too_wide) + 1
    return "\n".join(textwrap.wrap(text, most))


def text_width(text: str, size: float) -> float:
    """Return the width of one line of text, in points, in the font of the style that is applied."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _width(labels: Sequence[str], columns: int) -> float:
    """Return how many points the entries take side by side; a column is as wide as its widest label."""
    widths = [max(text_width(line, TEXT_SIZE) for line in label.split("\n")) for label in labels]
    entries = [max(column) + (HANDLE_LENGTH + HANDLE_GAP) * TEXT_SIZE for column in _columns(widths, columns)]
    return sum(entries) + (columns - 1) * COLUMN_GAP * TEXT_SIZE


def _height(labels: Sequence[str], columns: int, title: str | None) -> float:
    """Return the inches that the legend takes."""
    heights = [(label.count("\n") + 1) * LINE_HEIGHT + ROW_GAP for label in labels]
    points = max(sum(column) for column in _columns(heights, columns)) * TEXT_SIZE
    if title is not None:
        points += ((title.count("\n") + 1) * LINE_HEIGHT + ROW_GAP) * TITLE_SIZE
    return max(SMALLEST_HEIGHT, (points + 2 * PADDING * TEXT_SIZE) / POINTS_PER_INCH)


def _columns(values: Sequence[float], columns: int) -> list[list[float]]:
    """Split values into columns the way matplotlib does: the first ones take what is left over."""
    length, longer = divmod(len(values), columns)
    ends = [0, *itertools.accumulate(length + (index < longer) for index in range(columns))]
    return [list(values[start:end]) for start, end in itertools.pairwise(ends)]
