"""What a bundle without artifacts answers: why there are none."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from example_cases import example_case
from example_results import example_manifest

from harness import plugins
from harness.bench.row_maker import CaseRecord
from harness.bench.running.bundle import Bundle, BundledBuilds, BundledCase, BundleIndex
from harness.system.status import Status

CRASHED = BundledCase(case=example_case(), key=None, status=Status.CRASHED, reason="SIGSEGV")
REFUSED = BundledCase(case=example_case(seq=77), key=None, status=Status.UNSUPPORTED, reason="no such width")


def builds_of(folder: Path, *entries: BundledCase) -> BundledBuilds:
    return BundledBuilds(Bundle(folder, BundleIndex(manifest=example_manifest(), cases=entries)))


def test_what_a_build_ended_in_is_the_case_s_failure(tmp_path: Path) -> None:
    records = [CaseRecord(entry.case) for entry in (CRASHED, REFUSED)]
    builds = builds_of(tmp_path, CRASHED, REFUSED)
    for answers in (builds.find_keys, builds.build):
        failures = [failure for _, failure in answers(records, lambda case, phase: None)]
        assert [(failure.status, failure.reason) for failure in failures if failure is not None] == [
            (Status.CRASHED, "SIGSEGV"),
            (Status.UNSUPPORTED, "no such width"),
        ]


def test_a_target_that_cannot_say_its_device_fails_its_own_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(case: object) -> str:
        raise ZeroDivisionError("no device")

    built = BundledCase(case=example_case(), key="k", status=Status.BUILT, digest="d")
    monkeypatch.setattr(plugins, "target", lambda name: SimpleNamespace(device_of=fail))
    keys = builds_of(tmp_path, built).find_keys([CaseRecord(built.case)], lambda case, phase: None)
    ((_, failure),) = keys
    assert failure.status is Status.BUILD_FAILED
    assert "cannot say which device its code is for (device): ZeroDivisionError" in failure.reason
