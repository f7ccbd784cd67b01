"""Machine instructions of each series by class: of the main loop for each key, or of the whole code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import NothingToDraw, choose_rows
from harness.reporting.figures.stacked import RowSettings, Stack, StackedFigure, by_size

if TYPE_CHECKING:
    import pandas as pd

CODE = "instructions."
LOOP = "model."
PER_SCORE = "_per_score"
ALL_OF_LOOP = f"{LOOP}instructions{PER_SCORE}"
PER_KEY_NOTE = (
    "Instructions of the main loop for each key of a query, all lanes together, counted in the machine code."
)
CODE_NOTE = "Instructions in the machine code of all kernels, each counted once however often it is executed."
BY_CODE = 'per = "code" counts the whole code of {} of them.'


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
    lacking = "Without such a count"

    def known(self, frame: pd.DataFrame, settings: InstructionMixSettings) -> pd.DataFrame:
        """Return the rows whose instructions are counted."""
        rows = choose_rows(frame, settings)
        counted = rows.dropna(subset=list(_classes(rows, _is_per_key(rows, settings))), how="all")
        if counted.empty or not _classes(rows, _is_per_key(rows, settings)):
            wanted = "of a main loop" if settings.per == "key" else "of machine code"
            raise NothingToDraw(f"no case has its instructions {wanted} counted")
        return counted

    def stack(self, rows: pd.DataFrame, settings: InstructionMixSettings) -> Stack:
        """Return the classes of instructions."""
        is_per_key = _is_per_key(rows, settings)
        label = "instructions for each key" if is_per_key else "instructions in the code"
        return Stack(by_size(rows, _classes(rows, is_per_key)), label)

    def facts(self, rows: pd.DataFrame, settings: InstructionMixSettings) -> list[str]:
        """Return what is counted."""
        return [PER_KEY_NOTE if _is_per_key(rows, settings) else CODE_NOTE]

    def notes_below(self, frame: pd.DataFrame, settings: InstructionMixSettings) -> list[str]:
        """Return also how many of the cases that are not shown have their whole code counted."""
        notes = super().notes_below(frame, settings)
        rows, known_rows = choose_rows(frame, settings), self.known(frame, settings)
        others = rows.drop(index=known_rows.index)
        by_code = int(others[list(_classes(others, False))].notna().any(axis="columns").sum())
        return [*notes, BY_CODE.format(by_code)] if by_code and _is_per_key(known_rows, settings) else notes


def _is_per_key(rows: pd.DataFrame, settings: InstructionMixSettings) -> bool:
    is_known = bool(rows[list(_classes(rows, True))].notna().any(axis=None))
    return settings.per == "key" or (settings.per == "auto" and is_known)


def _classes(rows: pd.DataFrame, is_per_key: bool) -> dict[str, str]:
    """Return the class that each column counts."""
    begin, end = (LOOP, PER_SCORE) if is_per_key else (CODE, "")
    names = [str(name) for name in rows if str(name).startswith(begin) and str(name).endswith(end)]
    return {name: name.removeprefix(begin).removesuffix(end) for name in names if name != ALL_OF_LOOP}
