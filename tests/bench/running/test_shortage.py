"""A full disk and a killed worker are no case's fault: the run ends in one line, or a resume tries again."""

import errno
import os
import resource
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from example_cases import example_experiment
from test_runner import Quiet, living_workers, run

from harness.bench.running.expectations import Expectations
from harness.bench.running.failure_kinds import failure_of, stop_if_no_room
from harness.bench.workers.process import WorkerFailure
from harness.oracle.expected import Expected
from harness.problem.case import Case
from harness.results.run_folder import RunFolder
from harness.system.errors import StorageError, is_no_room
from harness.system.status import Status
from harness.system.storage import room

pytestmark = pytest.mark.usefixtures("example_plugin")

FULL = os.strerror(errno.ENOSPC)


def variants_with_rows(out: Path) -> list[str]:
    folder = RunFolder.latest_in(out / "tiny")
    assert folder is not None
    return [row.variant for row in folder.results()]


def test_a_build_that_finds_no_room_ends_the_run_and_has_no_row(tmp_path: Path) -> None:
    experiment = example_experiment(["missing-dependency", "disk-full", "numpy-attention"])
    with pytest.raises(
        StorageError, match=f"{FULL}: make room where nothing can be written; go on with --resume$"
    ):
        run(experiment, tmp_path)
    assert "disk-full" not in variants_with_rows(tmp_path)
    assert living_workers() == []


def test_a_run_goes_on_when_there_is_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = example_experiment(["raises", "numpy-attention"])

    def full(self: Expectations, *arguments: object, **which: object) -> None:
        raise OSError(errno.ENOSPC, FULL, "expected.npz")

    with monkeypatch.context() as patch:
        patch.setattr(Expectations, "file", full)
        with pytest.raises(StorageError, match=f"expected.npz: {FULL}; go on with --resume$"):
            run(experiment, tmp_path, timed=False)
    observer = Quiet()
    summary = run(experiment, tmp_path, observer, resume=True, timed=False)
    assert [row.status for row in summary.results] == [Status.CRASHED, Status.PASSED]
    assert observer.messages[0].startswith("resuming run")


@pytest.fixture
def small_files() -> Iterator[None]:
    """Let no file become longer than 64 KiB."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("small_files")
def test_expectations_that_a_limit_of_file_sizes_cuts_are_no_fault_of_a_case(tmp_path: Path) -> None:
    rows = np.zeros((1, 1, 2**12))
    expected = Expected("f32", reference=np.zeros((1, 1, 2**12, 4)), tolerance=rows, log_sum_exp=rows)
    with pytest.raises(OSError, match="requested and") as raised:
        expected.save(tmp_path / "expected.npy")
    assert is_no_room(raised.value)
    assert failure_of(raised.value).no_room


def test_a_crash_on_a_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = namedtuple("disk", "f_bavail f_frsize f_files f_favail")
    monkeypatch.setattr(room.os, "statvfs", lambda folder: disk(3, 4096, 100, 50))
    with pytest.raises(StorageError, match="the disk is full: make room"):
        run(example_experiment(["segfault"]), tmp_path)


@pytest.mark.parametrize(
    ("failure", "stops"),
    [
        (WorkerFailure(Status.CRASHED, "OSError", no_room=True), True),
        (WorkerFailure(Status.BUILD_FAILED, f"error: {FULL}"), True),
        (WorkerFailure(Status.CRASHED, "SIGABRT", log=f"LLVM ERROR: IO failure: {FULL}"), True),
        (WorkerFailure(Status.BUILD_FAILED, f"write: {FULL} (os error 28)"), True),
        (WorkerFailure(Status.CRASHED, f"RuntimeError: ptxas: {FULL} in shared memory"), False),
        (WorkerFailure(Status.CRASHED, "SIGSEGV"), False),
    ],
)
def test_only_what_came_of_a_full_disk_stops_a_run(failure: WorkerFailure, stops: bool) -> None:
    try:
        stop_if_no_room(failure)
    except StorageError:
        assert stops
    else:
        assert not stops


@pytest.mark.sweep
def test_a_case_whose_worker_was_killed_from_outside_is_repeated_by_a_resume(
    tmp_path: Path, example_plugin: Path
) -> None:
    experiment = example_experiment(["killed", "tool-killed", "segfault"])
    first = run(experiment, tmp_path)
    assert [(row.status, row.phase, row.transient) for row in first.results] == [
        (Status.CRASHED, "run", True),
        (Status.CRASHED, "build", True),
        (Status.CRASHED, "run", False),
    ]
    assert str(first.results[1].reason).startswith("sh was killed from outside (SIGTERM)")

    repeated: list[str] = []

    class Counts(Quiet):
        def started(self, case: Case, phase: str) -> None:
            if phase == "build":
                repeated.append(case.variant)

    run(experiment, tmp_path, Counts(), resume=True)
    assert repeated == ["killed", "tool-killed"]
