"""The peaks of a run: the best of all samples, and what a sampler asks for."""

from pathlib import Path
from typing import ClassVar

import pytest
from example_results import example_manifest, example_round

from harness import plugins
from harness.bench.measure.rounds import PeakSample
from harness.bench.row_maker import peak_columns
from harness.bench.running import peaks as peaks_module
from harness.bench.running.peak_sampling import PeakRequest
from harness.bench.running.peaks import Peaks, peak_name
from harness.bench.workers.process import WorkerFailure
from harness.bench.workers.protocol import PeakMeasured
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
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
    """A worker that answers with what a test wants, one answer after the other; the last one stays."""

    pid = 1
    answers: ClassVar[list[PeakMeasured | WorkerFailure]] = []
    asked: ClassVar[list[bool]] = []

    def __init__(self, threads: int) -> None:
        pass

    def close(self) -> None:
        pass

    def send_early(self, request: PeakRequest, timeout_s: float) -> None:
        pass

    def receive(self) -> None:
        pass

    def request(self, request: PeakRequest, timeout_s: float) -> PeakMeasured:
        self.asked.append(request.bandwidths)
        given = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(given, WorkerFailure):
            raise given
        return given


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> type[StubWorker]:
    """What stands for the sampler's worker."""
    monkeypatch.setattr(peaks_module, "WorkerProcess", StubWorker)
    monkeypatch.setattr(StubWorker, "answers", [])
    monkeypatch.setattr(StubWorker, "asked", [])
    return StubWorker


def test_bandwidths_are_asked_for_once_a_run_and_by_whoever_wants_them(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    worker.answers = [PeakMeasured(flops=1.0, bandwidths={"memory": 2.0})]
    peaks = Peaks(folder, timeout_s=1.0, with_bandwidths=True)
    sampler = peaks.sampler(CASE, 1)
    assert [sampler.sample() for _ in range(2)] == [PeakSample(1.0, {"memory": 2.0})] * 2
    peaks.note(example_round(bandwidths={NAME: {"memory": 2.0}}))
    peaks.sampler(CASE, 1).sample()
    Peaks(folder, timeout_s=1.0).sampler(CASE, 1).sample()
    assert worker.asked == [True, False, False, False]


def test_what_cannot_be_measured_is_told_once_and_noted_and_the_other_is_sampled_on(
    folder: RunFolder, worker: type[StubWorker]
) -> None:
    told: list[str] = []
    fault = {"peak": "ZeroDivisionError: division by zero"}
    worker.answers = [
        PeakMeasured.model_validate({"flops": None, "bandwidths": {"L1": 2.0}, "faults": fault})
    ]
    peaks = Peaks(folder, 1.0, told.append)
    sampler = peaks.sampler(CASE, 1)
    samples = [sampler.sample() for _ in range(2)]
    assert samples == [PeakSample(None, {"L1": 2.0})] * 2
    line = f"the peak of {NAME} could not be measured: ZeroDivisionError: division by zero"
    assert told == [line]
    peaks.note(example_round(bandwidths={NAME: {"L1": 2.0}}))
    peaks.save()
    assert RunFolder.open(folder.path).manifest.unmeasured_lines == (line,)
    known = peaks.of(CASE)
    assert known is not None
    assert (known.flops, known.bandwidths) == (None, {"L1": 2.0})
    assert peak_columns(1.0, known, busy_limit=0.1) == {"bandwidth_gb_s": {"L1": 2e-9}}


def test_a_peak_that_one_sample_lacks_is_that_of_the_others(folder: RunFolder) -> None:
    told: list[str] = []
    peaks = Peaks(folder, 1.0, told.append)
    peaks.note(example_round(peak_flops={NAME: 3.0}, load=0.5))
    peaks.note(example_round(bandwidths={NAME: {"L1": 2.0}}, load=0.0))
    known = peaks.of(CASE)
    assert known is not None
    assert (known.flops, known.load, known.bandwidths) == (3.0, 0.5, {"L1": 2.0})
    peaks.note_fault(NAME, "peak", "found NaN")
    assert told == [f"the peak of {NAME} could not always be measured: found NaN"]


def test_a_worker_that_fails_is_told_and_not_asked_again(folder: RunFolder, worker: type[StubWorker]) -> None:
    told: list[str] = []
    worker.answers = [WorkerFailure(Status.TIMED_OUT, "no answer within the limit of 1 s")]
    peaks = Peaks(folder, 1.0, told.append)
    for _ in range(2):
        assert peaks.sampler(CASE, 1).sample() == PeakSample()
    assert worker.asked == [False]
    assert told == [f"the peak of {NAME} could not be measured: no answer within the limit of 1 s"]


def test_a_target_that_cannot_say_which_peak_has_that_of_the_problem_s_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(plugins.target("cpu")), "peak_dtype", lambda self, dtype: 1 / 0)
    assert peak_name(CASE) == "cpu f32"
