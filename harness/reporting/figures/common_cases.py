"""Cases of rows of bars that compare series on equal terms: of lengths that all series of a form have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.reporting.captions import said_of_runs
from harness.reporting.distinct import numbered
from harness.reporting.figures.layout import describe_forms
from harness.reporting.figures.stacked import SIZES

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = "Lengths that not all series below a heading have are left out: {} of {} cases."
LENGTH_NOTE = "Of several lengths: the longest that all series below a heading have."
NOTHING_IN_COMMON = "Series without a common length{}: each is of lengths of its own."


def common_cases(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Keep the cases of lengths that all series of a form have; `columns` tell the forms apart.

    Where there are no such lengths, all cases of the form stay.  Return with them what a caption says.
    """
    known = said_of_runs(frame)
    lengths = frame.assign(lengths=numbered(frame, [name for name in SIZES if name not in known]))["lengths"]
    forms = numbered(frame, columns) if columns else [0] * len(frame)
    kept: list[int] = []
    apart: list[str] = []
    for _, of_form in frame.groupby(forms, sort=True):
        series = of_form.groupby("label", observed=True)
        common = set.intersection(*(set(lengths[cases.index]) for _, cases in series))
        if not common:
            apart += describe_forms(columns, [tuple(of_form[list(columns)].iloc[0])]) if columns else [""]
        kept += [row for row in of_form.index if not common or lengths[row] in common]
    left_out = len(frame) - len(kept)
    notes = [LEFT_OUT.format(left_out, len(frame))] if left_out else []
    named = "; ".join(filter(None, apart))
    notes += [NOTHING_IN_COMMON.format(f" ({named})" if named else "")] if apart else []
    return frame[frame.index.isin(kept)], notes


def longest_cases(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Keep of each series of each form the case of its longest problem."""
    longest_last = frame.sort_values(["seq_kv", "seq_q"], kind="stable")
    kept = longest_last.drop_duplicates([*columns, "label"], keep="last").index
    return frame[frame.index.isin(kept)]
