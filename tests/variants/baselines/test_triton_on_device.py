"""Triton's tiles on a device, here the stub of CUDA's driver: several are built, the quickest runs."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from stubbed_device import stub_device

from harness.artifact import candidates
from harness.artifact.artifact import Artifact
from harness.artifact.candidates import fastest_candidate
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.inputs import make_inputs
from harness.targets.executors import with_executor
from harness.variants.baselines.triton.variant import Triton

PROBLEM = AttentionProblem(heads=1, seq_q=128, seq_kv=128, head_dim=16, dtype="f16")


def build(folder: Path, **params: ParameterValue) -> Artifact:
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, ParameterValue] = {"executor": "emulator"} if params else {}
    case = Case(problem=PROBLEM, variant="triton", target="cuda:sm_80", params=params, target_options=options)
    return Triton().build(case, "key", folder)


@pytest.mark.extra("triton")
def test_the_quickest_tiles_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    artifact = build(tmp_path / "open")
    assert len(artifact.candidates) >= 2
    device = next(loader for loader in artifact.loaders if loader.executor == "device")
    on_device = artifact.model_copy(update={"executor": "device", "loader": device.function})
    quickest = len(artifact.candidates)
    timed = []

    def seconds(executable: object, inputs: object) -> float:
        timed.append(least_seconds(executable, inputs))
        return -float(len(timed))  # the stub's times say nothing of a device: the last one wins

    least_seconds = candidates._least_seconds
    monkeypatch.setattr(candidates, "_least_seconds", seconds)
    with ExitStack() as stack:
        stack.enter_context(stub_device("sm_80", artifact, tmp_path / "open"))
        for candidate in artifact.candidates:
            folder = tmp_path / candidate.folder
            stack.enter_context(stub_device("sm_80", build(folder, **candidate.chosen), folder))
        number = fastest_candidate(on_device, tmp_path / "open")
        assert (number, len(timed)) == (quickest, quickest + 1)
        assert min(timed) > 0
        taken = on_device.with_candidate(number)
        inputs = make_inputs(PROBLEM, seed=4)
        call = taken.load(tmp_path / "open").bind(inputs)
        call.poison()
        call.run()
        assert expect(inputs, PROBLEM).check(call.output()).ok


@pytest.mark.extra("triton")
def test_on_the_emulator_the_model_s_tiles_stay(tmp_path: Path) -> None:
    artifact = build(tmp_path)
    assert artifact.executor == "emulator"
    assert fastest_candidate(artifact, tmp_path) == 0
    assert with_executor(artifact, "emulator").candidates == artifact.candidates


@pytest.mark.extra("triton")
@pytest.mark.parametrize("params", [{"tile_q": 64}, {"warps": 4}])
def test_tiles_that_a_case_sets_are_the_only_ones(params: dict[str, ParameterValue], tmp_path: Path) -> None:
    case = Case(problem=PROBLEM, variant="triton", target="cuda:sm_80", params=params)
    assert Triton().build(case, "key", tmp_path).candidates == ()
