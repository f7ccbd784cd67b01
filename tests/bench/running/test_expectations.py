"""What the oracle expects, and the worker that computes it."""

from pathlib import Path

import psutil
import pytest
from example_cases import PROBLEM

from harness.bench.running.expectations import Expectations
from harness.bench.workers.process import WorkerFailure


def oracles() -> list[int]:
    return [child.pid for child in psutil.Process().children()]


def test_one_worker_computes_what_is_expected_of_all_problems(tmp_path: Path) -> None:
    before = oracles()
    expectations = Expectations(tmp_path / "expected", seed=1)
    files = {expectations.file(PROBLEM, "normal")}
    started = [pid for pid in oracles() if pid not in before]
    another = PROBLEM.model_copy(update={"causal": True})
    files |= {expectations.file(another, "normal")}
    assert [pid for pid in oracles() if pid not in before] == started
    assert len(started) == 1
    assert len(files) == 2
    assert all(file.exists() for file in files)
    expectations.close()
    assert oracles() == before
    assert not any(file.exists() for file in files)


def test_after_a_failure_or_a_death_a_new_worker_goes_on(tmp_path: Path) -> None:
    expectations = Expectations(tmp_path / "expected", seed=1)
    before = oracles()
    try:
        with pytest.raises(WorkerFailure, match="unknown input distribution"):
            expectations.file(PROBLEM, "no-such")
        assert oracles() == before
        expectations.file(PROBLEM, "normal")
        (worker,) = (pid for pid in oracles() if pid not in before)
        psutil.Process(worker).kill()
        psutil.wait_procs([psutil.Process(worker)], timeout=5)
        file = expectations.file(PROBLEM, "uniform")
        assert file.exists()
    finally:
        expectations.close()
