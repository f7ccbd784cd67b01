"""What the rounds of two runs say in which two revisions' codes of a case took turns."""

import numpy as np
import pandas as pd

from harness.results.run_folder import RunFolder
from harness.results.statistics import paired_ratio
from harness.results.timing_rounds import groups_of_rows

IN_TURN = "in turn"
OF_TURNS = "turns-"
"""What the names of their groups begin with."""
TURN_COLUMNS = ("turn_ratio", "turn_low", "turn_high")
"""New time over old time, and its 95 % interval; missing where nothing bounds it."""

Rounds = dict[int, tuple[int, float]]
"""By the number of a round: its start, and the seconds of a call."""


def times_in_turn(old: RunFolder, new: RunFolder) -> pd.DataFrame:
    """Return `case` and `TURN_COLUMNS` of the cases that took turns in both runs."""
    taken = _rounds_of_turns(old)
    others = _rounds_of_turns(new) if taken else {}
    rows = []
    for (case, group), rounds in taken.items():
        common = sorted(rounds.keys() & others.get((case, group), {}).keys())
        if common:
            pairs = [(rounds[number], others[case, group][number]) for number in common]
            old_s, new_s = ([pair[place][1] for pair in pairs] for place in (0, 1))
            ratio = paired_ratio(new_s, old_s, [pair[0][0] for pair in pairs])
            bounds = (ratio.low, ratio.high) if ratio.is_bounded else (np.nan, np.nan)
            rows.append((case, ratio.value, *bounds))
    return pd.DataFrame(rows, columns=["case", *TURN_COLUMNS])


def _rounds_of_turns(run: RunFolder) -> dict[tuple[str, str], Rounds]:
    """Return the rounds of turns that the rows of a run's cases are made of, by case and group."""
    rounds = [taken for taken in run.rounds() if taken.group.startswith(OF_TURNS)]
    groups = groups_of_rows(rounds)
    by_case: dict[tuple[str, str], Rounds] = {}
    for taken in rounds:
        for case, seconds in taken.seconds.items():
            if groups[case] == taken.group:
                by_case.setdefault((case, taken.group), {})[taken.round] = (taken.start, seconds[0])
    return by_case
