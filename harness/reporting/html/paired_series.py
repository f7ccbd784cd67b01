"""What a page compares two series by: of each problem the times and the paired speed-ups.

The page's script divides them for the two that a reader chooses.  Two rows are compared

- *in turns*, where one is the baseline of the other: by the speed-up of the row itself;
- *over the baseline*, where both were timed in turns with the same one: by the ratio of their speed-ups;
- *by times*, where they are of one device and no more: nothing was paired.  Of two runs the interval holds
  what runs of the same code differ by, too, as in `harness compare`.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.reporting.distinct import first_rows, numbered
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    describe_problem,
    is_missing,
    is_own_baseline,
    labels_in,
    records,
)
from harness.reporting.html.results_table import raw_number
from harness.results.statistics import NORMAL_95, RUN_TO_RUN
from harness.system.errors import cut

MOST_ROWS = 5000
LONGEST_PROBLEM = 300


@dataclass(frozen=True)
class PairedSeries:
    """The rows as data for a page."""

    labels: list[str]
    problems: list[str]
    rows: list[dict[str, Any]]
    hidden: int
    between_runs: float = NORMAL_95 * RUN_TO_RUN
    """By how much more, in logarithms, times of two runs differ."""

    @property
    def second(self) -> int:
        """The series that others are compared with at first: a baseline, where there is one."""
        return next((row["label"] for row in self.rows if row["own"]), 0)

    @property
    def first(self) -> int:
        """The series that is compared with it at first."""
        return 1 if self.second == 0 else 0


def paired_series(frame: pd.DataFrame) -> PairedSeries | None:
    """Return what can be compared in a prepared frame, None without two series or times."""
    labels = labels_in(frame)
    if len(labels) < 2 or not frame["time_s"].notna().any():
        return None
    shown = frame.head(MOST_ROWS)
    problems = numbered(shown, PROBLEM_COLUMNS)
    names = [
        cut(f"{row['target']} · {describe_problem(row)}", LONGEST_PROBLEM)
        for row in records(shown.iloc[first_rows(problems)])
    ]
    places = zip(
        problems.tolist(),
        numbered(shown, ["device"]).tolist(),
        numbered(shown, RUN_COLUMNS).tolist(),
        numbered(shown, [*RUN_COLUMNS, "baseline_case"]).tolist(),
        strict=True,
    )
    rows = [
        {
            "problem": problem,
            "label": labels.index(str(row["label"])),
            "status": str(row["status"]),
            "device": device,
            "run": run,
            "group": None if is_missing(row["baseline_case"]) else turns,
            "own": not is_missing(row["baseline"]) and is_own_baseline(row),
            "time": [raw_number(row[name]) for name in ("time_s", "time_low_s", "time_high_s")],
            "speedup": [raw_number(row[name]) for name in ("speedup", "speedup_low", "speedup_high")],
        }
        for row, (problem, device, run, turns) in zip(records(shown), places, strict=True)
    ]
    return PairedSeries(labels, names, rows, len(frame) - len(shown))
