"""Code of one rank, called for all of them."""

import numpy as np
import pytest

from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.device_facts import DeviceFacts
from harness.artifact.ranks import RanksExecutable
from harness.oracle.expected import expect, reference
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs
from harness.problem.outputs import OUTPUT
from harness.problem.ranks import problem_of_rank

RANKS = 2
PROBLEM = AttentionProblem(heads=4, seq_q=9, head_dim=8, model_width=16, output_projection=True)


class ReferenceCall(BoundCall):
    """The oracle as a rank's code."""

    def __init__(self, inputs: Inputs, error: float) -> None:
        self.inputs = inputs
        self.error = error
        self.poisoned = 0

    def poison(self) -> None:
        self.poisoned += 1

    def run(self) -> None:
        exact = reference(self.inputs, problem_of_rank(PROBLEM, RANKS))
        self.result = (exact + self.error).astype(np.float32)

    def output(self) -> np.ndarray:
        return self.result

    def sample(self, min_seconds: float) -> Sample:
        return Sample(
            seconds=min_seconds, calls=3, device=DeviceFacts(launch_s=1.0, clock_mhz=1000, energy_j=2.0)
        )


class ReferenceCode(Executable):
    """Code whose ranks are wrong by as much as the one before is, the other way."""

    def __init__(self, error: float = 0.0) -> None:
        self.error = error

    def bind(self, inputs: Inputs) -> ReferenceCall:
        self.error = -self.error
        return ReferenceCall(inputs, self.error)


@pytest.mark.parametrize("error", [0.0, 0.5])
def test_ranks_add_up_and_each_can_be_looked_at(error):
    inputs = make_inputs(PROBLEM)
    call = RanksExecutable(ReferenceCode(error), PROBLEM, RANKS).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, PROBLEM).check(call.outputs()[OUTPUT]).ok
    parts = call.parts()
    assert [part.name for part in parts] == ["rank 0", "rank 1"]
    verdicts = [expect(part.inputs, part.problem).check_outputs(part.outputs) for part in parts]
    assert [verdict.ok for verdict in verdicts] == [error == 0] * RANKS


def test_a_time_is_the_sum_of_all_ranks():
    call = RanksExecutable(ReferenceCode(), PROBLEM, RANKS).bind(make_inputs(PROBLEM))
    assert call.sample(0.5) == Sample(
        seconds=0.5, calls=3, device=DeviceFacts(launch_s=2.0, clock_mhz=1000, energy_j=4.0)
    )
