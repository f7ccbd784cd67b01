"""Code of one rank, called for every rank in turn: what all give together."""

from collections.abc import Sequence

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.device_facts import DeviceFacts
from harness.artifact.wrapped import WrappedExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT
from harness.problem.ranks import inputs_of_rank, joined_outputs, problem_of_rank


class RanksExecutable(WrappedExecutable):
    """The code that all ranks execute, each on heads of its own."""

    def __init__(self, code: Executable, problem: AttentionProblem, ranks: int) -> None:
        super().__init__(code)
        self.problem = problem
        self.ranks = ranks

    def problem_of_code(self, problem: AttentionProblem) -> AttentionProblem:
        """Return what a rank computes."""
        return problem_of_rank(problem, self.ranks)

    def bind(self, inputs: Inputs) -> "RanksCall":
        """Share out the inputs; each rank has memory of its own."""
        return RanksCall(self, [self.code.bind(share) for share in self.shares_of(inputs)])

    def shares_of(self, inputs: Inputs) -> list[Inputs]:
        """Return the inputs of each rank."""
        return [inputs_of_rank(inputs, self.problem, self.ranks, rank) for rank in range(self.ranks)]


class RanksCall(BoundCall):
    """Calls of all ranks, one after the other."""

    def __init__(self, executable: RanksExecutable, calls: list[BoundCall]) -> None:
        self._executable = executable
        self._calls = calls

    def poison(self) -> None:
        """Fill every rank's outputs and scratch memory with NaN."""
        for call in self._calls:
            call.poison()

    def poison_outputs(self) -> None:
        """Fill every rank's outputs with NaN."""
        for call in self._calls:
            call.poison_outputs()

    def take_inputs(self, inputs: Inputs) -> bool:
        """Give each rank the tokens; where one rank's call does not take them, none is to be used."""
        shares = self._executable.shares_of(inputs)
        return all(call.take_inputs(share) for call, share in zip(self._calls, shares, strict=True))

    def run(self) -> None:
        """Let each rank compute its share once."""
        for call in self._calls:
            call.run()

    def output(self) -> np.ndarray:
        """Return the ranks' outputs joined, or added up where they are projected."""
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs likewise."""
        return joined_outputs([call.outputs() for call in self._calls], self._executable.problem)

    def sample(self, min_seconds: float) -> Sample:
        """Time one rank after the other, each as its code is timed by itself; the time is that of all."""
        return _of_all([call.sample(min_seconds / len(self._calls)) for call in self._calls])

    def sample_graphs(self, min_seconds: float) -> Sample:
        """Time graphs of one rank's calls after those of the other, likewise."""
        return _of_all([call.sample_graphs(min_seconds / len(self._calls)) for call in self._calls])

    def energy(self, seconds: float) -> float | None:
        """Return the energy that all ranks take."""
        energies = [call.energy(seconds / len(self._calls)) for call in self._calls]
        return None if None in energies else sum(energy or 0.0 for energy in energies)


def _of_all(samples: Sequence[Sample]) -> Sample:
    return Sample(
        seconds=sum(sample.seconds for sample in samples),
        calls=min(sample.calls for sample in samples),
        device=DeviceFacts.joined(sample.device for sample in samples),
        throttled=next((sample.throttled for sample in samples if sample.throttled), None),
    )
