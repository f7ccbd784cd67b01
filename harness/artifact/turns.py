"""Bound calls whose every step is a turn of their executable: what a program with several threads calls."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from harness.artifact.bound_call import BoundCall, Part, Sample
from harness.problem.inputs import Inputs


class CallInTurn(BoundCall):
    """A call that waits for its turn; see `Executable.turn`."""

    def __init__(self, call: BoundCall, turn: Callable[[], AbstractContextManager[object]]) -> None:
        self._call = call
        self._turn = turn

    def poison(self) -> None:
        """Fill outputs and scratch memory with NaN."""
        with self._turn():
            self._call.poison()

    def poison_outputs(self) -> None:
        """Fill outputs with NaN."""
        with self._turn():
            self._call.poison_outputs()

    def take_inputs(self, inputs: Inputs) -> bool:
        """Take other inputs, where the call does."""
        with self._turn():
            return self._call.take_inputs(inputs)

    def run(self) -> None:
        """Compute once and wait for the result."""
        with self._turn():
            self._call.run()

    def output(self) -> np.ndarray:
        """Return the output of the last run."""
        with self._turn():
            return self._call.output()

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the last run by name."""
        with self._turn():
            return self._call.outputs()

    def parts(self) -> Sequence[Part]:
        """Return what can be looked at besides."""
        with self._turn():
            return self._call.parts()

    def sample(self, min_seconds: float) -> Sample:
        """Take a sample in one turn, so that no wait for others is a part of it."""
        with self._turn():
            return self._call.sample(min_seconds)
