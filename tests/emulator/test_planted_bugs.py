"""Bugs planted into kernels: each is noticed, and by exactly what it says."""

from collections.abc import Callable

import pytest
from generated_attention import GENERATED, generate_attention
from hand_written import HAND_WRITTEN
from iree_attention import IreeAttention
from planted.all_bugs import BUGS
from planted.bugs import PlantedBug, catchers, run_with
from sweeps import sweep

from harness.emulator.findings import FindingKind, summary


@pytest.mark.parametrize("bug", sweep(BUGS, but=BUGS[::15]), ids=lambda bug: bug.name)
def test_a_planted_bug_is_noticed(bug: PlantedBug, iree_attention: Callable[[str], IreeAttention]) -> None:
    if bug.kernel in GENERATED:
        run = run_with(bug, generate_attention(bug.kernel))
    else:
        run = run_with(bug, HAND_WRITTEN.get(bug.kernel) or iree_attention(bug.kernel))
    assert catchers(run) == bug.caught_by, summary(run.report.findings)


def test_every_bug_is_noticed_and_named_uniquely() -> None:
    assert all(bug.caught_by for bug in BUGS)
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("kind", FindingKind, ids=lambda kind: kind.text)
def test_every_kind_of_finding_notices_a_bug(kind: FindingKind) -> None:
    assert any(kind.text in bug.caught_by for bug in BUGS)
