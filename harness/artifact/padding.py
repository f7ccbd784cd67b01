"""Code for a padded batch, called with packed sequences: they are padded before, and packed again after."""

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.wrapped import WrappedCall, WrappedExecutable
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


class PaddedCall(WrappedCall):
    """A call on the padded batch; padding and packing are not timed."""

    def __init__(self, call: BoundCall, problem: AttentionProblem) -> None:
        super().__init__(call)
        self._problem = problem

    def take_inputs(self, inputs: Inputs) -> bool:
        """Pad other sequences to where those lie that it is bound to."""
        return super().take_inputs(padded_inputs(inputs, self._problem))

    def output(self) -> np.ndarray:
        """Return O of the sequences."""
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the sequences."""
        return packed_outputs(super().outputs(), self._problem)
