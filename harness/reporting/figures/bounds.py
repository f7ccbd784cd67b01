"""What bounds each variant's code in a model: busy cycles by part of a multiprocessor, hatched stacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.plugins import name_of
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingToDraw,
    PanelColumn,
    choose_rows,
    not_shown,
)
from harness.reporting.figures.common_cases import LENGTH_NOTE, common_cases, longest_cases
from harness.reporting.figures.places import LENGTHS
from harness.reporting.figures.stacked import draw_stacks, form_columns
from harness.reporting.frames import varying
from harness.reporting.units import percent
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
    has_axis_of_lengths = False

    def rows(self, frame: pd.DataFrame, settings: BoundsSettings) -> pd.DataFrame:
        """Return the rows that have a bar."""
        known = _modelled(choose_rows(frame, settings))
        columns = form_columns(known, settings.panels)
        return longest_cases(common_cases(known, columns)[0], columns)

    def numbers(self, frame: pd.DataFrame, settings: BoundsSettings) -> pd.DataFrame:
        """Return a row for each bar, with its cycles for `SCORES` scores."""
        import pandas as pd

        shown = self.rows(frame, settings)
        factor = SCORES / shown[f"{COLUMN}scores"]
        cycles = {f"{BUSY}{part}": shown[f"{COLUMN}{part}{CYCLES}"] * factor for part in _parts(shown)}
        cycles[SIMULATED_CYCLES] = shown[f"{COLUMN}cycles"] * factor
        return pd.concat([shown, pd.DataFrame(cycles)], axis="columns")

    def draw(self, frame: pd.DataFrame, settings: BoundsSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        chosen = choose_rows(frame, settings)
        known, shown = _modelled(chosen), self.numbers(frame, settings)
        columns = form_columns(known, settings.panels)
        notes = [NOTE, *not_shown(WITHOUT_MODEL, chosen, known, settings), *common_cases(known, columns)[1]]
        notes += [LENGTH_NOTE] if varying(known, LENGTHS) else []
        return draw_stacks(
            shown,
            columns,
            {f"{BUSY}{part}": part for part in _parts(shown)},
            settings,
            caption,
            notes,
            f"modelled cycles for {SCORES} scores",
            _text,
            hatch=HATCH,
            mark=(SIMULATED_CYCLES, SIMULATED),
        )


def _text(row: Mapping[str, Any]) -> str:
    fraction = percent(row[f"{COLUMN}fraction_of_peak"])
    return f"{fraction} % of peak, bound by {row[f'{COLUMN}bound']}"


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
