"""The program that Nsight Compute counts, on the stub of the driver."""

from pathlib import Path

import pytest
from stubbed_device import stub_device

from harness import plugins
from harness.artifact.artifact import ARTIFACT_FILE
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")

SMALL = AttentionProblem(heads=1, seq_q=32, seq_kv=32, head_dim=16, dtype="f16")


@pytest.mark.sweep
def test_the_second_call_lies_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.targets.cuda.device import counted_call
    from harness.targets.gpu.executable import GpuCall

    case, case_file = Case(problem=SMALL, variant="unfused", target="cuda:sm_80"), tmp_path / "case.json"
    artifact = plugins.variant("unfused").build(case, "key", tmp_path)
    case_file.write_text(case.model_dump_json())
    (tmp_path / ARTIFACT_FILE).write_text(artifact.model_dump_json())
    happened: list[str] = []
    run = GpuCall.run
    monkeypatch.setattr(GpuCall, "run", lambda call: (happened.append("run"), run(call))[1])
    for mark in ("cuProfilerStart", "cuProfilerStop"):
        monkeypatch.setattr(counted_call.driver, mark, lambda mark=mark: (happened.append(mark), (0,))[1])
    device = next(loader.function for loader in artifact.loaders if loader.executor == "device")
    monkeypatch.setattr(
        counted_call, "chosen_here", lambda artifact: artifact.model_copy(update={"loader": device})
    )
    with stub_device("sm_80", artifact, tmp_path):
        counted_call.main(case_file, tmp_path)
    assert happened == ["run", "cuProfilerStart", "run", "cuProfilerStop"]
