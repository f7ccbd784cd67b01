"""Tables of problems with checks and timing of their own, in one run."""

from pathlib import Path

import pytest
from bench.running.test_runner import Quiet, run
from example_cases import example_experiment

from harness.bench.running.context import RunSettings
from harness.bench.running.runner import together
from harness.problem.case import Case
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")

SMALL = {"heads": 1, "head_dim": 8, "seq": (8, 12), "timing": {"enabled": False}}
LARGE = {"heads": 2, "head_dim": 8, "seq": 16, "check": {"distributions": ("uniform",)}}


def experiment(**sections: object):
    return example_experiment(
        ["numpy-attention"],
        problem=None,
        problems=(SMALL, LARGE),
        check={"distributions": ("normal", "constant")},
        **sections,
    )


def test_some_problems_are_only_checked_and_others_timed_with_inputs_of_their_own(tmp_path: Path) -> None:
    summary = run(experiment(), tmp_path)
    told = {row.seq_q: (row.status, row.time_s is not None, row.checked_inputs) for row in summary.results}
    both, own = "normal, constant, seed 0", "uniform, seed 0"
    assert told == {
        8: (Status.PASSED, False, both),
        12: (Status.PASSED, False, both),
        16: (Status.PASSED, True, own),
    }
    observer = Quiet()
    run(experiment(), tmp_path, observer, resume=True)
    assert observer.kept_cases == ["numpy-attention"] * 3


class Context:
    """Of a run, as much as decides which groups go together."""

    def __init__(self, timed: set[str]) -> None:
        self._timed = timed
        self.settings = RunSettings(timed=True)

    def times(self, case: Case) -> bool:
        return case.id in self._timed


def test_groups_that_are_timed_go_alone_and_others_together() -> None:
    cases = experiment(variant={"numpy-attention": {"block": (4, 8)}}).cases()
    groups = [cases[first : first + 2] for first in range(0, 6, 2)]
    every = {case.id for case in cases}
    assert list(together(groups, Context(every))) == groups  # type: ignore[arg-type]
    assert list(together(groups, Context(set()))) == [cases]  # type: ignore[arg-type]
    of_the_last = {case.id for case in groups[2]}
    assert list(together(groups, Context(of_the_last))) == [cases[:4], cases[4:]]  # type: ignore[arg-type]
    of_the_second = {case.id for case in groups[1]}
    assert list(together(groups, Context(of_the_second))) == groups  # type: ignore[arg-type]
