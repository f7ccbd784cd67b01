"""How often runs of experiments/twins.toml tell twins apart, and how often they find a planted slowdown.

python tests/bench/measure/twin_counts.py results/twins/RUN [RUN …]
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas

from harness.results.loading import open_run
from harness.results.run_folder import tables_of

MOST_TOLD_APART = 0.05
LEAST_FOUND = {False: {0.01: 0.5, 0.03: 0.9}, True: {0.01: 0.0, 0.03: 0.7}}
"""By whether a core is busy, and by slowdown."""


@dataclass(frozen=True)
class Count:
    """How many of some comparisons have an interval that excludes 1."""

    name: str
    excluding: int
    all: int
    by: float = 0.0
    """The slowdown that was planted."""

    @property
    def share(self) -> float:
        return self.excluding / self.all if self.all else 0.0


def counts(frame: pandas.DataFrame) -> list[Count]:
    """Count twins, then slowed twins by how much; a slowdown counts as found if the interval lies below 1."""
    compared = frame[frame["speedup_low"].notna()]
    twins = compared[compared["variant"] == "twin"]
    told_apart = (twins["speedup_low"] > 1) | (twins["speedup_high"] < 1)
    found = [Count("twins told apart", int(told_apart.sum()), len(twins))]
    slowed = compared[compared["variant"] == "slowed-twin"]
    for by, rows in slowed.groupby("param.by"):
        found.append(
            Count(
                f"slowed by {100 * float(str(by)):g} % found",
                int((rows["speedup_high"] < 1).sum()),
                len(rows),
                float(str(by)),
            )
        )
    return found


def main(runs: Iterable[str]) -> None:
    frame = tables_of([open_run(Path(run)) for run in runs])
    for count in counts(frame):
        print(f"{count.name}: {count.excluding} of {count.all} ({100 * count.share:.1f} %)")
    compared = frame[frame["variant"].isin(["twin", "slowed-twin"])].copy()
    compared["width"] = (compared["speedup_high"] - compared["speedup_low"]) / compared["speedup"]
    columns = ["speedup", "width", "starts", "samples", "load"]
    print(compared.groupby("params")[columns].mean().round(4).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
