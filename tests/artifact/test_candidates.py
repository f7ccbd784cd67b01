"""Code that a device chooses by time: the quickest candidate, of those that it takes."""

from pathlib import Path

import pytest

from harness.artifact.artifact import Artifact, Candidate, StaticMetrics
from harness.artifact.bound_call import Executable, Sample
from harness.artifact.candidates import fastest_candidate
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.gpu.driver import DeviceError

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="triton", target="cuda:sm_80")


class TimedCode(Executable):
    """An executable, and a call of it, that takes some time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def bind(self, inputs: object) -> "TimedCode":  # type: ignore[override]
        return self

    def run(self) -> None:
        if self.seconds < 0:
            raise DeviceError("out of resources")

    def sample(self, min_seconds: float) -> Sample:
        return Sample(seconds=self.seconds, calls=1)


def load(artifact: Artifact, folder: Path) -> TimedCode:
    assert folder.name == artifact.code_folder or artifact.code_folder == ""
    return TimedCode(artifact.launch["seconds"])


def artifact_of(executor: str, *seconds: float) -> Artifact:
    first, *others = seconds
    candidates = [
        Candidate(
            folder=f"tiles-{number}",
            metrics=StaticMetrics(registers=number),
            chosen={"tile_q": 16 * number},
            launch={"seconds": taken},
        )
        for number, taken in enumerate(others, 1)
    ]
    return Artifact(
        case=CASE,
        key="key",
        executor=executor,
        loader=f"{__name__}:load",
        launch={"seconds": first},
        chosen={"tile_q": 128, "warps": 4},
        candidates=tuple(candidates),
    )


@pytest.mark.parametrize(
    ("seconds", "number"),
    [((1.0,), 0), ((1.0, 2.0), 0), ((3.0, 2.0, 1.0, 2.0), 2), ((3.0, -1.0, 2.0), 2), ((-1.0, -1.0), 0)],
    ids=["alone", "the first", "another", "one is refused", "all are refused"],
)
def test_a_device_takes_the_quickest(seconds: tuple[float, ...], number: int, tmp_path: Path) -> None:
    assert fastest_candidate(artifact_of("device", *seconds), tmp_path) == number


def test_without_a_device_nothing_is_timed(tmp_path: Path) -> None:
    assert fastest_candidate(artifact_of("emulator", 3.0, 1.0), tmp_path) == 0


def test_an_artifact_says_what_its_candidate_is() -> None:
    artifact = artifact_of("device", 3.0, 1.0)
    assert artifact.with_candidate(0) == artifact
    taken = artifact.with_candidate(1)
    assert taken.chosen == {"tile_q": 16, "warps": 4}
    assert (taken.metrics.registers, taken.launch) == (1, {"seconds": 1.0})
    assert (taken.code_folder, taken.candidates) == ("tiles-1", ())
