"""A case that is prepared once and started again and again, in this process."""

import numpy as np
import pytest

from harness.bench.building.case_build import build
from harness.bench.running.prepared_case import PreparedCase, StartedCase
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs

PROBLEM = AttentionProblem(heads=2, seq_q=48, head_dim=16)
CASE = Case(problem=PROBLEM, variant="flash", target="cpu")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedCase:
    folder = tmp_path_factory.mktemp("prepared")
    _, built = build(CASE)
    file = folder / "expected.npy"
    expect(make_inputs(PROBLEM, "normal", 3), PROBLEM).save(file)
    return PreparedCase.read(built, CASE, "normal", 3, file)


def addresses(started: StartedCase) -> set[int]:
    return {array.ctypes.data for array in started._changing.inputs.arrays().values()}


def test_each_start_has_arrays_of_its_own(prepared: PreparedCase) -> None:
    one, other = prepared.start(1), prepared.start(2)
    assert not addresses(one) & addresses(other)
    assert {address % 4096 for address in addresses(one)} != {address % 4096 for address in addresses(other)}


def test_each_sample_has_new_inputs(prepared: PreparedCase) -> None:
    started, seen = prepared.start(1), set()
    for number in range(8):
        started.refresh(number)
        seen.add(started._changing.inputs.k.tobytes())
        assert np.isnan(started.call.output()).all(), "it is poisoned"
    assert len(seen) == 8


def verified(started: StartedCase, number: int) -> bool:
    """Return whether what a sample of verified inputs leaves is right."""
    started.give_verified_inputs(number)
    started.call.sample(0.0)
    return started.verdict(number).ok


def test_what_a_sample_leaves_is_right_with_either_sign(prepared: PreparedCase) -> None:
    started = prepared.start(1)
    for number in range(4):
        started.refresh(number + 2)
        started.call.sample(0.0)
        assert verified(started, number)


def test_an_output_of_other_inputs_is_found(prepared: PreparedCase, monkeypatch: pytest.MonkeyPatch) -> None:
    started = prepared.start(1)
    started.give_verified_inputs(0)
    started.call.run()
    kept = started.call.outputs()
    monkeypatch.setattr(started.call, "outputs", lambda: {name: array.copy() for name, array in kept.items()})
    assert verified(started, 0), "these are its own inputs"
    assert not verified(started, 1)


def test_work_that_is_left_for_later_is_found(
    prepared: PreparedCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = prepared.start(1)
    run, outputs = started.call.run, started.call.outputs

    def compute_and_read() -> dict[str, np.ndarray]:
        run()
        return outputs()

    monkeypatch.setattr(started.call, "run", lambda: None)
    monkeypatch.setattr(started.call, "outputs", compute_and_read)
    assert not verified(started, 0)
