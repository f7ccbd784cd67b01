"""The status of every variant on every target: how many cases passed, and what became of the others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from harness.reporting.captions import forms_in_words
from harness.reporting.figures.base import Figure, FigureSettings, NothingToDraw, Unreadable, choose_rows
from harness.reporting.figures.layout import Panel, PanelGrid, inches_of, new_drawing, wrap
from harness.reporting.figures.style import FONT_SIZES, STATUS_WORDS, paper_style
from harness.reporting.frames import labels_in, sort_key, varying
from harness.system.status import FAILURES, Status

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CELL_HEIGHT = 0.34
HEADER_HEIGHT = 0.45
WIDEST_LABELS = 2.4
"""Inches for the names of the series, which are wrapped if longer."""
WIDEST_CELL = 1.6
NARROWEST_DRAWING = 3.4
MOST_ROWS = 60
MOST_CELLS = 24
"""More series down, or combinations across, than this nobody can read."""
ACCEPTED_NOTE = "✓: output accepted against the float64 reference."
FAILED_NOTE = (
    "Where a cell has a stroke, all its cases are counted after it; those not named before it passed."
)
LABEL_SIZE = float(FONT_SIZES["ytick.labelsize"])
LARGEST_TEXT, COMFORTABLE_TEXT = 7.0, 5.5

FAILED_LOOK = ("#f4b183", "////")
"""Colour and hatch of a cell; the text in it says the same without colour."""
LOOKS = {
    Status.PASSED: "#a8dcc9",
    Status.EMULATED: "#bfe0f5",
    Status.BUILT: "#f6f2b8",
    Status.UNSUPPORTED: "#e6e6e6",
}
"""From best to worst; a cell has the colour of its worst status."""
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
        shown = choose_rows(frame, settings)
        if shown.empty:
            raise NothingToDraw("no case has a result")
        columns, together = _columns(shown, settings)
        keys, labels = _keys(shown, columns), labels_in(shown)
        if len(labels) > MOST_ROWS or len(keys) > MOST_CELLS:
            raise Unreadable(
                f"{len(labels)} series and {len(keys)} columns ({', '.join(columns)}), of which at most "
                f"{MOST_ROWS} and {MOST_CELLS} can be read; narrow them down with variants, where or columns"
            )
        names = [wrap(settings.display(label), WIDEST_LABELS - 0.3, LABEL_SIZE) for label in labels]
        has_failures = bool(FAILURES & set(shown["status"].unique()))
        notes = [ACCEPTED_NOTE, *([FAILED_NOTE] if has_failures else [])]
        notes += [f"Counted together: {', '.join(f'{column}s' for column in together)}."] if together else []
        of_names = max(inches_of(name, LABEL_SIZE) for name in names) + 0.3
        width = settings.inches
        if settings.size is None:
            width = min(width, max(NARROWEST_DRAWING, of_names + WIDEST_CELL * len(keys)))
        inches = 0.92 * (width - of_names) / len(keys)
        titled = settings.model_copy(update={"title": settings.title or "cases by status"})
        with paper_style(settings.font):
            drawing, (axes,) = new_drawing(
                PanelGrid((Panel("", shown),)),
                HEADER_HEIGHT + CELL_HEIGHT * len(labels),
                titled,
                caption,
                notes=notes,
                width=width,
            )
            _draw_cells(axes, _counts(shown, columns), keys, labels, inches)
            _label_cells(axes, columns, keys, names, inches)
        return drawing


def _columns(frame: pd.DataFrame, settings: MatrixSettings) -> tuple[list[str], list[str]]:
    """Return what the matrix has a column for each combination of, and what it counts together instead.

    Where nobody has chosen the columns, the last ones are counted together until what is left can be read.
    """
    changing = varying(frame, settings.columns)
    columns = [str(name) for name in settings.columns if name == "target" or name in changing]
    together: list[str] = []
    is_chosen = "columns" in settings.model_fields_set
    while not is_chosen and len(columns) > 1 and len(_keys(frame, columns)) > MOST_CELLS:
        together.insert(0, columns.pop())
    return columns, together


def _keys(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Hashable, ...]]:
    """Return the combinations of some columns, in their order."""
    return sorted(
        set(frame[list(columns)].drop_duplicates().itertuples(index=False, name=None)),
        key=lambda values: [sort_key(value) for value in values],
    )


def cell_text(counts: Counter[Status], words: Mapping[Status, str] | None = None) -> str:
    """Return what a cell says, by the number of cases of each status.

    Where nothing failed, every status with its count: `24 ✓`, `12 ✓ emulated`, `20 ✓, 4 unsupported`.  Else
    what did not pass, failures first, over the total: `3 wrong, 4 unsupported / 24`.  `words` may hold
    shorter words for statuses.
    """
    total = sum(counts.values())
    spelled = {status: (words or {}).get(status, str(status)) for status in counts}
    if not FAILURES & set(counts) or len(counts) == 1:
        spelled |= {status: word for status, word in ACCEPTED.items() if status in counts}
        return ", ".join(f"{counts[status]} {spelled[status]}" for status in Status if status in counts)
    others = sorted(set(counts) - {Status.PASSED}, key=lambda status: (status not in FAILURES, str(status)))
    return f"{', '.join(f'{counts[status]} {spelled[status]}' for status in others)} / {total}"


def cell_look(counts: Counter[Status]) -> tuple[str, str]:
    """Return colour and hatch of a cell: those of its worst status, of failures the same for all."""
    if FAILURES & set(counts):
        return FAILED_LOOK
    checked = [status for status in counts if status.is_checked]
    # What cannot be done is no blemish on what was checked: the text names it.
    worst = max(checked or counts, key=list(LOOKS).index)
    return LOOKS[worst], ""


def _counts(
    frame: pd.DataFrame, columns: Sequence[str]
) -> dict[tuple[Hashable, tuple[Hashable, ...]], Counter[Status]]:
    """Return the number of cases of each status, by series and combination of the columns."""
    counts: dict[tuple[Hashable, tuple[Hashable, ...]], Counter[Status]] = {}
    by = [frame[column] for column in ("label", *columns)]
    for (label, *place), statuses in frame["status"].groupby(by, dropna=False, observed=True):
        counts[label, tuple(place)] = Counter(Status(str(status)) for status in statuses)
    return counts


def _draw_cells(
    axes: Axes,
    counts: Mapping[tuple[Hashable, tuple[Hashable, ...]], Counter[Status]],
    keys: Sequence[tuple[Hashable, ...]],
    labels: Sequence[str],
    inches: float,
) -> None:
    """Draw all cells, in which texts have so many inches."""
    from matplotlib.patches import Rectangle

    for row, label in enumerate(labels):
        for column, key in enumerate(keys):
            cell = counts.get((label, key))
            color, hatch = cell_look(cell) if cell else ("white", "")
            axes.add_patch(
                Rectangle((column, row), 1, 1, facecolor=color, hatch=hatch, edgecolor="white", linewidth=1.5)
            )
            text = cell_text(cell) if cell else "no case"
            if inches_of(text, COMFORTABLE_TEXT) > inches and cell:
                text = cell_text(cell, STATUS_WORDS).replace(", ", ",\n")
            axes.text(
                column + 0.5,
                row + 0.5,
                text,
                ha="center",
                va="center",
                fontsize=min(
                    LARGEST_TEXT, inches / inches_of(text, 1.0), 2 * LARGEST_TEXT / (1 + text.count("\n"))
                ),
                fontweight="bold" if hatch else "normal",
                color="0.05" if cell else "0.6",
                linespacing=1.0,
                gid="cell",
                in_layout=False,
            )
    axes.set_xlim(0, len(keys))
    axes.set_ylim(len(labels), 0)


def _label_cells(
    axes: Axes,
    columns: Sequence[str],
    keys: Sequence[tuple[Hashable, ...]],
    labels: Sequence[str],
    inches: float,
) -> None:
    """Write the names of columns and rows, those of columns small enough not to touch each other."""
    names = [
        "\n".join(forms_in_words([column], [[value]])[0] for column, value in zip(columns, key, strict=True))
        for key in keys
    ]
    if max(inches_of(name, LABEL_SIZE) for name in names) > inches:  # a chip goes below its target
        names = [name.replace(":", ":\n") for name in names]
    size = min(LABEL_SIZE, *(LABEL_SIZE * inches / inches_of(name, LABEL_SIZE) for name in names))
    axes.set_xticks([index + 0.5 for index in range(len(keys))], names, fontsize=size)
    axes.set_yticks([index + 0.5 for index in range(len(labels))], labels)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
