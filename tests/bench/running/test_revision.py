"""What the workers of another revision can be asked."""

import shutil
from pathlib import Path

import pytest

from harness.artifact.binary import PACKAGE
from harness.bench.running.revision import REQUEST_FILES, Revision
from harness.system.errors import InputError


@pytest.fixture
def revision(tmp_path: Path) -> Revision:
    """A revision that asks its workers as this version does."""
    for name in ("__init__.py", *REQUEST_FILES):
        file = tmp_path / "harness" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, file)
    return Revision("v1", "0" * 40, tmp_path)


def test_revisions_that_ask_alike_can_take_turns(revision: Revision) -> None:
    file = revision.folder / "harness" / "bench/running/prepared_case.py"
    file.write_text(f"{file.read_text()}\n\ndef another_request(life, number): ...\n")
    revision.require_same_requests()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("bench/running/prepared_case.py", "placement_seed", "seed"),
        ("bench/running/prepared_case.py", "def call_once", "def call_twice"),
        ("bench/workers/protocol.py", "    pid: int", "    process: int"),
    ],
)
def test_one_that_asks_otherwise_is_refused_by_name(
    revision: Revision, name: str, old: str, new: str
) -> None:
    file = revision.folder / "harness" / name
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(InputError, match=r"^--revisions: v1: its workers do not know \w+\(.*\), which"):
        revision.require_same_requests()


def test_a_repository_of_plugins_has_the_workers_that_are_here(tmp_path: Path) -> None:
    Revision("v1", "0" * 40, tmp_path).require_same_requests()
