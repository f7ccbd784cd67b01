"""Bugs planted into kernels: each is noticed, and by exactly what it says."""

import pytest
from generated_attention import GENERATED, generate_attention
from hand_written import HAND_WRITTEN
from planted import (
    generated,
    generated_amd,
    generated_forms,
    generated_intel,
    hand_written_amd,
    hand_written_intel,
    hand_written_nvidia,
    iree_amd,
    iree_nvidia,
)
from planted.bugs import catchers
from sweeps import sweep

from harness.emulator.findings import FindingKind
from harness.emulator.launching import LaunchSettings

BY_HAND = (*hand_written_nvidia.BUGS, *hand_written_amd.BUGS, *hand_written_intel.BUGS)
GENERATED_BUGS = (
    *(*generated.BUGS, *generated_forms.BUGS, *generated_amd.BUGS, *generated_intel.BUGS),
    *(*iree_nvidia.BUGS, *iree_amd.BUGS),
)
BUGS = (*BY_HAND, *GENERATED_BUGS)
NOTICES = sorted({notice for bug in BUGS for notice in bug.caught_by})
IN_EVERY_RUN = [
    *(next(bug for bug in BY_HAND if notice in bug.caught_by) for notice in NOTICES),
    generated.BUGS[1],
    generated_intel.BUGS[0],
]


@pytest.mark.parametrize("bug", sweep(BUGS, but=IN_EVERY_RUN), ids=lambda bug: f"{bug.kernel}: {bug.what}")
def test_a_planted_bug_is_noticed(bug, iree_attention):
    if bug.kernel in GENERATED:
        kernel = generate_attention(bug.kernel)
    else:
        kernel = HAND_WRITTEN.get(bug.kernel) or iree_attention(bug.kernel)
    settings = LaunchSettings(checks_within_warps=bug.checks_within_warps)
    run = kernel.run(kernel.compile(bug.edit(kernel.text)), settings)
    assert catchers(run) == bug.caught_by, run.report.findings


def test_every_kind_of_finding_notices_a_bug():
    assert all(bug.caught_by for bug in BUGS)
    assert {kind.text for kind in FindingKind} <= set(NOTICES)
