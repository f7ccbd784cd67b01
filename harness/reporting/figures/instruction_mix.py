"""Machine instructions of each series by class: of the main loop for each key, or of the whole code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.reporting.figures.base import Figure, NothingToDraw, choose_rows, not_shown
from harness.reporting.figures.common_cases import LENGTH_NOTE, common_cases, longest_cases
from harness.reporting.figures.places import LENGTHS
from harness.reporting.figures.stacked import RowSettings, by_size, draw_stacks, form_columns, row_numbers
from harness.reporting.frames import varying
from harness.reporting.units import is_number, significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

CODE = "instructions."
LOOP = "model."
PER_SCORE = "_per_score"
ALL_OF_LOOP = "instructions_per_score"
PER_KEY_NOTE = (
    "Instructions of the main loop for each key of a query, all lanes together, counted in the machine code."
)
CODE_NOTE = "Instructions in the machine code of all kernels, each counted once however often it is executed."
NOT_COUNTED = "Without such a count"
BY_CODE = 'per = "code" counts the whole code of {} of them.'


class InstructionMixSettings(RowSettings):
    """`[figures] instruction_mix = { … }`."""

    per: Literal["auto", "key", "code"] = "auto"
    """For each key of the main loop, or of the whole code; `auto` is by key where that is known."""


class InstructionMix(Figure):
    """A stack of instruction classes for each series."""

    name = "instruction_mix"
    summary = "machine instructions by class for each key, or in the whole code, a stack for each series"
    settings = InstructionMixSettings
    data_columns = (CODE, LOOP)
    shows_times = False
    shows_rates = False
    has_axis_of_lengths = False
    is_usual = False

    def reading(self, settings: InstructionMixSettings) -> str:
        """See `Figure.reading`."""
        return "Lower is better."

    def rows(self, frame: pd.DataFrame, settings: InstructionMixSettings) -> pd.DataFrame:
        """Return the rows whose instructions are drawn."""
        counted = _counted(frame, settings)
        columns = form_columns(counted, settings.by)
        return longest_cases(common_cases(counted, columns)[0], columns)

    def numbers(self, frame: pd.DataFrame, settings: InstructionMixSettings) -> pd.DataFrame:
        """Return the instructions that are drawn, a line for each row of bars."""
        counted = _counted(frame, settings)
        names = list(_columns(counted, _is_per_key(counted, settings)))
        columns = form_columns(counted, settings.by)
        return row_numbers(self.rows(frame, settings), columns, lambda cases: dict(cases[names].iloc[0]))

    def draw(self, frame: pd.DataFrame, settings: InstructionMixSettings, caption: str) -> Drawing:
        """Draw it; see `Figure.draw`."""
        counted = _counted(frame, settings)
        is_per_key = _is_per_key(counted, settings)
        parts, columns = _columns(counted, is_per_key), form_columns(counted, settings.by)
        table = self.numbers(frame, settings)
        notes = [PER_KEY_NOTE if is_per_key else CODE_NOTE]
        notes += _not_counted(frame, counted, is_per_key, settings)
        notes += [LENGTH_NOTE] if varying(counted, LENGTHS) else []
        return draw_stacks(
            table,
            columns,
            by_size(table, parts),
            settings,
            caption,
            [*notes, *common_cases(counted, columns)[1]],
            "instructions for each key" if is_per_key else "instructions in the code",
            lambda row: significant(float(sum(row[name] for name in parts if is_number(row[name])))),
        )


def _counted(frame: pd.DataFrame, settings: InstructionMixSettings) -> pd.DataFrame:
    """Return the rows whose instructions are counted."""
    shown = choose_rows(frame, settings)
    columns = _columns(shown, _is_per_key(shown, settings))
    counted = shown[shown[list(columns)].notna().any(axis="columns")] if columns else shown.iloc[:0]
    if counted.empty:
        wanted = "of a main loop" if settings.per == "key" else "of machine code"
        raise NothingToDraw(f"no case has its instructions {wanted} counted")
    return counted


def _not_counted(
    frame: pd.DataFrame, counted: pd.DataFrame, is_per_key: bool, settings: InstructionMixSettings
) -> list[str]:
    """Return sentences on the cases that have no such count, and on those whose code has one."""
    chosen = choose_rows(frame, settings)
    notes = not_shown(NOT_COUNTED, chosen, counted, settings)
    others = chosen[~chosen.index.isin(counted.index)]
    by_code = int(others[list(_columns(others, False))].notna().any(axis="columns").sum())
    return [*notes, BY_CODE.format(by_code)] if is_per_key and by_code else notes


def _is_per_key(frame: pd.DataFrame, settings: InstructionMixSettings) -> bool:
    known = _columns(frame, True)
    is_known = bool(known) and bool(frame[list(known)].notna().any(axis=None))
    return settings.per == "key" or (settings.per == "auto" and is_known)


def _columns(frame: pd.DataFrame, is_per_key: bool) -> dict[str, str]:
    """Return the class that each column counts."""
    names = [str(name) for name in frame.columns]
    if not is_per_key:
        return {name: name.removeprefix(CODE) for name in names if name.startswith(CODE)}
    return {
        name: name.removeprefix(LOOP).removesuffix(PER_SCORE)
        for name in names
        if name.startswith(LOOP) and name.endswith(PER_SCORE) and name != f"{LOOP}{ALL_OF_LOOP}"
    }
