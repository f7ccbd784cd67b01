"""Who may write to a run: one process at a time, and none for ever."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from example_results import example_manifest

from harness.results.run_folder import RunFolder
from harness.system.errors import InputError

LOCK_HOLDER = """
import sys
from pathlib import Path
from harness.results.run_folder import RunFolder
RunFolder.open(Path(sys.argv[1])).lock()
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[tuple[RunFolder, "subprocess.Popen[str]"]]:
    """A run that another process writes to."""
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    folder.release()
    process = subprocess.Popen(
        [sys.executable, "-c", LOCK_HOLDER, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    yield folder, process
    process.kill()
    process.communicate()


def test_a_run_that_another_process_writes_to_says_which(
    holder: tuple[RunFolder, "subprocess.Popen[str]"],
) -> None:
    folder, _ = holder
    with pytest.raises(InputError, match="this run goes on already"):
        folder.lock()


def test_the_lock_of_a_run_dies_with_its_holder(holder: tuple[RunFolder, "subprocess.Popen[str]"]) -> None:
    folder, process = holder
    process.kill()
    process.wait()
    folder.lock()
    folder.release()
    assert not (folder.path / ".lock").exists()


def test_a_lock_reads_what_others_have_noted_meanwhile(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    folder.release()
    RunFolder.open(folder.path).record_bandwidths({"cpu": {"L1": 1.0}}, {})
    folder.lock()
    assert folder.manifest.bandwidths == {"cpu": {"L1": 1.0}}


def test_what_a_killed_writer_left_goes_when_the_run_is_locked_again(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    folder.release()
    (folder.path / ".replacing-0123.parquet").touch()
    folder.lock()
    assert {path.name for path in folder.path.iterdir()} == {"manifest.json", ".lock"}
