"""Rows of stacked bars: the parts of a whole for each series, in a panel for each form of problem."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.distinct import has_one_value, numbered
from harness.reporting.figures.base import FigureSettings, PanelColumn, Unreadable
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
from harness.reporting.frames import PROBLEM_COLUMNS, labels_in, records
from harness.reporting.units import EMPTY, is_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SIZES = (*LENGTHS, "batch", "kv_lengths", "cu_seqlens_q", "cu_seqlens_kv")
"""Columns in which the cases of a row may differ: lengths, and what may follow from them."""
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

Row = Mapping[str, Any]


class RowSettings(FigureSettings):
    """What figures of rows can be told."""

    by: tuple[PanelColumn, ...] = ("target", "dtype", "head_dim", "mask")
    """What panels differ in first.  A series has a row for each form of problem, cases of several lengths
    share one; see `form_columns`."""


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
        counts = [f"{len(labels_in(frame))} series"]
        counts += [f"{frame[column].nunique(dropna=False)} of {column}" for column in columns]
        raise Unreadable(
            f"{rows} rows ({', '.join(counts)}), of which at most {MOST_ROWS} can be read; "
            "narrow them down with variants or where"
        )
    return columns


def row_numbers(
    frame: pd.DataFrame, columns: Sequence[str], values: Callable[[pd.DataFrame], Mapping[str, Any]]
) -> pd.DataFrame:
    """Return a table with a line for each series of each form: its values, and what its cases share."""
    import pandas as pd

    problem = [name for name in PROBLEM_COLUMNS if name in frame]
    lines = [
        {
            **{name: cases[name].iloc[0] if has_one_value(cases[name]) else None for name in problem},
            "label": str(label),
            **dict(zip(columns, form, strict=True)),
            **values(cases),
        }
        for (*form, label), cases in frame.groupby([*columns, "label"], observed=True, dropna=False)
    ]
    return pd.DataFrame(lines).astype({"label": frame["label"].dtype})


def draw_stacks(
    table: pd.DataFrame,
    columns: Sequence[str],
    parts: Mapping[str, str],
    settings: FigureSettings,
    caption: str,
    notes: Sequence[str],
    x_label: str,
    text: Callable[[Row], str],
    *,
    factor: float = 1.0,
    hatch: str | None = None,
    mark: tuple[str, str] | None = None,
) -> Drawing:
    """Draw a stack for each line of a table, `text` beside it, with a panel for each form.

    `parts` are columns and their names, in the order of the stack.  A `mark` is a column and its name: a line
    across the bar at that value.
    """
    table, parts = _with_few_parts(table, parts)
    grid = panel_grid(table, columns, settings.panels_beside if mark else 1)
    labels = labels_in(table)
    names = [wrap(settings.display(label), INCHES_OF_NAMES, NAME_SIZE) for label in labels]
    lines = max(name.count("\n") + 1 for name in names)
    looks = {
        column: {
            "facecolor": color,
            "hatch": usual if hatch is None else hatch,
            "edgecolor": "white",
            "linewidth": 0.4,
        }
        for column, (color, usual) in zip(parts, itertools.cycle(PART_LOOKS), strict=False)
    }
    rows = records(table)
    longest = max(_end(row, parts, mark) for row in rows) * factor
    widest = max(inches_of(text(row), TEXT_SIZE) for row in rows) + 0.1
    share = min(widest / (panel_inches(grid, settings.inches - INCHES_OF_NAMES / 2)), 0.6)
    with paper_style(settings.font):
        drawing, all_axes = new_drawing(
            grid,
            INCHES_BESIDES + 0.15 + max(INCHES_OF_ROW, INCHES_OF_LINE * lines) * len(labels),
            settings,
            caption,
            notes=notes,
            legend=_legend(parts, looks, mark),
            labels=(x_label, ""),
        )
        for panel, axes in zip(grid.panels, all_axes, strict=True):
            for row in records(panel.frame):
                place = labels.index(row["label"])
                _draw_stack(axes, row, place, parts, looks, factor, mark)
                write_value(axes, _end(row, parts, mark) * factor, place, text(row))
            for label in set(labels) - set(labels_in(panel.frame)):
                write_value(axes, 0, labels.index(label), EMPTY)
            finish_rows(axes, names)
            axes.set_xlim(0, longest / (1 - share))
            axes.grid(axis="x")
    return drawing


def write_value(axes: Axes, end: float, place: int, text: str) -> None:
    """Write a value beside a bar's end."""
    words = axes.annotate(text, (end, place), xytext=(3, 0), textcoords="offset points", gid="value")
    words.set(va="center_baseline", fontsize=TEXT_SIZE, color="0.1", in_layout=False)


def finish_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of rows, the first on top."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=NAME_SIZE)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_stack(
    axes: Axes,
    row: Row,
    place: int,
    parts: Mapping[str, str],
    looks: Mapping[str, dict[str, Any]],
    factor: float,
    mark: tuple[str, str] | None,
) -> None:
    left = 0.0
    for column, name in parts.items():
        if is_number(row[column]) and row[column]:
            axes.barh(place, row[column] * factor, BAR, left=left, gid=name, **looks[column])
            left += row[column] * factor
    if mark is not None:
        axes.vlines(
            row[mark[0]] * factor, place - BAR / 2 - 0.1, place + BAR / 2 + 0.1, color="0.1", gid=mark[1]
        )


def _end(row: Row, parts: Mapping[str, str], mark: tuple[str, str] | None) -> float:
    """Return where a row's stack, or its mark, ends."""
    length = sum(row[column] for column in parts if is_number(row[column]))
    return max(length, row[mark[0]]) if mark is not None else length


def _legend(
    parts: Mapping[str, str], looks: Mapping[str, dict[str, Any]], mark: tuple[str, str] | None
) -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {name: Patch(**looks[column]) for column, name in parts.items()}
    return entries if mark is None else {**entries, mark[1]: Line2D([], [], color="0.1")}


def _with_few_parts(table: pd.DataFrame, parts: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Leave out parts that are 0, and put the smallest together where there are too many."""
    largest = {column: float(table[column].max()) for column in parts if (table[column] > 0).any()}
    if len(largest) <= MOST_PARTS + 1:
        return table, {column: name for column, name in parts.items() if column in largest}
    ordered = sorted(
        (column for column in largest if parts[column] != OTHERS), key=lambda name: -largest[name]
    )
    rest = [column for column in largest if column not in ordered[:MOST_PARTS]]
    kept = {column: name for column, name in parts.items() if column in ordered[:MOST_PARTS]}
    return table.assign(**{OTHERS: table[rest].sum(axis="columns")}), {**kept, OTHERS: OTHERS}


def by_size(table: pd.DataFrame, parts: Mapping[str, str]) -> dict[str, str]:
    """Return parts in the order of their largest values; what stands for others comes last."""
    return dict(sorted(parts.items(), key=lambda part: (part[1] == OTHERS, -float(table[part[0]].max()))))
