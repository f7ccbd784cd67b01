"""How often runs of experiments/twins.toml tell twins apart, and how often they find a planted slowdown."""

from dataclasses import dataclass

import pandas

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
