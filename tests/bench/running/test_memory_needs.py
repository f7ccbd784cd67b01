"""A problem that has no room in memory is refused before anything of its size is allocated."""

from pathlib import Path

import pytest
from example_cases import example_experiment
from test_runner import run

from harness.bench.running import memory_needs
from harness.bench.running.check_requests import run_call
from harness.bench.running.expectations import save_expectation
from harness.bench.running.memory_needs import least_bytes, memory_shortage
from harness.bench.workers.process import WorkerProcess
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")


@pytest.mark.parametrize("fields", [{}, {"dtype": "f16"}, {"mask": True, "bias": True}])
def test_the_estimate_is_no_less_than_the_inputs_and_the_reference(fields: dict[str, object]) -> None:
    problem = AttentionProblem(heads=4, seq_q=64, seq_kv=96, head_dim=16, head_dim_v=8, **fields)
    inputs = make_inputs(problem)
    arrays = [inputs.q, inputs.k, inputs.v, inputs.mask, inputs.bias]
    stored = sum(array.nbytes for array in arrays if array is not None)
    assert least_bytes(problem) >= stored + 8 * 4 * 64 * 8


def test_what_is_needed_and_what_there_is_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = AttentionProblem(heads=16, seq_q=2**20, head_dim=128)
    monkeypatch.setattr(memory_needs, "available_bytes", lambda: 30 * 10**9)
    shortage = memory_shortage(problem, None)
    assert shortage is not None
    assert (shortage.status, shortage.transient) == (Status.OUT_OF_MEMORY, True)
    assert shortage.reason == ("inputs and oracle need at least 43.4 GB of memory, 30 GB are available")
    monkeypatch.setattr(memory_needs, "available_bytes", lambda: 50 * 10**9)
    assert memory_shortage(problem, None) is None
    limited = memory_shortage(problem, 20)
    assert limited is not None
    assert limited.reason == "inputs and oracle need at least 43.4 GB of memory, 20 GB are allowed"


def test_such_a_case_is_a_row_before_the_oracle_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    send = WorkerProcess.send

    def recorded(self: WorkerProcess, request: object, timeout_s: float) -> None:
        asked.append(request)
        send(self, request, timeout_s)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkerProcess, "send", recorded)
    problem = {"seq": [16, 2**24], "heads": 16, "head_dim": 64}
    experiment = example_experiment(["numpy-attention"], problem=problem)
    with monkeypatch.context() as patch:
        patch.setattr(memory_needs, "available_bytes", lambda: 10**9)
        small, large = run(experiment, tmp_path, timed=False).results
    assert small.status is Status.PASSED
    assert (large.status, large.phase) == (Status.OUT_OF_MEMORY, "check")
    assert str(large.reason).startswith("inputs and oracle need at least ")
    functions = [getattr(request, "func", request) for request in asked]
    assert [function for function in functions if function in (save_expectation, run_call)] == [
        *[save_expectation] * 2,
        *[run_call] * 4,
    ]
