"""What bounds each variant's code in a model: busy cycles by part of a multiprocessor, hatched stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from harness.reporting.figures.layout import SHARED_SIZES, check_readable
from harness.reporting.figures.stacked import draw_stacks
from harness.reporting.frames import varying
from harness.reporting.summary_columns import SAME_UNLESS_SAID
from harness.reporting.units import is_number, percent
from harness.toolchains.nvidia import no_reader

if TYPE_CHECKING:
    import pandas as pd
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
HATCH = "////"
"""Of what is modelled; measured bars of other figures have their series' own."""

SIZES = ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "kv_lengths", "cu_seqlens_q", "cu_seqlens_kv")
"""Columns of how much there is to do: a target may choose its code by them, such as how keys are split."""

SCORES = 1000
"""Cycles are of so many scores, so that tiles of several sizes can be compared."""
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
        chosen = choose_rows(frame, settings)
        return draw_stacks(
            shown,
            columns,
            {f"{BUSY}{part}": part for part in _parts(shown)},
            settings,
            caption,
            [NOTE, *not_shown(WITHOUT_MODEL, chosen, _modelled(chosen), settings)],
            f"modelled cycles for {SCORES} scores",
            _text,
            hatch=HATCH,
            mark=(SIMULATED_CYCLES, SIMULATED),
        )


def _text(row: Mapping[str, Any]) -> str:
    fraction = percent(row[f"{COLUMN}fraction_of_peak"])
    return f"{fraction} % of peak, bound by {row[f'{COLUMN}bound']}"


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
