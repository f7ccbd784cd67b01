"""What the index of a bundle may say: an artifact, or why there is none; never that a case passed."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from example_cases import example_case
from example_results import example_manifest

from harness import plugins
from harness.__main__ import main
from harness.building.case_build import KeyRequest
from harness.running.bundle import BUNDLE_FILE, BundledBuilds, BundledCase, BundleIndex, open_bundle
from harness.status import Status
from harness.workers.process import WorkerFailure

EXPERIMENT = """
name = "tiny"
question = "Does it pass?"
variants = ["numpy-attention"]
targets = ["numpy"]
"""


def written(folder: Path, change: Callable[[list[Any]], object]) -> Path:
    """Write a bundle without artifacts, its entries changed; return its folder."""
    manifest = example_manifest().model_copy(update={"source": EXPERIMENT})
    entries = [
        BundledCase(case=example_case(), key=None, status=Status.CRASHED, reason="SIGSEGV"),
        BundledCase(case=example_case(seq=77), key=None, status=Status.UNSUPPORTED, reason="no such width"),
    ]
    index = json.loads(BundleIndex(manifest=manifest, cases=tuple(entries)).model_dump_json())
    change(index["cases"])
    (folder / BUNDLE_FILE).write_text(json.dumps(index))
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda cases: cases[0].update(status="passed"),
            "cases.0: status: found 'passed', expected 'built' or why there is no artifact",
        ),
        (lambda cases: cases[1].update(status="emulated"), "cases.1: status: found 'emulated', expected"),
        (
            lambda cases: cases[1].update(status="built"),
            "cases.1: key: found none, expected that of an artifact: the case is 'built'",
        ),
        (lambda cases: cases.clear(), "cases: Tuple should have at least 1 item"),
        (
            lambda cases: cases.append(cases[0]),
            f"cases: found case {example_case().id} 2 times, expected each case once",
        ),
    ],
)
def test_an_index_that_no_build_writes_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[list[Any]], object], message: str
) -> None:
    bundle = written(tmp_path, change)
    assert main(["check", "--strict", "--bundle", str(bundle), "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{BUNDLE_FILE}: not a bundle: {message}" in line
    assert not list((tmp_path / "out").rglob("results.jsonl"))


def test_what_a_build_ended_in_is_the_case_s_failure(tmp_path: Path) -> None:
    bundle = open_bundle(written(tmp_path, lambda cases: None))
    requests = [KeyRequest(case=entry.case) for entry in bundle.index.cases]
    answers = [outcome.answer for outcome in BundledBuilds(bundle).run(requests, lambda request: None)]
    found = [(answer.status, answer.reason) for answer in answers if isinstance(answer, WorkerFailure)]
    assert found == [(Status.CRASHED, "SIGSEGV"), (Status.UNSUPPORTED, "no such width")]


@pytest.mark.parametrize("status", [Status.PASSED, Status.EMULATED, Status.BUILT])
def test_no_failure_has_a_status_that_is_none(status: Status) -> None:
    with pytest.raises(ValueError, match=f"a failure cannot be {status}"):
        WorkerFailure(status, "not built")


def test_a_target_that_cannot_say_its_device_fails_its_own_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(case: object) -> str:
        raise ZeroDivisionError("no device")

    bundle = open_bundle(
        written(tmp_path, lambda cases: cases[0].update(status="built", key="k", digest="d"))
    )
    monkeypatch.setattr(plugins, "target", lambda name: SimpleNamespace(device_of=fail))
    (outcome,) = BundledBuilds(bundle).run([KeyRequest(case=example_case())], lambda request: None)
    assert isinstance(outcome.answer, WorkerFailure)
    assert (outcome.answer.status, outcome.answer.reason) == (
        Status.BUILD_FAILED,
        "target 'numpy' cannot say which device its code is for (device): ZeroDivisionError: no device",
    )
