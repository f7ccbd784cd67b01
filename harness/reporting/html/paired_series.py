"""What a page compares two series by: of each problem the times and the paired speed-ups.

The page's script divides them for the two that a reader chooses.  Two rows are compared

- *in turns*, where one is the baseline of the other: by the speed-up of the row itself;
- *over the baseline*, where both were timed in turns with the same one: by the ratio of their speed-ups;
- *by times*, where they are of one device and no more: nothing was paired.  Of two runs the interval holds
  what runs of the same code differ by, too, as in `harness compare`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.errors import cut
from harness.measure.statistics import NORMAL_95, RUN_TO_RUN
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    describe_problem,
    is_missing,
    is_own_baseline,
    labels_in,
    records,
)
from harness.reporting.html.embedding import raw_number

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 5000
"""Rows that can be compared in a page; of more it has the first."""
LONGEST_PROBLEM = 300
"""Characters of a problem's description."""
MEASURED = ("time_s", "time_low_s", "time_high_s", "speedup", "speedup_low", "speedup_high")


@dataclass
class _Numbers:
    """Numbers instead of values that repeat."""

    found: dict[Hashable, int] = field(default_factory=dict)

    def __call__(self, value: Hashable) -> int:
        return self.found.setdefault(value, len(self.found))


@dataclass(frozen=True)
class PairedSeries:
    """The rows as data for a page."""

    labels: list[str]
    problems: list[str]
    rows: list[dict[str, Any]]
    hidden: int

    @property
    def second(self) -> int:
        """The series that others are compared with at first: a baseline, where there is one."""
        return next((row["label"] for row in self.rows if row["own"]), 0)

    @property
    def first(self) -> int:
        """The series that is compared with it at first."""
        return 1 if self.second == 0 else 0

    @property
    def data(self) -> dict[str, Any]:
        """What the page's script takes."""
        return {
            "labels": self.labels,
            "problems": self.problems,
            "rows": self.rows,
            "between_runs": NORMAL_95 * RUN_TO_RUN,
        }


def paired_series(frame: pd.DataFrame) -> PairedSeries | None:
    """Return what can be compared in a prepared frame, None without two series or times."""
    labels = labels_in(frame)
    if len(labels) < 2 or not frame["time_s"].notna().any():
        return None
    shown = frame.head(MOST_ROWS)
    numbers, devices, groups, runs = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    names: dict[int, str] = {}
    rows = []
    for row in records(shown):
        problem = numbers(tuple(_value(row.get(name)) for name in PROBLEM_COLUMNS))
        names[problem] = cut(f"{row['target']} · {describe_problem(row)}", LONGEST_PROBLEM)
        group = None if is_missing(row["baseline_case"]) else groups(_baseline(row))
        rows.append(
            {
                "problem": problem,
                "label": labels.index(str(row["label"])),
                "status": str(row["status"]),
                "device": devices(_value(row["device"])),
                "run": runs(tuple(row[name] for name in RUN_COLUMNS)),
                "group": group,
                "own": not is_missing(row["baseline"]) and is_own_baseline(row),
                "time": [raw_number(row[name]) for name in MEASURED[:3]],
                "speedup": [raw_number(row[name]) for name in MEASURED[3:]],
            }
        )
    return PairedSeries(
        labels, [names[number] for number in range(len(names))], rows, len(frame) - len(shown)
    )


def _baseline(row: dict[str, Any]) -> tuple[Hashable, ...]:
    """Return what tells the turns that a row was timed in from those of others."""
    return (*(row[name] for name in RUN_COLUMNS), row["baseline_case"])


def _value(value: Any) -> Hashable:
    return None if is_missing(value) else value
