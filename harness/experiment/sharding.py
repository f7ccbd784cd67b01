"""Sharing out an experiment's cases among several runs, as of jobs in CI: `--shard 2/8`."""

import re
from collections.abc import Sequence

from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.system.errors import InputError
from harness.system.plurals import counted


def cases_of_shard(shard: str, cases: Sequence[Case]) -> list[Case]:
    """Return one of several disjoint parts of the cases, `2/8`, in their order; it depends on these alone.

    Cases that are timed against each other stay together.  Their groups are dealt out one by one, those of a
    target side by side and the largest first, so that all parts take about as long.
    """
    number, count = parsed_shard(shard)
    groups = Experiment.groups(cases)
    if len(groups) < count:
        together = f"the cases are {counted(len(groups), 'group')}, each timed together"
        raise InputError(f"--shard {shard}: {together}; expected at most as many shards")
    dealt = sorted(groups, key=_rank)[number - 1 :: count]
    own = {case.id for group in dealt for case in group}
    return [case for case in cases if case.id in own]


def _rank(group: Sequence[Case]) -> tuple[str, int, int]:
    return group[0].target, -len(group), -group[0].problem.flops()


def parsed_shard(shard: str) -> tuple[int, int]:
    """Return number and count of a part, 2 and 8 of `2/8`."""
    match = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", shard)
    if match is None or int(match[1]) > int(match[2]):
        raise InputError(f"--shard: found {shard!r}, expected I/N with I from 1 to N, such as 2/8")
    return int(match[1]), int(match[2])
