"""Machine instructions of each series by class: of the main loop for each key, or of the whole code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.stacked import RowSettings, Stack, StackedFigure, parts_of

if TYPE_CHECKING:
    import pandas as pd

CODE = "instructions."
LOOP, PER_SCORE = "model.", "_per_score"
ALL_OF_LOOP = f"{LOOP}instructions{PER_SCORE}"
PER_KEY_NOTE = (
    "Instructions of the main loop for each key of a query, all lanes together, counted in the machine code."
)
CODE_NOTE = "Instructions in the machine code of all kernels, each counted once however often it is executed."


class InstructionMixSettings(RowSettings):
    """`[figures] instruction_mix = { … }`."""

    per: Literal["auto", "key", "code"] = "auto"
    """For each key of the main loop, or of the whole code; `auto` is by key where that is known."""


class InstructionMix(StackedFigure):
    """A stack of instruction classes for each series."""

    name = "instruction_mix"
    summary = "machine instructions by class for each key, or in the whole code, a stack for each series"
    settings = InstructionMixSettings
    data_columns = (CODE, LOOP)
    is_usual_without_times = True

    def needed(self, rows: pd.DataFrame, settings: InstructionMixSettings) -> Sequence[str]:
        """Return the columns of the classes."""
        return list(_classes(rows, settings))

    def notes(self, rows: pd.DataFrame, settings: InstructionMixSettings) -> list[str]:
        """Return what is counted."""
        return [PER_KEY_NOTE if _is_per_key(rows, settings) else CODE_NOTE]

    def stacks(self, rows: pd.DataFrame, settings: InstructionMixSettings) -> list[Stack]:
        """Return the classes of instructions."""
        is_per_key = _is_per_key(rows, settings)
        label = "instructions for each key" if is_per_key else "instructions in the code"
        return [Stack(_classes(rows, settings), label)]


def _is_per_key(rows: pd.DataFrame, settings: InstructionMixSettings) -> bool:
    is_known = ALL_OF_LOOP in rows and bool(rows[ALL_OF_LOOP].notna().any())
    return settings.per == "key" or (settings.per == "auto" and is_known)


def _classes(rows: pd.DataFrame, settings: InstructionMixSettings) -> dict[str, str]:
    if not _is_per_key(rows, settings):
        return parts_of(rows, CODE)
    return {name: of for name, of in parts_of(rows, LOOP, PER_SCORE).items() if name != ALL_OF_LOOP}
