"""Peaks of a run that goes on with other code of a target: they are measured again."""

from pathlib import Path
from typing import Any

import pytest
from example_results import example_manifest, example_round

from harness.digest import OWN_PACKAGE
from harness.results.manifest import Manifest
from harness.results.run_folder import RunFolder
from harness.running import outdated_peaks as module
from harness.running.outdated_peaks import has_code_since, outdated_peaks
from harness.running.peaks import Peaks

PEAKS = {"mine f32": 1e13, "cpu f32 threads=1": 1e11}
FIRST, SECOND, THIRD = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))


@pytest.fixture(autouse=True)
def targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target `mine` lies in the package `mine`, and `cpu` in the harness's."""
    monkeypatch.setattr(module.plugins, "target", lambda name: name)
    monkeypatch.setattr(module, "code_packages", lambda name: {OWN_PACKAGE if name == "cpu" else name})


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
    ],
)
def test_peaks_are_forgotten_with_the_code_of_their_target(
    changes: dict[str, Any], forgotten: set[str]
) -> None:
    assert outdated_peaks(manifest(peaks=PEAKS), manifest(SECOND, **changes)) == forgotten


def test_code_is_that_of_the_part_that_has_named_it_last(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "sweep", manifest())
    run.mark_resumed(manifest(SECOND, plugin_code={}))
    assert has_code_since(run.manifest, "mine") == FIRST
    run.mark_resumed(manifest(THIRD, plugin_code={"mine": "2"}))
    assert has_code_since(run.manifest, "mine") == THIRD
    assert has_code_since(run.manifest, "cpu") == FIRST


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
