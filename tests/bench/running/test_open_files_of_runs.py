"""Runs whose groups need more open files than the soft limit allows: each case keeps a worker."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import Quiet, run

from harness.system.errors import InputError
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")

GROUP = example_experiment(["numpy-attention"], variant={"numpy-attention": {"block": [1, 2, 4, 8]}})


@pytest.fixture
def few_files() -> Iterator[int]:
    """Allow few more open files than there are, too few for four workers; yield how many."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(os.listdir("/proc/self/fd")) + 14
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
    yield few
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.sweep
def test_a_group_raises_the_soft_limit_for_as_long_as_it_runs(few_files: int, tmp_path: Path) -> None:
    results = run(GROUP, tmp_path, Quiet()).results
    assert [row.status for row in results] == [Status.PASSED] * 4
    assert all(row.time_s is not None for row in results)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == few_files


def test_a_group_of_more_than_the_hard_limit_is_refused_up_front(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    with pytest.raises(InputError, match=r"a group of 4 cases, timed in turn, needs \d+ open files, 64 are"):
        run(GROUP, tmp_path, Quiet())
    assert not list(tmp_path.iterdir())
