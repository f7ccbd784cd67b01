"""What bounds each variant's code in a model: busy cycles by part of a multiprocessor, hatched stacks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.plugins import name_of
from harness.reporting.captions import said_of_runs, values_in_words
from harness.reporting.distinct import numbered
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    not_shown,
)
from harness.reporting.figures.layout import SHARED_SIZES, check_readable, new_drawing, panel_grid
from harness.reporting.figures.legend import add_legend, plan_legend, text_width, wrap
from harness.reporting.figures.style import FONT_SIZES, POINTS_PER_INCH, paper_style
from harness.reporting.frames import labels_in, records, varying
from harness.reporting.summary_columns import SAME_UNLESS_SAID
from harness.reporting.units import is_number, percent
from harness.toolchains.nvidia import no_reader

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CUDA = "cuda"
"""The target whose code there is a model of."""
INSTRUCTIONS = "instructions."
COLUMN = "model."
CYCLES = "_cycles"
BUSY = "busy_cycles."
SIMULATED_CYCLES = "simulated_cycles"
"""Columns of what is drawn, for `SCORES` scores."""
PARTS = ("tensor", "special", "fma", "alu", "uniform", "issue", "shared", "l2")
"""In the order of the stack; what a vendor has besides follows."""
COLORS = ("#0173b2", "#de8f05", "#029e73", "#d55e00", "#ca9161", "#949494", "#56b4e9", "#cc78bc")
"""Of the parts: seaborn's colour-blind palette."""
HATCH = "////"
"""Of what is modelled; measured bars of other figures have their series' own."""

SIZES = ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "kv_lengths", "cu_seqlens_q", "cu_seqlens_kv")
"""Columns of how much there is to do: a target may choose its code by them, such as how keys are split."""

SCORES = 1000
"""Cycles are of so many scores, so that tiles of several sizes can be compared."""
BAR = 0.62
"""Height of a bar over the distance between two."""
INCHES_OF_BAR = 0.32
INCHES_OF_LINE = 0.12
"""Of a bar whose name has several lines."""
INCHES_OF_PANEL = 0.75
"""Of a panel besides its bars: title, ticks and label."""
ROOM_FOR_TEXT = 2.1
"""End of the scale over the longest bar."""
TEXT_SIZE = 6.0
NAME_SIZE = float(FONT_SIZES["ytick.labelsize"])
WIDEST_NAMES = 0.26
"""Share of the figure's width for the names of the series, which are wrapped if longer."""
TICK_INCHES = 0.2
"""Between these and the axes."""
SIMULATED = "simulated time"
NOTE = (
    "Modelled, nothing is measured: cycles that each part of a multiprocessor is busy with 1000 scores. "
    "Parts work at the same time: the length of a stack is no time. The line is the simulated time; beside "
    "it the fraction of the dense peak, and the part that is busy longest. tensor: matrix products; special: "
    "exponentials; fma, alu, uniform: other arithmetic; issue: instructions that are issued; shared: shared "
    "memory; l2: second-level cache."
)
WITHOUT_MODEL = "Without a model"


class BoundsSettings(FigureSettings):
    """`[figures] bounds = { … }`."""

    panels: tuple[PanelColumn, ...] = ("target", "dtype", "head_dim", "mask")
    """One panel for each combination of these that varies."""


@dataclass(frozen=True)
class Stack:
    """The bar of one series."""

    parts: dict[str, float]
    """Busy cycles of each part."""
    simulated: float
    text: str


class Bounds(Figure):
    """A stack of busy cycles for each series, with a line at the simulated time."""

    name = "bounds"
    summary = "modelled: cycles by part of a multiprocessor that each variant's main loop keeps busy"
    settings = BoundsSettings
    data_columns = (BUSY, SIMULATED_CYCLES, f"{COLUMN}fraction_of_peak", f"{COLUMN}bound")
    shows_times = False
    shows_rates = False

    def rows(self, frame: pd.DataFrame, settings: BoundsSettings) -> pd.DataFrame:
        """Return the rows that have a model: a bar stands for each of them."""
        return _modelled(choose_rows(frame, settings))

    def numbers(self, frame: pd.DataFrame, settings: BoundsSettings) -> pd.DataFrame:
        """Return a row for each bar, with its cycles."""
        return _drawn(frame, settings)[0]

    def draw(self, frame: pd.DataFrame, settings: BoundsSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        shown, columns = _drawn(frame, settings)
        labels, parts = labels_in(shown), _parts(shown)
        grid = panel_grid(shown, columns, settings.panels_beside)
        chosen = choose_rows(frame, settings)
        without_model = not_shown(WITHOUT_MODEL, chosen, _modelled(chosen), settings)
        width = settings.inches
        with paper_style(settings.font):
            legend = plan_legend([*parts, SIMULATED], settings.title, width)
            room = WIDEST_NAMES * width * POINTS_PER_INCH
            names = [wrap(settings.display(label), NAME_SIZE, room) for label in labels]
            lines = max(name.count("\n") + 1 for name in names)
            widest = max(text_width(line, NAME_SIZE) for name in names for line in name.split("\n"))
            drawing, all_axes = new_drawing(
                grid,
                INCHES_OF_PANEL + max(INCHES_OF_BAR, INCHES_OF_LINE * lines) * len(labels),
                caption if settings.caption else None,
                [NOTE, *without_model],
                size=settings.size,
                width=width,
                heading_height=legend.height,
                left=TICK_INCHES + widest / POINTS_PER_INCH,
            )
            colors = dict(zip(parts, itertools.cycle(COLORS), strict=False))
            stacks = [_stacks(panel.frame, parts) for panel in grid.panels]
            longest = max(_length(stack) for of_panel in stacks for stack in of_panel.values())
            for axes, of_panel in zip(all_axes, stacks, strict=True):
                _draw_panel(axes, of_panel, labels, colors, longest)
                axes.set_yticks(range(len(labels)), names)
                axes.set_xlabel(f"modelled cycles for {SCORES} scores")
            add_legend(drawing, legend, [*(_part_handle(colors[part]) for part in parts), _line_handle()])
        return drawing


def _drawn(frame: pd.DataFrame, settings: BoundsSettings) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that have a bar, with their cycles for `SCORES` scores, and the columns to split by.

    Sizes of which a panel has the same series, each with the same model, share the bars of the largest.
    """
    import pandas as pd

    known = _modelled(choose_rows(frame, settings))
    said = said_of_runs(known)
    sizes = [name for name in SIZES if name in known and name not in (*settings.panels, *said)]
    forms = check_readable(known.drop(columns=sizes), settings.panels)
    factor = SCORES / known[f"{COLUMN}scores"]
    cycles = {f"{BUSY}{part}": known[f"{COLUMN}{part}{CYCLES}"] * factor for part in _parts(known)}
    cycles[SIMULATED_CYCLES] = known[f"{COLUMN}cycles"] * factor
    shown = pd.concat([known, pd.DataFrame(cycles)], axis="columns")
    shown = shown.sort_values(["seq_kv", "seq_q"], kind="stable")
    shown = shown.assign(**{SHARED_SIZES: _shared_sizes(shown, forms, sizes, [*cycles])})
    columns = check_readable(shown.drop(columns=sizes), [*settings.panels, SHARED_SIZES])
    return shown.drop_duplicates(["label", *columns], keep="last"), columns


def _shared_sizes(
    rows: pd.DataFrame, forms: Sequence[str], sizes: Sequence[str], cycles: Sequence[str]
) -> list[str]:
    """Return in words the sizes that share each row's bars, of those columns that vary."""
    drawn = [*cycles, f"{COLUMN}fraction_of_peak", f"{COLUMN}bound"]
    models = [
        tuple(f"{value:.6g}" if is_number(value) else str(value) for value in values)
        for values in rows[drawn].itertuples(index=False, name=None)
    ]
    problems, of_form = numbered(rows, [*forms, *sizes]), numbered(rows, forms)
    of_problem: dict[int, dict[str, tuple[str, ...]]] = {}
    for problem, label, model in zip(problems, rows["label"], models, strict=True):
        of_problem.setdefault(problem, {})[str(label)] = model
    keys = [
        (form, frozenset(of_problem[problem].items()))
        for form, problem in zip(of_form, problems, strict=True)
    ]
    named = varying(rows, sizes)
    named = [name for name in named if SAME_UNLESS_SAID.get(name) not in named or _differs(rows, name)]
    words = {
        key: "; ".join(values_in_words(rows[[other == key for other in keys]], named))
        for key in dict.fromkeys(keys)
    }
    return [words[key] for key in keys]


def _differs(rows: pd.DataFrame, column: str) -> bool:
    """Whether a column differs in any row from the one whose values tell its own."""
    return bool((rows[column] != rows[SAME_UNLESS_SAID[column]]).any())


def _modelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that the model says all of."""
    needed = [f"{COLUMN}{name}" for name in ("cycles", "scores", "fraction_of_peak", "bound")]
    missing = [name for name in needed if name not in frame]
    known = frame.dropna(subset=needed) if not missing else frame.iloc[:0]
    if known.empty:
        reason = "no case has a model of what bounds its code"
        tool = _missing_reader(frame)
        raise NothingToDraw(reason if tool is None else f"{reason}: built with {no_reader(tool)}")
    return known


def _missing_reader(frame: pd.DataFrame) -> str | None:
    """Return the program that kernels for NVIDIA's GPUs were built without, by what is not known of them."""
    kernels = frame[[name_of(str(target)) == CUDA for target in frame["target"]]]
    if kernels.empty or kernels["intrinsics"].isna().all():
        return None
    kernels = kernels[kernels["intrinsics"].notna()]
    if kernels["registers"].isna().all():
        return "ptxas"
    counts = [name for name in frame.columns if str(name).startswith(INSTRUCTIONS)]
    return "nvdisasm" if kernels[counts].isna().all(axis=None) else None


def _parts(frame: pd.DataFrame) -> list[str]:
    """Return the parts that any row has busy cycles of, in the order of the stack."""
    names = [
        str(name) for name in frame.columns if str(name).startswith(COLUMN) and str(name).endswith(CYCLES)
    ]
    found = [
        name.removeprefix(COLUMN).removesuffix(CYCLES) for name in names if bool((frame[name] > 0).any())
    ]
    return sorted(found, key=lambda part: PARTS.index(part) if part in PARTS else len(PARTS))


def _stacks(frame: pd.DataFrame, parts: Sequence[str]) -> dict[str, Stack]:
    """Return the stack of each label of a panel."""
    return {str(row["label"]): _stack(row, parts) for row in records(frame)}


def _stack(row: dict[str, Any], parts: Sequence[str]) -> Stack:
    cycles = {part: row[f"{BUSY}{part}"] for part in parts}
    fraction = percent(row[f"{COLUMN}fraction_of_peak"])
    return Stack(
        parts={part: value for part, value in cycles.items() if is_number(value)},
        simulated=row[SIMULATED_CYCLES],
        text=f"{fraction} % of peak, bound by {row[f'{COLUMN}bound']}",
    )


def _length(stack: Stack) -> float:
    return max(stack.simulated, sum(stack.parts.values()))


def _draw_panel(
    axes: Axes, stacks: dict[str, Stack], labels: Sequence[str], colors: dict[str, str], longest: float
) -> None:
    """Draw the stacks of one panel, the first label on top."""
    for label, stack in stacks.items():
        place, left = labels.index(label), 0.0
        for part, cycles in stack.parts.items():
            axes.barh(
                place,
                cycles,
                BAR,
                left=left,
                color=colors[part],
                hatch=HATCH,
                edgecolor="white",
                linewidth=0.4,
                gid=part,
            )
            left += cycles
        axes.vlines(
            stack.simulated, place - BAR / 2 - 0.1, place + BAR / 2 + 0.1, color="0.1", gid="simulated"
        )
        axes.annotate(
            stack.text,
            (_length(stack), place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=TEXT_SIZE,
            gid="fraction",
        )
    axes.set_xlim(0, longest * ROOM_FOR_TEXT)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="x")


def _part_handle(color: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=color, hatch=HATCH, edgecolor="white", linewidth=0.4)


def _line_handle() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="0.1")
