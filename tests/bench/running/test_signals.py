"""Signals that ask to end: one orderly end, however many come."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import Quiet, living_workers, run

from harness.bench.running.context import RunContext
from harness.bench.running.signals import ENDING, ended_by_signals
from harness.bench.workers.process import WorkerProcess
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.errors import RunInterrupted

BOTH = pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)])


@contextmanager
def usual_handlers() -> Iterator[None]:
    """Be a program that has left the signals as they are, whatever has started the tests."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    usual = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
        assert {number: signal.getsignal(number) for number in ENDING} == usual
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@BOTH
def test_the_second_signal_does_not_interrupt_what_the_first_one_began(numbers: tuple[int, int]) -> None:
    done = []
    first, second = numbers

    def clean_up() -> None:
        signal.raise_signal(second)
        done.append("cleaned up")

    def interrupted() -> None:
        with ended_by_signals(), ExitStack() as stack:
            stack.callback(clean_up)
            signal.raise_signal(first)

    with usual_handlers(), pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["cleaned up"]


def test_a_signal_in_an_orderly_end_is_noted_and_one_after_it_interrupts() -> None:
    with usual_handlers(), ended_by_signals() as ending:
        ending.begin()
        signal.raise_signal(signal.SIGTERM)
        assert ending.asked
        ending.require_none()
        ending.ended()
        with pytest.raises(KeyboardInterrupt):
            ending.require_none()


def test_what_is_taken_within_belongs_to_the_same_end() -> None:
    with usual_handlers(), ended_by_signals() as outer:
        with ended_by_signals() as inner:
            assert inner is outer
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # and does not end the process


THREE = """
import signal
from harness.bench.running.signals import ended_by_signals
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where whoever started the tests ignores it
with ended_by_signals():
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.raise_signal(signal.SIGINT)
        print("still here", flush=True)
        signal.raise_signal(signal.SIGTERM)
        print("too late", flush=True)
"""


def test_the_third_signal_ends_the_process_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", THREE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "still here\n")


class Signals(Quiet):
    """Sends this process a signal when a case has its row."""

    has_sent = False

    def finished(self, case: Case, result: Result) -> None:
        self.has_sent = True
        os.kill(os.getpid(), signal.SIGINT)


def interrupted_run(tmp_path: Path, observer: Quiet, *variants: str) -> RunFolder:
    """Check variants until the run is interrupted; return the run's folder."""
    with usual_handlers(), pytest.raises(RunInterrupted, match=f"1 of {len(variants)} cases? finished"):
        run(example_experiment(list(variants)), tmp_path, observer, timed=False)
    assert observer.was_done
    assert living_workers() == []
    folder = RunFolder.latest_in(tmp_path / "tiny")
    assert folder is not None
    assert folder.manifest.finished is not None
    assert len(RunFolder.open(folder.path).table()) == len(folder.results())
    return folder


@pytest.mark.usefixtures("example_plugin")
def test_a_run_ends_once_whatever_happens_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = Signals()
    close_worker, close_context = WorkerProcess.close, RunContext.close

    def close_in_trouble(worker: WorkerProcess) -> None:
        close_worker(worker)
        if observer.has_sent:
            observer.has_sent = False
            raise RuntimeError("the pipe is gone")

    def close_signalled(context: RunContext) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        close_context(context)

    monkeypatch.setattr(WorkerProcess, "close", close_in_trouble)
    monkeypatch.setattr(RunContext, "close", close_signalled)
    folder = interrupted_run(tmp_path, observer, "build-error", "numpy-attention")
    assert [row.variant for row in folder.results()] == ["build-error"]


@pytest.mark.usefixtures("example_plugin")
def test_a_signal_while_the_tables_are_written_waits_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = RunContext.settle

    def signalled(context: RunContext) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        settle(context)

    monkeypatch.setattr(RunContext, "settle", signalled)
    folder = interrupted_run(tmp_path, Quiet(), "build-error")
    assert [row.variant for row in folder.results()] == ["build-error"]
