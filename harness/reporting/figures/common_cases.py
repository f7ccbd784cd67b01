"""Cases of rows of bars that compare series on equal terms: of lengths that all series of a form have."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.reporting.captions import said_of_runs
from harness.reporting.distinct import numbered
from harness.reporting.figures.row_bars import SIZES, BarRow

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = "Lengths that not all series below a heading have are left out: {} of {} cases."
NOTHING_IN_COMMON = "Series without a common length{}: each is of lengths of its own."


@dataclass(frozen=True)
class CommonCases:
    """Rows of bars with the cases that count, and what a caption is to say of the others."""

    rows: tuple[BarRow, ...]
    notes: tuple[str, ...]

    def among(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the cases that count, in the order of the frame that they are from."""
        return frame[frame.index.isin(list(itertools.chain(*(row.cases.index for row in self.rows))))]


def common_cases(frame: pd.DataFrame, rows: Sequence[BarRow]) -> CommonCases:
    """Keep the cases of lengths that all series of a form have; `rows` are of the frame.

    Where there are no such lengths, all cases of the form stay, and a note says so.
    """
    known = said_of_runs(frame)
    lengths = frame.assign(lengths=numbered(frame, [name for name in SIZES if name not in known]))["lengths"]
    kept: list[BarRow] = []
    apart: list[str] = []
    for _, group in itertools.groupby(rows, key=lambda row: row.values):
        of_form = list(group)
        common = set.intersection(*(set(lengths[row.cases.index]) for row in of_form))
        if not common:
            apart.append(of_form[0].form)
            kept += of_form
            continue
        kept += [
            replace(row, cases=row.cases[lengths[row.cases.index].isin(list(common))]) for row in of_form
        ]
    left_out = len(frame) - sum(len(row.cases) for row in kept)
    notes = [LEFT_OUT.format(left_out, len(frame))] if left_out else []
    named = "; ".join(filter(None, apart))
    notes += [NOTHING_IN_COMMON.format(f" ({named})" if named else "")] if apart else []
    return CommonCases(tuple(kept), tuple(notes))


def longest_cases(common: CommonCases) -> CommonCases:
    """Keep of each row the case of its longest problem."""
    rows = (
        replace(row, cases=row.cases.sort_values(["seq_kv", "seq_q"], kind="stable").iloc[-1:])
        for row in common.rows
    )
    return CommonCases(tuple(rows), common.notes)
