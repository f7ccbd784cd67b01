import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from example_cases import PROBLEM, example_case

from harness.artifact.bound_call import BoundCall
from harness.bench.building.case_build import build_request, key_request
from harness.bench.running.check_requests import (
    CheckedCall,
    bind_inputs,
    check_outputs,
    load_code,
    run_call,
)
from harness.bench.running.expectations import save_expectation
from harness.bench.running.prepared_case import prepare_case, start_case, take_sample
from harness.bench.running.worker import answer
from harness.bench.workers import process
from harness.bench.workers.process import WorkerFailure, WorkerProcess, worker_environment
from harness.bench.workers.protocol import Life, Request
from harness.oracle.expected import Expected, expect
from harness.problem.inputs import make_inputs
from harness.system.machine import memory
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")

LIMIT_S = 60.0
PARENT_THAT_IS_KILLED = """
import os, signal, sys
from example_cases import example_case
from harness.bench.workers.process import WorkerProcess
from functools import partial
from harness.bench.building.case_build import build_request
worker = WorkerProcess()
worker.send(partial(build_request, case=example_case("hang-build")), 60)
while "hanging" not in worker.log() and worker.time_left > 0:
    pass
print(worker.pid, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with WorkerProcess(threads=1, memory_gb=1.0) as process:
        yield process


def build(worker: WorkerProcess, variant: str) -> Path:
    return worker.request(partial(build_request, case=example_case(variant)), LIMIT_S).folder


def load(worker: WorkerProcess, variant: str) -> None:
    worker.request(
        partial(load_code, folder=build(worker, variant), case=example_case(variant), code={}), LIMIT_S
    )
    worker.request(partial(bind_inputs, distribution="normal", seed=0), LIMIT_S)


def failure_of(worker: WorkerProcess, request: Request[Any], timeout_s: float = LIMIT_S) -> WorkerFailure:
    worker.send(request, timeout_s)
    with pytest.raises(WorkerFailure) as caught:
        worker.receive()
    return caught.value


def test_a_new_life_has_nothing_of_the_last_one(worker: WorkerProcess) -> None:
    load(worker, "numpy-attention")
    first = worker.pid
    worker.restart()
    failure = failure_of(worker, run_call)
    assert "this life has no CheckedCall" in failure.reason
    assert worker.pid != first
    assert not psutil.pid_exists(first)


def test_a_case_is_built_loaded_run_checked_and_sampled(worker: WorkerProcess, tmp_path: Path) -> None:
    expectation = tmp_path / "expected"
    request = partial(save_expectation, problem=PROBLEM, distribution="normal", seed=0, file=expectation)
    worker.request(request, LIMIT_S)
    assert Expected.load(expectation).reference.shape == PROBLEM.output_shape
    load(worker, "numpy-attention")
    assert worker.request(run_call, LIMIT_S) > 0
    assert worker.request(partial(check_outputs, expectation=expectation), LIMIT_S).ok
    prepare = partial(
        prepare_case,
        folder=build(worker, "numpy-attention"),
        case=example_case("numpy-attention"),
        code={},
        candidate=0,
        distribution="normal",
        seed=0,
        expectation=expectation,
    )
    worker.begin_lives(prepare, LIMIT_S)
    allowed = os.sched_getaffinity(worker.pid)
    worker.request(partial(start_case, placement_seed=1, processor=max(allowed)), LIMIT_S)
    assert os.sched_getaffinity(worker.pid) == {max(allowed)}
    sampled = worker.request(partial(take_sample, number=2, min_seconds=0.001), LIMIT_S).sample
    assert sampled.seconds * sampled.calls >= 0.001
    verified = partial(take_sample, number=1, min_seconds=0.001, is_verified=True)
    verdict = worker.request(verified, LIMIT_S).verdict
    assert verdict is not None
    assert verdict.ok
    worker.restart()
    worker.request(partial(start_case, placement_seed=2), LIMIT_S)
    assert os.sched_getaffinity(worker.pid) == allowed, "the next life is free"


def test_the_output_is_poisoned_before_it_is_checked(worker: WorkerProcess, tmp_path: Path) -> None:
    expectation = tmp_path / "expected"
    request = partial(save_expectation, problem=PROBLEM, distribution="normal", seed=0, file=expectation)
    worker.request(request, LIMIT_S)
    load(worker, "stale")
    verdicts = []
    for _ in range(2):
        worker.request(run_call, LIMIT_S)
        verdicts.append(worker.request(partial(check_outputs, expectation=expectation), LIMIT_S))
    assert [verdict.ok for verdict in verdicts] == [True, False]
    assert verdicts[1].error_ratio == float("inf")


def test_an_exception_is_told_and_the_worker_lives_on(worker: WorkerProcess) -> None:
    load(worker, "raises")
    failure = failure_of(worker, run_call)
    assert (failure.status, failure.reason) == (Status.CRASHED, "RuntimeError: the launch was refused")
    assert "with details on a second line" in failure.log
    assert worker.request(partial(key_request, case=example_case()), LIMIT_S).device.startswith("NumPy")


def test_a_worker_that_is_killed_from_outside_says_so(worker: WorkerProcess) -> None:
    number = signal.SIGKILL
    worker.request(partial(key_request, case=example_case()), LIMIT_S)
    os.kill(worker.pid, number)
    failure = failure_of(worker, partial(key_request, case=example_case()))
    assert (failure.status, failure.transient) == (Status.CRASHED, True)
    assert failure.reason == f"the worker was killed from outside ({number.name})"


def test_a_worker_whose_guardian_is_killed_from_outside_says_so(worker: WorkerProcess) -> None:
    number = signal.SIGTERM
    worker.request(partial(key_request, case=example_case()), LIMIT_S)
    worker.send(partial(build_request, case=example_case("hang-build")), LIMIT_S)
    psutil.Process(worker.pid).parent().send_signal(number)
    with pytest.raises(WorkerFailure) as caught:
        worker.receive()
    assert (caught.value.status, caught.value.transient) == (Status.CRASHED, True)
    assert caught.value.reason == f"the worker was killed from outside ({number.name})"


def test_a_worker_that_the_kernel_kills_for_memory_is_out_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kills = iter([3, 4])
    monkeypatch.setattr(memory, "memory_kills", lambda: next(kills))
    with WorkerProcess() as worker:
        worker.request(partial(key_request, case=example_case()), LIMIT_S)
        os.kill(worker.pid, signal.SIGKILL)
        failure = failure_of(worker, partial(key_request, case=example_case()))
    assert (failure.status, failure.transient) == (Status.OUT_OF_MEMORY, False)
    assert failure.reason == "killed by the kernel, which was out of memory (SIGKILL)"


def test_nothing_is_imported_from_the_folder_that_the_harness_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = "import pathlib, sys; pathlib.Path(__file__).with_suffix('.imported').touch()"
    for name in ("iree", "numpy", "harness", "attention_example", "ctypes"):
        (tmp_path / f"{name}.py").write_text(trap)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.environ["PYTHONPATH"] + os.pathsep)  # an empty entry is this folder
    with WorkerProcess() as worker:
        worker.request(partial(key_request, case=example_case()), LIMIT_S)
        assert os.readlink(f"/proc/{worker.pid}/cwd") != str(tmp_path)
    assert not list(tmp_path.glob("*.imported"))


def test_a_cache_that_is_relative_means_the_same_to_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE_DIR", "cache")
    with WorkerProcess() as worker:
        built = worker.request(partial(build_request, case=example_case()), LIMIT_S)
    assert built.folder.parent == tmp_path / "cache"


def test_workers_end_with_a_parent_that_is_killed_even_in_an_endless_loop() -> None:
    paths = [str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT_THAT_IS_KILLED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
    )
    assert parent.stdout is not None
    orphan = psutil.Process(int(parent.stdout.readline()))
    parent.communicate("now\n")
    assert parent.returncode == -signal.SIGKILL
    _, alive = psutil.wait_procs([orphan], timeout=30)
    assert alive == []


def test_code_that_is_not_that_of_its_key_is_not_loaded(worker: WorkerProcess) -> None:
    """As of a plugin that is edited while a run goes on: what it is now has another key."""
    folder = build(worker, "numpy-attention")
    found = worker.request(partial(key_request, case=example_case()), LIMIT_S)
    assert set(found.code) == {"attention_example", "harness"}
    worker.request(partial(load_code, folder=folder, case=example_case(), code=found.code), LIMIT_S)
    other = {**found.code, "attention_example": "was"}
    failure = failure_of(worker, partial(load_code, folder=folder, case=example_case(), code=other))
    assert (failure.status, failure.transient) == (Status.CRASHED, True)
    assert "attention_example: the code is not what the run began with" in failure.reason


def test_idle_thread_pools_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    environment = worker_environment(threads=2)
    assert {name: environment[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
    }
    assert (environment["OMP_WAIT_POLICY"], environment["KMP_BLOCKTIME"]) == ("PASSIVE", "0")


def test_a_silent_worker_whose_child_holds_the_channel_is_noticed(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a killed worker's compiler process lives on: the channel never ends."""
    worker.request(partial(key_request, case=example_case()), LIMIT_S)
    monkeypatch.setattr(process, "DEATH_POLL_S", 0.01)
    silent, held_open = socket.socketpair()
    monkeypatch.setattr(worker, "_channel", silent)
    worker.send(partial(key_request, case=example_case()), LIMIT_S)
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerFailure) as caught:
        worker.receive()
    held_open.close()
    silent.close()
    assert caught.value.reason == "the worker was killed from outside (SIGKILL)"


class Late(BoundCall):
    """A call whose output is there some time after it has returned."""

    def __init__(self, output: np.ndarray) -> None:
        self.result = np.full_like(output, np.nan)
        self._later = output

    def poison(self) -> None:
        self.result.fill(np.nan)

    def run(self) -> None: ...

    def output(self) -> np.ndarray:
        return self.result

    def be_done(self) -> None:
        self.result[...] = self._later


@pytest.mark.parametrize(("reads", "ok"), [(True, False), (False, True)])
def test_a_check_compares_what_was_there_when_the_call_returned(
    reads: bool, ok: bool, tmp_path: Path
) -> None:
    inputs, file = make_inputs(PROBLEM), tmp_path / "expected.npy"
    expected = expect(inputs, PROBLEM)
    expected.save(file)
    life, call = Life(), Late(expected.reference.astype(np.float32))
    life.keep(CheckedCall(call))
    answer(partial(run_call, reads=reads), life)
    call.be_done()
    assert answer(partial(check_outputs, expectation=file), life).ok == ok
