"""Peaks of a run that goes on with other code of a target, or on another device: they are measured again."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from example_cases import PROBLEM
from example_results import example_manifest, example_round

from harness.code_digests import OWN_PACKAGE
from harness.printable import printable
from harness.problem.case import Case
from harness.results.manifest import Manifest
from harness.results.run_folder import RunFolder
from harness.running import outdated_peaks as module
from harness.running.outdated_peaks import devices_of_peaks, outdated_peaks, same_since
from harness.running.peaks import Peaks

PEAKS = {"mine f32": 1e13, "cpu f32 threads=1": 1e11}
FIRST, SECOND, THIRD = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))


@pytest.fixture(autouse=True)
def targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target `mine` lies in the package `mine`, and `cpu` in the harness's."""

    def code_of_plugin(kind: str, name: str) -> dict[str, str]:
        return {OWN_PACKAGE if name == "cpu" else name: "a digest"}

    monkeypatch.setattr(module, "code_of_plugin", code_of_plugin)


def manifest(started: str = FIRST, **changes: Any) -> Manifest:
    fields = {"started": started, "code_digest": "a", "plugin_code": {"mine": "1"}, **changes}
    return example_manifest().model_copy(update=fields)


@pytest.mark.parametrize(
    ("changes", "forgotten"),
    [
        ({}, set()),
        ({"plugin_code": {"mine": "2"}}, {"mine f32"}),
        ({"plugin_code": {}}, set()),
        ({"plugin_code": {"mine": "1", "another": "1"}}, set()),
        ({"code_digest": "b"}, {"cpu f32 threads=1"}),
        ({"devices_of_peaks": {"mine f32": "board 2", "cpu f32 threads=1": "a processor"}}, {"mine f32"}),
        ({"devices_of_peaks": {"mine f32": "board 1"}}, set()),
        ({"devices_of_peaks": {}}, set()),
    ],
)
def test_peaks_are_forgotten_with_the_code_and_the_device_of_their_target(
    changes: dict[str, Any], forgotten: set[str]
) -> None:
    run = manifest(peaks=PEAKS, devices_of_peaks={"mine f32": "board 1", "cpu f32 threads=1": "a processor"})
    assert outdated_peaks(run, manifest(SECOND, **changes)) == forgotten


def test_code_is_that_of_the_part_that_has_named_it_last(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "sweep", manifest())
    run.mark_resumed(manifest(SECOND, plugin_code={}))
    assert same_since(run.manifest, "mine f32") == FIRST
    run.mark_resumed(manifest(THIRD, plugin_code={"mine": "2"}))
    assert same_since(run.manifest, "mine f32") == THIRD
    assert same_since(run.manifest, "cpu f32 threads=1") == FIRST


def test_rounds_of_older_code_tell_nothing_of_its_peak(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "sweep", manifest(peaks=PEAKS))
    now = manifest(SECOND, plugin_code={"mine": "2"})
    run.forget_peaks(outdated_peaks(run.manifest, now))
    run.mark_resumed(now)
    peaks = Peaks(run, timeout_s=1.0)
    peaks.note_earlier([example_round(peak_flops=PEAKS, at=FIRST)])
    peaks.note_earlier([example_round(peak_flops={"mine f32": 1e10}, at=SECOND)])
    peaks.save()
    assert RunFolder.open(run.path).manifest.peaks == {"mine f32": 1e10, "cpu f32 threads=1": 1e11}


def test_each_peak_has_the_device_that_its_target_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def device_of(case: Case) -> str:
        if case.target == "mine":
            raise OSError("no device")
        return "a pro\x1bcessor"

    target = SimpleNamespace(device_of=device_of, peak_dtype=lambda dtype: dtype)
    monkeypatch.setattr(module.plugins, "target", lambda name: target)
    cases = [Case(problem=PROBLEM, variant="flash", target=target) for target in ("cpu", "mine")]
    assert devices_of_peaks(cases) == {"cpu f32": printable("a pro\x1bcessor")}
