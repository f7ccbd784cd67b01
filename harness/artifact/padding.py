"""Code for a padded batch, called with packed sequences: they are padded before, and packed again after."""

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.wrapped import WrappedExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT
from harness.problem.padding import packed_outputs, padded_inputs


class PaddedExecutable(WrappedExecutable):
    """Code for the padded batch of one problem."""

    def __init__(self, code: Executable, problem: AttentionProblem) -> None:
        super().__init__(code)
        self.problem = problem

    def bind(self, inputs: Inputs) -> BoundCall:
        """Pad the sequences, and prepare a call."""
        return PaddedCall(self.code.bind(padded_inputs(inputs, self.problem)), self.problem)


class PaddedCall(BoundCall):
    """A call on the padded batch; padding and packing are not timed."""

    def __init__(self, call: BoundCall, problem: AttentionProblem) -> None:
        self._call = call
        self._problem = problem

    def poison(self) -> None:
        """Fill outputs and scratch memory of the batch with NaN."""
        self._call.poison()

    def poison_outputs(self) -> None:
        """Fill outputs of the batch with NaN."""
        self._call.poison_outputs()

    def take_inputs(self, inputs: Inputs) -> bool:
        """Pad other sequences to where those lie that it is bound to."""
        return self._call.take_inputs(padded_inputs(inputs, self._problem))

    def run(self) -> None:
        """Compute the batch once."""
        self._call.run()

    def output(self) -> np.ndarray:
        """Return O of the sequences."""
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the sequences."""
        return packed_outputs(self._call.outputs(), self._problem)

    def sample(self, min_seconds: float) -> Sample:
        """Time the code as it is timed by itself."""
        return self._call.sample(min_seconds)

    def sample_graphs(self, min_seconds: float) -> Sample:
        """Time the code as graphs likewise."""
        return self._call.sample_graphs(min_seconds)

    def energy(self, seconds: float) -> float | None:
        """Return the energy that the code takes."""
        return self._call.energy(seconds)
