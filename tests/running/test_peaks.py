"""The peaks of a run: the best of all samples, and what a sampler asks for."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from example_results import example_manifest, example_round

from harness.measure.rounds import PeakSample
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.results.run_folder import RunFolder
from harness.running import peaks as peaks_module
from harness.running.peaks import Peaks, peak_name
from harness.workers.protocol import PeakMeasured, PeakRequest

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
    resumed = Peaks(RunFolder.open(folder.path), timeout_s=1.0).of(CASE)
    assert resumed == found


def test_samples_are_numbered_so_that_levels_can_take_turns(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Worker:
        pid = 1

        def __init__(self, threads: int) -> None:
            pass

        def __enter__(self) -> "Worker":
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def request(self, request: PeakRequest, timeout_s: float, answer: type) -> PeakMeasured:
            asked.append(request.number)
            return PeakMeasured(flops=1.0, bandwidths={"memory": 2.0})

    monkeypatch.setattr(peaks_module, "WorkerProcess", Worker)
    with ExitStack() as stack:
        sampler = Peaks(folder, timeout_s=1.0).sampler(CASE, 1, stack)
        assert [sampler.sample() for _ in range(3)] == [PeakSample(1.0, {"memory": 2.0})] * 3
    assert asked == [0, 1, 2]
