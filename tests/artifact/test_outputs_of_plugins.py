"""What code of plugins gives Python programs."""

from typing import Any

import numpy as np
import pytest

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.checked_executable import CheckedExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs
from harness.system.errors import HarnessError

PROBLEM = AttentionProblem(heads=2, seq_q=4, head_dim=8)
WITH_SUMS = PROBLEM.model_copy(update={"log_sum_exp": True})
SHAPE, SUMS = PROBLEM.output_shape, PROBLEM.log_sum_exp_shape
ZEROS = np.zeros(SHAPE, np.float32)


class Giving(Executable):
    """Code that gives what it is told to."""

    def __init__(self, outputs: Any) -> None:
        self.outputs = outputs

    def bind(self, inputs: Inputs) -> BoundCall:
        return GivingCall(self.outputs)


class GivingCall(BoundCall):
    def __init__(self, outputs: Any) -> None:
        self.given = outputs

    def poison(self) -> None: ...

    def run(self) -> None: ...

    def output(self) -> np.ndarray:
        return np.asarray(self.given["output"])

    def outputs(self) -> Any:
        return self.given


def called(executable: Executable, problem: AttentionProblem = PROBLEM) -> Any:
    inputs = make_inputs(problem)
    return CheckedExecutable(problem, executable, "odd on cpu")(inputs.q, inputs.k, inputs.v)


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({"output": ZEROS.tolist()}, "output: found a list, expected an array"),
        ({"output": ZEROS[..., None]}, f"output shape {(*SHAPE, 1)}, expected {SHAPE}"),
        ({"output": ZEROS.astype(np.float64)}, "output dtype float64, expected float32"),
        ({"result": ZEROS}, "no output output, found result"),
        ([ZEROS], "outputs: found a list, expected arrays by name"),
    ],
)
def test_an_output_that_is_another_than_the_problem_has_is_not_handed_on(outputs: Any, says: str) -> None:
    with pytest.raises(HarnessError) as error:
        called(Giving(outputs))
    assert str(error.value) == f"odd on cpu: {says}"
    call = CheckedExecutable(PROBLEM, Giving(outputs)).bind(make_inputs(PROBLEM))
    with pytest.raises(HarnessError) as error:
        call.output()
    assert str(error.value) == f"Giving: {says}"


def test_what_is_asked_for_is_handed_on_and_nothing_else() -> None:
    sums = np.zeros(SUMS, np.float32)
    both = {"log_sum_exp": sums, "output": ZEROS, "more": ZEROS}
    assert np.array_equal(called(Giving(both)), ZEROS)
    found = called(Giving(both), WITH_SUMS)
    assert np.array_equal(found[0], ZEROS)
    assert np.array_equal(found[1], sums)


def test_a_buffer_that_code_keeps_for_all_calls_is_not_handed_on() -> None:
    buffer, sums = ZEROS.copy(), np.zeros(SUMS, np.float32)
    code = Giving({"output": buffer, "log_sum_exp": sums})
    first = called(code, WITH_SUMS)
    call = CheckedExecutable(WITH_SUMS, code).bind(make_inputs(WITH_SUMS))
    call.run()
    bound = call.outputs()
    buffer.fill(1.0)
    sums.fill(1.0)
    assert not any(array.any() for array in (*first, *bound.values()))
    assert call.output().all()
