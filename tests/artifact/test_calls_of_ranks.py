"""Code of one rank, called for all of them."""

import numpy as np

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

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs

    def poison(self) -> None: ...

    def run(self) -> None:
        exact = reference(self.inputs, problem_of_rank(PROBLEM, RANKS))
        self.result = exact.astype(np.float32)

    def output(self) -> np.ndarray:
        return self.result

    def sample(self, min_seconds: float) -> Sample:
        return Sample(
            seconds=min_seconds, calls=3, device=DeviceFacts(launch_s=1.0, clock_mhz=1000, energy_j=2.0)
        )


class ReferenceCode(Executable):
    """The oracle as code."""

    def bind(self, inputs: Inputs) -> ReferenceCall:
        return ReferenceCall(inputs)


def test_what_ranks_give_is_added_up():
    inputs = make_inputs(PROBLEM)
    call = RanksExecutable(ReferenceCode(), PROBLEM, RANKS).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, PROBLEM).check(call.outputs()[OUTPUT]).ok


def test_a_time_is_the_sum_of_all_ranks():
    call = RanksExecutable(ReferenceCode(), PROBLEM, RANKS).bind(make_inputs(PROBLEM))
    assert call.sample(0.5) == Sample(
        seconds=0.5, calls=3, device=DeviceFacts(launch_s=2.0, clock_mhz=1000, energy_j=4.0)
    )
