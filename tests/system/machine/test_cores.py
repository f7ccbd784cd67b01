import os
from pathlib import Path

import pytest

from harness.system.machine.cores import ALLOTTED, allotted_cores, available_cores


@pytest.fixture
def siblings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Four processors that are two cores, and a fifth of which nothing is known."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3, 4})
    for processor, sharing in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        (tmp_path / f"cpu{processor}").write_text(f"{sharing}\n")
    return str(tmp_path / "cpu{}")


def test_hyper_threads_of_one_core_count_once(siblings: str) -> None:
    assert available_cores(siblings, quota=64.0) == 3


@pytest.mark.parametrize(("quota", "expected"), [(2.5, 2), (0.5, 1)])
def test_a_containers_limit_holds(siblings: str, quota: float, expected: int) -> None:
    assert available_cores(siblings, quota) == expected


@pytest.mark.parametrize(("share", "expected"), [("1", 1), ("2", 2), ("0", 1), ("99", 5), ("none", 5)])
def test_a_share_of_the_cores_is_one_of_those_there_are(
    monkeypatch: pytest.MonkeyPatch, share: str, expected: int
) -> None:
    monkeypatch.setattr("harness.system.machine.cores.available_cores", lambda: 5)
    monkeypatch.setenv(ALLOTTED, share)
    assert allotted_cores() == expected


def test_without_a_share_all_cores_are_allotted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOTTED, raising=False)
    assert allotted_cores() == available_cores()
