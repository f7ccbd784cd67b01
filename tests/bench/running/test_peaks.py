"""The peaks of a run: the best of all samples, and what a sampler asks for."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from example_results import example_manifest, example_round

from harness import plugins
from harness.bench.measure.rounds import PeakSample
from harness.bench.row_maker import peak_columns
from harness.bench.running import peaks as peaks_module
from harness.bench.running.peaks import Peaks, peak_name
from harness.bench.workers.process import WorkerFailure
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import DTypeName
from harness.results.run_folder import RunFolder
from harness.system.status import Status

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
NAME = peak_name(CASE)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "sweep", example_manifest())


def test_a_bandwidth_is_the_best_of_its_level_whichever_round_sampled_it(folder: RunFolder) -> None:
    peaks = Peaks(folder, timeout_s=1.0)
    for flops, sampled in ((2.0, {"L1": 5.0}), (3.0, {"memory": 1.0}), (1.0, {"L1": 4.0}), (1.0, {})):
        peaks.note(example_round(peak_flops={NAME: flops}, bandwidths={NAME: sampled} if sampled else {}))
    found = peaks.of(CASE)
    assert found is not None
    assert (found.flops, found.bandwidths) == (3.0, {"L1": 5.0, "memory": 1.0})
    peaks.save()
    assert RunFolder.open(folder.path).manifest.peaks == {NAME: 3.0}


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


def samples_of(peaks: Peaks) -> list[PeakSample]:
    """Sample in two starts."""
    peaks.begin(CASE, 1)
    return [peaks.sample() for _ in range(2)]


def test_bandwidths_are_asked_for_once_a_run_and_by_whoever_wants_them(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    both = Peaks(folder, timeout_s=1.0, with_bandwidths=True)
    assert samples_of(both) == [PeakSample(1.0, {"memory": 2.0}), PeakSample(1.0)]
    assert samples_of(Peaks(folder, timeout_s=1.0)) == [PeakSample(1.0)] * 2
    assert worker.asked == ["sample_flops", "sample_bandwidths", *["sample_flops"] * 3]


def test_what_fails_is_told_and_noted_once_and_the_other_is_measured(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    messages: list[str] = []
    worker.answers["sample_flops"] = WorkerFailure(Status.CRASHED, "ZeroDivisionError: division by zero")
    peaks = Peaks(folder, 1.0, messages.append, with_bandwidths=True)
    assert samples_of(peaks) == [PeakSample(None, {"memory": 2.0}), PeakSample()]
    line = f"the peak of {NAME} could not be measured: ZeroDivisionError: division by zero"
    assert messages == [line]
    peaks.note(example_round(bandwidths={NAME: {"memory": 2.0}}))
    peaks.save()
    assert RunFolder.open(folder.path).manifest.unmeasured_lines == (line,)
    known = peaks.of(CASE)
    assert known is not None
    assert (known.flops, known.bandwidths) == (None, {"memory": 2.0})
    assert peak_columns(1.0, known, busy_limit=0.1) == {"bandwidth_gb_s": {"memory": 2e-9}}


def test_a_peak_that_one_sample_lacks_is_that_of_the_others(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    messages: list[str] = []
    peaks = Peaks(folder, 1.0, messages.append)
    peaks.note(example_round(peak_flops={NAME: 3.0}, load=0.5))
    peaks.note(example_round(bandwidths={NAME: {"L1": 2.0}}, load=0.0))
    known = peaks.of(CASE)
    assert known is not None
    assert (known.flops, known.load, known.bandwidths) == (3.0, 0.5, {"L1": 2.0})
    worker.answers["sample_flops"] = WorkerFailure(Status.CRASHED, "found NaN")
    assert samples_of(peaks) == [PeakSample()] * 2
    assert messages == [f"the peak of {NAME} could not always be measured: found NaN"]


def test_a_target_that_cannot_say_which_peak_has_that_of_the_problem_s_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(plugins.target("cpu")), "peak_dtype", lambda self, dtype: 1 / 0)
    assert peak_name(CASE) == "cpu f32"


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_the_peak_of_a_case_says_its_type(folder: RunFolder, dtype: DTypeName) -> None:
    case = CASE.model_copy(update={"problem": AttentionProblem(heads=1, seq_q=8, head_dim=8, dtype=dtype)})
    peaks = Peaks(folder, timeout_s=1.0)
    peaks.note(example_round(peak_flops={peak_name(case): 1e9}))
    peak = peaks.of(case)
    assert peak is not None
    assert (peak.flops, peak.dtype) == (1e9, "f32")
