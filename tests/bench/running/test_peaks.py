"""What a run asks of the worker that measures peaks and bandwidths, and what it makes of failures."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from example_results import example_manifest

from harness import plugins
from harness.bench.running import peaks as peaks_module
from harness.bench.running.peaks import Peaks, machine_name, unit_of
from harness.bench.workers.process import WorkerFailure
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.results.run_folder import RunFolder
from harness.system.status import Status

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
NAME = machine_name(CASE)
UNIT = unit_of(CASE)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "sweep", example_manifest())


class StubWorker:
    """A worker that answers what a test wants of a peak and of bandwidths."""

    pid = 1
    answers: ClassVar[dict[str, float | dict[str, float] | WorkerFailure | None]] = {}
    asked: ClassVar[list[str]] = []

    def __init__(self, threads: int) -> None:
        pass

    def close(self) -> None:
        pass

    def send_early(self, request: Any, timeout_s: float) -> None:
        pass

    def receive(self) -> None:
        pass

    def request(self, request: Any, timeout_s: float) -> Any:
        name = request.func.__name__
        self.asked.append(name)
        answer = self.answers[name]
        if isinstance(answer, WorkerFailure):
            raise answer
        return answer


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> type[StubWorker]:
    """What stands for the worker that samples."""
    monkeypatch.setattr(peaks_module, "WorkerProcess", StubWorker)
    monkeypatch.setattr(StubWorker, "answers", {"sample_flops": 1.0, "sample_bandwidths": {"memory": 2.0}})
    monkeypatch.setattr(StubWorker, "asked", [])
    return StubWorker


def samples_of(peaks: Peaks) -> list[float | None]:
    """Measure in two starts."""
    peaks.begin(CASE, UNIT, 1)
    samples = []
    for _ in range(2):
        peaks.measure_bandwidths()
        samples.append(peaks.sample(UNIT))
    return samples


def test_bandwidths_are_asked_for_once_a_run_and_by_whoever_wants_them(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    both = Peaks(folder, timeout_s=1.0, with_bandwidths=True)
    assert samples_of(both) == [1.0, 1.0]
    assert both.bandwidths(CASE) == {"memory": 2.0}
    alone = Peaks(folder, timeout_s=1.0)
    assert samples_of(alone) == [1.0, 1.0]
    assert alone.bandwidths(CASE) == {}
    assert worker.asked == ["sample_bandwidths", *["sample_flops"] * 4]
    both.save()
    assert RunFolder.open(folder.path).manifest.bandwidths == {NAME: {"memory": 2.0}}


def test_what_fails_is_told_and_noted_once_and_the_other_is_measured(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    messages: list[str] = []
    worker.answers["sample_flops"] = WorkerFailure(Status.CRASHED, "ZeroDivisionError: division by zero")
    peaks = Peaks(folder, 1.0, messages.append, with_bandwidths=True)
    assert samples_of(peaks) == [None, None]
    line = f"the peak of {UNIT} on {NAME} could not be measured: ZeroDivisionError: division by zero"
    assert messages == [line]
    assert peaks.bandwidths(CASE) == {"memory": 2.0}
    peaks.save()
    assert RunFolder.open(folder.path).manifest.unmeasured_lines == (line,)


def test_what_nothing_measures_is_asked_for_once(folder: RunFolder, worker: type[StubWorker]) -> None:
    worker.answers["sample_flops"] = None
    assert samples_of(Peaks(folder, 1.0)) == [None, None]
    assert worker.asked == ["sample_flops"]


def test_nobody_is_asked_where_a_revision_is_timed(folder: RunFolder, worker: type[StubWorker]) -> None:
    assert samples_of(Peaks(folder, 1.0, is_asked=False)) == [None, None]
    assert worker.asked == []


def test_a_target_that_cannot_say_which_unit_has_the_problem_s_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(plugins.target("cpu")), "peak_unit", lambda self, case, artifact: 1 / 0)
    assert unit_of(CASE) == "f32"
