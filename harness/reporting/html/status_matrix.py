"""The matrix of a page: forms of attention down, variants on targets across, with the reasons."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from harness.problem.attention_problem import TOLD_WITH_OTHERS
from harness.problem.fields import problem_fields
from harness.reporting.distinct import first_rows, numbered
from harness.reporting.figures.matrix import cell_text
from harness.reporting.frames import RUN_LABEL, format_value, is_missing, records, sort_key, varying
from harness.system.errors import cut
from harness.system.status import FAILURES, Status

MOST_FORMS = 200
MOST_REASONS = 8
"""Different reasons of a cell that are told; results.csv has all."""
LONGEST_REASON = 400

ARGUMENTS = re.compile(r"\([^()]*\)")
TOLD_OTHERWISE = TOLD_WITH_OTHERS | {"scale", "kv_lengths", "cu_seqlens_kv"}
"""Fields of a problem that are no forms, or that a form's dtype, mask and other words tell."""
FORMS = {name: field for name, field in problem_fields().items() if name not in TOLD_OTHERWISE}
"""Fields that a form has or has not, whatever the value."""
WORDS = {"model_width": "projections", "cu_seqlens_q": "packed sequences"}
"""What says that a form has a field, where that is not the field's label."""


@dataclass
class Cell:
    """What became of the cases of one form, variant and target."""

    counts: Counter[Status] = field(default_factory=Counter)
    reasons: Counter[tuple[Status, str]] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """Words for every status, see `cell_text`."""
        return cell_text(self.counts)

    @property
    def worst(self) -> str:
        """The status that the cell is coloured by: a failure, else what was not checked, else the best."""
        failed = [status for status in self.counts if status in FAILURES]
        checked = [status for status in self.counts if status.is_checked]
        return str((failed or checked or list(self.counts))[0])

    @property
    def told(self) -> list[str]:
        """The reasons, one a line, with the number of cases."""
        lines = [
            f"{count} {status}: {cut(reason, LONGEST_REASON)}"
            for (status, reason), count in self.reasons.most_common(MOST_REASONS)
        ]
        hidden = len(self.reasons) - len(lines)
        return [*lines, f"and {hidden} more reasons in results.csv"] if hidden else lines


@dataclass(frozen=True)
class StatusMatrix:
    """The matrix, ready for a template."""

    columns: tuple[tuple[str, str], ...]
    """Target and variant of each column."""
    forms: tuple[str, ...]
    cells: dict[tuple[str, tuple[str, str]], Cell]
    hidden: int = 0

    @property
    def targets(self) -> list[tuple[str, int]]:
        """The targets, each with the number of its columns."""
        return list(Counter(target for target, _ in self.columns).items())


def status_matrix(frame: pd.DataFrame) -> StatusMatrix:
    """Return the matrix of a prepared frame; its columns follow the order of the series."""
    cells: dict[tuple[str, tuple[str, str]], Cell] = defaultdict(Cell)
    forms: dict[str, tuple[Any, ...]] = {}
    columns: dict[tuple[str, str], int] = {}
    for row in records(_counted(frame)):
        form, place = _form(row)
        column = (str(row["target"]), _series(row))
        forms[form] = min(forms.get(form, place), place)
        columns[column] = min(columns.get(column, row["series"]), row["series"])
        cell, status = cells[form, column], Status(row["status"])
        cell.counts[status] += row["cases"]
        if not is_missing(row["reason"]):
            cell.reasons[status, " ".join(str(row["reason"]).split())] += row["cases"]
    ordered = sorted(forms, key=lambda form: (forms[form], form))
    targets = sorted({target for target, _ in columns})
    return StatusMatrix(
        columns=tuple(sorted(columns, key=lambda column: (targets.index(column[0]), columns[column]))),
        forms=tuple(ordered[:MOST_FORMS]),
        cells=dict(cells),
        hidden=max(0, len(ordered) - MOST_FORMS),
    )


def _counted(frame: pd.DataFrame) -> pd.DataFrame:
    names = ["target", "variant", "dtype", "mask", "status", "reason"]
    if RUN_LABEL in frame and varying(frame, [RUN_LABEL]):
        names.append(RUN_LABEL)
    narrow = frame[names].assign(
        grouped=frame["kv_heads"] != frame["heads"],
        decode=frame["seq_q"] == 1,
        **{name: _is_given(frame[name], field.default) for name, field in FORMS.items()},
    )
    numbers = numbered(narrow, narrow.columns)
    groups = frame["label"].cat.codes.astype(int).groupby(numbers)
    of_groups = groups.agg(series="min", cases="size").reset_index(drop=True)
    return narrow.iloc[first_rows(numbers)].reset_index(drop=True).join(of_groups)


def _is_given(column: pd.Series[Any], usual: Any) -> pd.Series[bool]:
    return column.notna() if usual is None else column != usual


def _series(row: dict[str, Any]) -> str:
    run = row.get(RUN_LABEL)
    return str(row["variant"]) if run is None or is_missing(run) else f"{row['variant']} ({run})"


def _form(row: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
    mask = ARGUMENTS.sub("", str(row["mask"]))
    words = [format_value(row["dtype"]), mask]
    words += ["one query"] if row["decode"] else []
    words += ["grouped heads"] if row["grouped"] else []
    words += [WORDS.get(name, field.label) for name, field in FORMS.items() if row[name]]
    return " · ".join(words), (sort_key(row["dtype"]), len(words), sort_key(mask))
