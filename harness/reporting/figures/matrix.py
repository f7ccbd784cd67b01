"""The status of every variant on every target: how many cases passed, and what became of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from harness.reporting.captions import forms_in_words
from harness.reporting.figures.base import Figure, FigureSettings, NothingToDraw, Unreadable, choose_rows
from harness.reporting.figures.layout import Panel, PanelGrid, inches_of, new_drawing, wrap
from harness.reporting.figures.style import FONT_SIZES, STATUS_WORDS, paper_style
from harness.reporting.frames import labels_in, shown_names, sort_key, varying
from harness.system.status import FAILURES, Status

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CELL_HEIGHT = 0.34
HEADER_HEIGHT = 0.45
WIDEST_LABELS = 0.28
"""Share of the width for the names of the series, which are wrapped if longer."""
LINE_HEIGHT = 0.1
LEAST_SIZE = 6.0
"""Texts are no smaller than this: headings that a column has no room for stand upright."""
MOST_ROWS = 60
MOST_CELLS = 12
"""More series down, or combinations across, than this nobody can read."""
NOTE = (
    "✓: output accepted against the float64 reference. Where a cell has a stroke, all its cases are counted "
    "after it; those not named before it passed."
)
LABEL_SIZE = float(FONT_SIZES["ytick.labelsize"])

FAILED_LOOK = ("#f4b183", "////")
LOOKS = {
    Status.PASSED: "#a8dcc9",
    Status.EMULATED: "#bfe0f5",
    Status.BUILT: "#f6f2b8",
    Status.UNSUPPORTED: "#e6e6e6",
}
"""From best to worst; a cell has the colour of its worst status."""
WORDS: Mapping[Status, str] = {status: str(status) for status in Status}
ACCEPTED = {Status.PASSED: "✓", Status.EMULATED: "✓ emulated"}

ColumnName = Literal["target", "dtype", "mask", "head_dim", "executor", "threads", "batch", "heads", "seq_q"]


class MatrixSettings(FigureSettings):
    """`[figures] matrix = { … }`."""

    columns: tuple[ColumnName, ...] = ("target", "dtype", "mask")
    """A column of the matrix for each combination of these; all but the target only where they vary."""


class Matrix(Figure):
    """Variants down, targets across; `24 ✓` is 24 checked cases, `3 wrong / 24` names what failed."""

    name = "matrix"
    summary = "how many cases of each variant passed on each target, and what became of the others"
    settings = MatrixSettings
    shows_times = False
    shows_rates = False

    def draw(self, frame: pd.DataFrame, settings: MatrixSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        rows = choose_rows(frame, settings)
        if rows.empty:
            raise NothingToDraw("no case has a result")
        changing = varying(rows, settings.columns)
        columns = [str(name) for name in settings.columns if name == "target" or name in changing]
        while len(columns) > 1 and len(_places(rows, columns)) > MOST_CELLS:
            columns.pop()  # what is left out is counted together
        places, labels = _places(rows, columns), labels_in(rows)
        if len(labels) > MOST_ROWS or len(places) > MOST_CELLS:
            raise Unreadable(
                f"{len(labels)} series and {len(places)} columns ({', '.join(columns)}), of which at most "
                f"{MOST_ROWS} and {MOST_CELLS} can be read; narrow them down with variants, where or columns"
            )
        titled = settings.model_copy(update={"title": settings.title or "cases by status"})
        shown = shown_names(labels, settings.names).values()
        names = [wrap(name, WIDEST_LABELS * settings.inches, LABEL_SIZE) for name in shown]
        inches_of_names = max(inches_of(name, LABEL_SIZE) for name in names) + 0.3
        inches = 0.92 * (settings.inches - inches_of_names) / len(places)
        headers, look = _headers(columns, places, inches)
        cells = _cells(rows, columns, places, labels)
        texts = _fitted(list(cells.values()), inches)
        height = max(CELL_HEIGHT, _inches_of_lines([*texts, *names]))
        above = HEADER_HEIGHT + max(inches_of(name, LEAST_SIZE) for name in headers) * bool(look["rotation"])
        grid = PanelGrid((Panel("", rows),))
        with paper_style(settings.font):
            drawing, (axes,) = new_drawing(grid, above + height * len(labels), titled, caption, notes=[NOTE])
            _draw_cells(axes, cells, texts, inches)
            axes.set_xlim(0, len(places))
            axes.set_ylim(len(labels), 0)
            axes.set_xticks([index + 0.5 for index in range(len(places))], headers, **look)
            axes.xaxis.tick_top()
            axes.set_yticks([index + 0.5 for index in range(len(labels))], names)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        return drawing


def _places(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Hashable, ...]]:
    combinations = set(frame[list(columns)].drop_duplicates().itertuples(index=False, name=None))
    return sorted(combinations, key=lambda values: [sort_key(value) for value in values])


def cell_text(counts: Counter[Status], words: Mapping[Status, str] = WORDS) -> str:
    """Return what a cell says, by the number of cases of each status."""
    if not FAILURES & set(counts) or len(counts) == 1:
        return ", ".join(
            f"{counts[status]} {ACCEPTED.get(status, words[status])}" for status in Status if status in counts
        )
    others = sorted(set(counts) - {Status.PASSED}, key=lambda status: (status not in FAILURES, str(status)))
    return f"{', '.join(f'{counts[status]} {words[status]}' for status in others)} / {sum(counts.values())}"


def cell_look(counts: Counter[Status]) -> tuple[str, str]:
    """Return colour and hatch of a cell: those of its worst status, of failures the same for all."""
    if FAILURES & set(counts):
        return FAILED_LOOK
    checked = [status for status in counts if status.is_checked]
    # What cannot be done is no blemish on what was checked: the text names it.
    worst = max(checked or counts, key=list(LOOKS).index)
    return LOOKS[worst], ""


def _cells(
    rows: pd.DataFrame, columns: Sequence[str], places: Sequence[tuple[Hashable, ...]], labels: Sequence[str]
) -> dict[tuple[int, int], Counter[Status]]:
    """Return how many cases of each status the cells have, by column and row."""
    keys = [tuple(map(sort_key, place)) for place in places]
    by = [rows[column] for column in ("label", *columns)]
    return {
        (keys.index(tuple(map(sort_key, place))), labels.index(label)): Counter(
            map(Status, map(str, statuses))
        )
        for (label, *place), statuses in rows["status"].groupby(by, dropna=False, observed=True)
    }


def _draw_cells(
    axes: Axes,
    cells: Mapping[tuple[int, int], Counter[Status]],
    texts: Sequence[str],
    inches: float,
) -> None:
    from matplotlib.patches import Rectangle

    for ((across, down), counts), text in zip(cells.items(), texts, strict=True):
        color, hatch = cell_look(counts)
        axes.add_patch(
            Rectangle((across, down), 1, 1, facecolor=color, hatch=hatch, edgecolor="white", lw=1.5)
        )
        words = axes.text(across + 0.5, down + 0.5, text, gid="cell", in_layout=False)
        words.set(ha="center", va="center", linespacing=1.0, fontsize=_size(text, inches))


def _size(text: str, inches: float) -> float:
    """Return the size at which a text is no wider than so many inches, at most the usual one."""
    return min(LABEL_SIZE, LABEL_SIZE * inches / inches_of(text, LABEL_SIZE))


def _fitted(cells: Sequence[Counter[Status]], inches: float) -> list[str]:
    """Return the texts of cells so many inches wide, in short words where they would be too small else."""
    texts = [wrap(cell_text(counts), inches, LABEL_SIZE) for counts in cells]
    if all(_size(text, inches) >= LEAST_SIZE for text in texts):
        return texts
    return [wrap(cell_text(counts, STATUS_WORDS), inches, LEAST_SIZE) for counts in cells]


def _inches_of_lines(texts: Sequence[str]) -> float:
    return LINE_HEIGHT * (1.5 + max(text.count("\n") for text in texts))


def _headers(
    columns: Sequence[str], places: Sequence[tuple[Hashable, ...]], inches: float
) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the columns and their look: upright where else they would be too small to read."""
    forms = [
        [forms_in_words([column], [[value]])[0] for column, value in zip(columns, place, strict=True)]
        for place in places
    ]
    size = min(_size("\n".join(form), inches) for form in forms)
    if size < LEAST_SIZE:
        return [", ".join(form) for form in forms], {"fontsize": LEAST_SIZE, "rotation": 90}
    return ["\n".join(form) for form in forms], {"fontsize": size, "rotation": 0}
