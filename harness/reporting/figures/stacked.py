"""Rows of bars: the parts of a whole stacked, or parts at work at once, in a panel for each form of problem.

A figure says which rows have parts and what they are; of several lengths the longest is drawn.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from harness.reporting.distinct import numbered
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    Unreadable,
    choose_rows,
    not_shown,
)
from harness.reporting.figures.layout import (
    HEADING_SIZE,
    Panel,
    PanelGrid,
    inches_of,
    new_drawing,
    panel_columns,
    panel_grid,
    panel_inches,
    wrap,
)
from harness.reporting.figures.own_axes import own_axes
from harness.reporting.figures.places import LENGTHS
from harness.reporting.figures.style import KNOWN_VARIANTS, OTHER_VARIANTS, SIBLING_HATCHES, paper_style
from harness.reporting.frames import labels_in, shown_names, varying
from harness.reporting.units import significant

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
COLORS = tuple(style.color for style in (*KNOWN_VARIANTS.values(), *OTHER_VARIANTS))
HATCHES = ("", *SIBLING_HATCHES)
"""Looks of the parts: a palette that the colour-blind can tell apart."""
MOST_PARTS = 9
"""More parts than this nobody can tell apart: the smallest become one."""
SMALLER = "smaller parts"
BAR = 0.72
"""Height of a bar over the distance between two."""
INCHES_OF_ROW, INCHES_OF_BAR, INCHES_BESIDES = 0.19, 0.085, 0.5
"""Heights of each line of a row's name, of each of several bars in a row, and of a panel besides its rows."""
INCHES_OF_NAMES = 1.7
INCHES_BETWEEN_LABELS = 0.05
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
    text: str | None = None
    """Column of what stands beside each bar; its length if not given."""
    is_parallel: bool = False
    """Whether the parts are at work at the same time: a bar each below the other, instead of a stack."""

    @property
    def looks(self) -> dict[str, dict[str, Any]]:
        """What matplotlib takes of each part."""
        pairs = zip(self.parts, itertools.cycle(COLORS), itertools.cycle(HATCHES), strict=False)
        edge = {"edgecolor": "white", "linewidth": 0.4}
        return {
            column: {"facecolor": color, "hatch": self.hatch or hatch, **edge}
            for column, color, hatch in pairs
        }


class StackedFigure(Figure):
    """A row of bars for each series in a panel for each form, of the longest length."""

    settings: ClassVar[type[FigureSettings]] = RowSettings
    shows_times = False
    shows_rates = False
    has_axis_of_lengths = False
    is_usual = False
    reads = "Lower is better."
    note: ClassVar[str]

    @abstractmethod
    def needed(self, rows: pd.DataFrame, settings: Any) -> Sequence[str]:
        """Return the columns of which a row must have one to be drawn."""

    @abstractmethod
    def stacks(self, rows: pd.DataFrame, settings: Any) -> list[Stack]:
        """Return what the bars of some rows are made of; several stand in panels beside each other."""

    def notes(self, rows: pd.DataFrame, settings: Any) -> list[str]:
        """Return what the caption says of the parts."""
        return [self.note]

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the row of each series of each form."""
        rows = self._with_values(frame, settings)
        return longest_cases(rows, form_columns(rows, settings.by))

    def _with_values(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        chosen = choose_rows(frame, settings)
        columns = [name for name in self.needed(chosen, settings) if name in chosen]
        rows = chosen[(chosen[columns] > 0).any(axis="columns")]
        if rows.empty:
            raise NothingToDraw(f"no case has what this shows: {self.summary}")
        return rows

    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw a bar for each row; see `Figure.draw`."""
        rows = self.numbers(frame, settings)
        stacks, labels = self.stacks(rows, settings), labels_in(rows)
        if len(stacks) == 1:
            rows, stacks = _with_few_parts(rows, stacks[0])
        forms = panel_grid(rows, form_columns(rows, settings.by), 1).panels
        shown = shown_names(labels, settings.names).values()
        names = [wrap(name, INCHES_OF_NAMES, NAME_SIZE) for name in shown]
        beside = _stacks_beside(stacks, settings.inches - max(inches_of(name, NAME_SIZE) for name in names))
        places = list(itertools.product(forms, [*stacks, *[None] * (-len(stacks) % beside)]))
        grid = PanelGrid(tuple(Panel("", form.frame) for form, _ in places), beside)
        bars = max(len(stack.parts) * stack.is_parallel for stack in stacks)
        lines = [max(INCHES_OF_ROW * (name.count("\n") + 1), INCHES_OF_BAR * bars) for name in names]
        height = INCHES_BESIDES + sum(lines)
        with_values = self._with_values(frame, settings)
        notes = [*self.notes(rows, settings), *not_shown(choose_rows(frame, settings), with_values, settings)]
        notes += [LENGTH_NOTE] if varying(with_values, LENGTHS) else []
        legend = _legend(stacks[0]) if len(stacks) == 1 else {}
        inches = panel_inches(grid, settings.inches - INCHES_OF_NAMES / 2)
        with paper_style(settings.font):
            drawing, all_axes = new_drawing(grid, height, settings, caption, notes=notes, legend=legend)
            for axes, (form, stack) in zip(all_axes, places, strict=True):
                if stack is None:
                    axes.set_visible(False)
                    continue
                longest = float(_ends(rows, stack).max())
                room = max(inches_of(text, TEXT_SIZE) for text in _texts(rows, stack)) + 0.1
                _draw_stack(axes, form.frame, labels, stack)
                axes.set_xlim(0, (longest or 1.0) / (1 - min(room / inches, 0.7)))
                axes.set_ylim(len(labels) - 0.4, -0.6)
                axes.set_yticks(range(len(names)), names, fontsize=NAME_SIZE)
                axes.tick_params(axis="y", length=0)
                axes.spines[["top", "right"]].set_visible(False)
                axes.set_title(form.heading if stack is stacks[0] else "", loc="left", fontsize=NAME_SIZE)
                axes.set_xlabel(stack.label if form is forms[-1] or beside < len(stacks) else "")
                if len(stacks) > 1:
                    axes.set_xticks([])
        return drawing


def _stacks_beside(stacks: Sequence[Stack], inches: float) -> int:
    """Return how many stacks stand side by side in lines of about equal length, so that labels are apart."""
    widest = max(inches_of(stack.label, HEADING_SIZE) for stack in stacks) + INCHES_BETWEEN_LABELS
    lines = 1 if own_axes() else math.ceil(len(stacks) / max(1, int(inches / widest)))
    return math.ceil(len(stacks) / lines)


def form_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the columns that tell forms apart: those that are wanted, and whatever else is no size."""
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


def parts_of(rows: pd.DataFrame, begin: str, end: str = "") -> dict[str, str]:
    """Return the columns between two words that have a value above 0, and what stands between the words."""
    names = [str(name) for name in rows if str(name).startswith(begin) and str(name).endswith(end)]
    return {name: name.removeprefix(begin).removesuffix(end) for name in names if (rows[name] > 0).any()}


def _with_few_parts(rows: pd.DataFrame, stack: Stack) -> tuple[pd.DataFrame, list[Stack]]:
    largest = rows[list(stack.parts)].max().sort_values(ascending=False).index[:MOST_PARTS]
    kept = {column: name for column, name in stack.parts.items() if column in largest}
    rest = [column for column in stack.parts if column not in kept]
    if not rest:
        return rows, [stack]
    smaller = rows[rest].max(axis="columns") if stack.is_parallel else rows[rest].sum(axis="columns")
    rows = rows.assign(**{SMALLER: smaller})
    return rows, [replace(stack, parts={**kept, SMALLER: SMALLER})]


def _ends(rows: pd.DataFrame, stack: Stack) -> pd.Series[float]:
    parts = rows[list(stack.parts)].astype(float) * stack.factor
    ends = parts.max(axis="columns") if stack.is_parallel else parts.sum(axis="columns", min_count=1)
    return ends if stack.mark is None else ends.clip(lower=rows[stack.mark[0]] * stack.factor)


def _texts(rows: pd.DataFrame, stack: Stack) -> list[str]:
    return (
        [str(text) for text in rows[stack.text]] if stack.text else list(map(significant, _ends(rows, stack)))
    )


def _draw_stack(axes: Axes, rows: pd.DataFrame, labels: Sequence[str], stack: Stack) -> None:
    places = [labels.index(label) for label in rows["label"]]
    thickness = BAR / len(stack.parts) if stack.is_parallel else BAR
    ends = 0 * rows["seq_q"].astype(float)
    for number, (column, look) in enumerate(stack.looks.items()):
        lengths = rows[column].astype(float).fillna(0) * stack.factor
        below = thickness * (number - (len(stack.parts) - 1) / 2) if stack.is_parallel else 0.0
        across = [place + below for place in places]
        axes.barh(across, lengths, thickness, left=ends, gid=stack.parts[column], **look)
        ends = ends if stack.is_parallel else ends + lengths
    if stack.mark is not None:
        low, high = ([place + side * 0.46 for place in places] for side in (-1, 1))
        axes.vlines(rows[stack.mark[0]] * stack.factor, low, high, color="0.1", gid=stack.mark[1])
    for end, place, text in zip(_ends(rows, stack).fillna(0), places, _texts(rows, stack), strict=True):
        words = axes.annotate(text, (end, place), xytext=(3, 0), textcoords="offset points", gid="value")
        words.set(va="center_baseline", fontsize=TEXT_SIZE, color="0.1", in_layout=False)


def _legend(stack: Stack) -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {stack.parts[column]: Patch(**look) for column, look in stack.looks.items()}
    return entries if stack.mark is None else {**entries, stack.mark[1]: Line2D([], [], color="0.1")}
