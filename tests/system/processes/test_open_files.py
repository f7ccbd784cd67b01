"""Waiting for descriptors of any number, and the limit of open files."""

import os
import resource
from collections.abc import Iterator

import pytest

from harness.bench.workers.process import DESCRIPTORS, WorkerProcess
from harness.system.processes.open_files import RESERVE, allow_open_files, readable

SELECTED = 1024
"""Descriptors that `select.select` takes."""


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """Have all descriptors open that `select.select` takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * SELECTED), hard))
    kept = [os.open(os.devnull, os.O_RDONLY)]
    while kept[-1] < SELECTED:
        kept.append(os.dup(kept[0]))
    yield
    for descriptor in kept:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """Yield the limits of open files, which a test may change."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_open_files")
def test_descriptors_of_any_number_are_waited_for() -> None:
    read, write = os.pipe()
    assert read > SELECTED
    try:
        assert readable([read], 0.0) == set()
        os.write(write, b"x")
        assert readable([read], 1.0) == {read}
        os.read(read, 1)
    finally:
        os.close(write)
    assert readable([read], 1.0) == {read}  # its end
    os.close(read)


def test_a_worker_takes_as_many_descriptors_as_are_reckoned() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with WorkerProcess() as worker:
        assert worker.pid != 0
        assert len(os.listdir("/proc/self/fd")) - before == DESCRIPTORS


def test_the_soft_limit_of_open_files_is_raised_and_taken_back(limits: tuple[int, int]) -> None:
    soft, hard = limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    take_back = allow_open_files(400, "a group")
    assert 400 + RESERVE < resource.getrlimit(resource.RLIMIT_NOFILE)[0] < soft
    take_back()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (200, hard)
