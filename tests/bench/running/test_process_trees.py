"""Nothing that a build has started outlives the harness, and what it leaves on disk is removed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest
from example_cases import example_case

from harness.bench.building.case_build import build_request, key_request
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.results.run_folder import RunFolder
from harness.system.errors import KilledError
from harness.system.processes.guardian import GUARDED_VARIABLE
from harness.system.processes.programs import killed_by, run_program
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")

RUN = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where whoever started the tests ignores it
import sys
from pathlib import Path
from example_cases import example_experiment
from harness.bench.running.progress import PlainObserver
from harness.bench.running.runner import run_experiment
experiment = example_experiment(["numpy-attention", "leaves-children"])
run_experiment(experiment, experiment.cases(), out=Path(sys.argv[1]), resume=False, timed=True,
               observer=PlainObserver(sys.stderr), command=["harness"])
"""


@pytest.fixture
def children_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_TEST_CHILDREN", str(tmp_path / "children"))
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "children"


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def started(children_file: Path) -> list[psutil.Process]:
    """Wait for the worker that hangs; return it and all below it."""
    wait_for(lambda: children_file.exists() and len(children_file.read_text().split()) == 4)
    worker = psutil.Process(int(children_file.read_text().split()[0]))
    wait_for(lambda: len(worker.children(recursive=True)) >= 5)  # one is in two sessions below a shell
    return [worker, *worker.children(recursive=True)]


def ended(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=20)
    return not alive


def start_run(tmp_path: Path) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]])
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path / "results")], env={**os.environ, "PYTHONPATH": path}
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.sweep)])
def test_a_run_that_is_asked_to_end_ends_as_by_ctrl_c(
    children_file: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run = start_run(tmp_path)
    processes = started(children_file)
    run.send_signal(number)
    assert run.wait(timeout=60) != -number
    assert ended(processes)
    folder = RunFolder.latest_in(tmp_path / "results" / "tiny")
    assert folder is not None
    assert folder.manifest.finished is not None
    assert (folder.path / "results.parquet").exists()


def test_all_that_a_build_started_ends_with_its_time(children_file: Path) -> None:
    with WorkerProcess() as worker:
        worker.request(partial(key_request, case=example_case()), 60)
        worker.send(partial(build_request, case=example_case("leaves-children")), 3)
        processes = started(children_file)
        with pytest.raises(WorkerFailure) as caught:
            worker.receive()
        assert caught.value.status is Status.TIMED_OUT
    assert ended(processes)


@pytest.mark.sweep
def test_what_a_killed_build_leaves_is_below_the_cache_and_goes_with_the_next(
    children_file: Path, tmp_path: Path
) -> None:
    run = start_run(tmp_path)
    processes = started(children_file)
    building = tmp_path / "cache" / ".building"
    assert [path.name for path in building.rglob("left.o")] == ["left.o"]
    run.kill()
    run.wait()
    assert ended(processes), "all that a build started ends with a harness that is killed"
    with WorkerProcess() as worker:
        worker.request(partial(build_request, case=example_case()), 60)
    assert list(building.iterdir()) == []


PROGRAM = """
import subprocess, time
subprocess.Popen(["sleep", "91"], start_new_session=True)
time.sleep(91)
"""


def sleepers() -> list[psutil.Process]:
    return [
        process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == ["sleep", "91"]
    ]


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_program_that_takes_too_long_ends_with_all_it_started(
    is_guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_guarded:
        monkeypatch.setenv(GUARDED_VARIABLE, "1")
    with pytest.raises(subprocess.TimeoutExpired):
        run_program([sys.executable, "-c", PROGRAM], 1.5)
    assert ended(sleepers())


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_program_is_run_to_its_end(is_guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_guarded:
        monkeypatch.setenv(GUARDED_VARIABLE, "1")
    done = run_program(["sh", "-c", "cat; echo wrong >&2; exit 3"], 30, text="given")
    assert (done.returncode, done.stdout, done.stderr) == (3, "given", "wrong\n")


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_a_program_that_somebody_ends_is_told_from_one_that_refuses(
    number: signal.Signals, is_guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_guarded:
        monkeypatch.setenv(GUARDED_VARIABLE, "1")
    with pytest.raises(KilledError, match=rf"^sh was killed from outside \({number.name}\)$"):
        run_program(["sh", "-c", f"kill -{int(number)} $$"], 30)


@pytest.mark.parametrize(
    ("status", "diagnostics", "number"),
    [
        (1, "cc: fatal error: Killed signal terminated program cc1", signal.SIGKILL),
        (1, "collect2: fatal error: ld terminated with signal 15 [Terminated]", signal.SIGTERM),
        (-signal.SIGSEGV, "", None),
        (0, "Killed", None),
    ],
)
def test_a_compiler_tells_that_a_program_of_its_own_was_killed(
    status: int, diagnostics: str, number: signal.Signals | None
) -> None:
    assert killed_by(status, diagnostics) == number


def test_a_program_that_dies_of_a_signal_does_so_under_a_guardian() -> None:
    assert run_program(["sh", "-c", "kill -SEGV $$"], 30).returncode == -signal.SIGSEGV
