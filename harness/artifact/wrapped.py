"""Executables and calls around other ones: in all that they do not change they are those."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Self

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.device_facts import DriverMetrics
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT
from harness.problem.padding import packed_outputs, padded_inputs, padded_problem
from harness.problem.pages import paging_of


class WrappedExecutable(Executable):
    """Code, and what its calls are made of."""

    def __init__(self, code: Executable) -> None:
        self.code = code

    def of_lengths(self, problem: AttentionProblem) -> Self:
        """Return the code for a problem of its capacity."""
        other = super().of_lengths(problem)
        other.code = self.code.of_lengths(self.problem_of_code(problem))
        return other

    def problem_of_code(self, problem: AttentionProblem) -> AttentionProblem:
        """Return what the code computes of a problem, by default all of it."""
        return problem

    def bind(self, inputs: Inputs) -> BoundCall:
        """Let the code prepare a call."""
        return self.code.bind(inputs)

    def turn(self) -> AbstractContextManager[object]:
        """Return the turn of the code."""
        return self.code.turn()

    def take_process(self) -> None:
        """Set the process up as the code asks for."""
        self.code.take_process()

    def driver_metrics(self) -> DriverMetrics:
        """Return what the device's driver says of the code."""
        return self.code.driver_metrics()


class WrappedCall(BoundCall):
    """A call whose every step is a turn, where there are such: see `Executable.turn`."""

    def __init__(
        self, call: BoundCall, turn: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> None:
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
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the last run by name."""
        with self._turn():
            return self._call.outputs()

    def sample(self, min_seconds: float) -> Sample:
        """Take a sample in one turn, so that no wait for others is a part of it."""
        with self._turn():
            return self._call.sample(min_seconds)

    def sample_graphs(self, min_seconds: float) -> Sample:
        """Take a sample of graphs in one turn."""
        with self._turn():
            return self._call.sample_graphs(min_seconds)

    def energy(self, seconds: float) -> float | None:
        """Return the energy that the call takes."""
        with self._turn():
            return self._call.energy(seconds)


class PagedExecutable(WrappedExecutable):
    """Code that finds keys and values in pages of one size, called with packed ones."""

    def __init__(self, code: Executable, problem: AttentionProblem, page_size: int) -> None:
        super().__init__(code)
        self.paging = paging_of(problem, page_size)

    def of_lengths(self, problem: AttentionProblem) -> Self:
        """Return the code for keys that lie in other pages of this size."""
        other = super().of_lengths(problem)
        other.paging = paging_of(problem, self.paging.page_size)
        return other

    def bind(self, inputs: Inputs) -> BoundCall:
        """Put keys and values into pages, and prepare a call."""
        return self.code.bind(replace(inputs, paging=self.paging))


class PaddedExecutable(WrappedExecutable):
    """Code for the padded batch of one problem, called with packed sequences."""

    def __init__(self, code: Executable, problem: AttentionProblem) -> None:
        super().__init__(code)
        self.problem = problem

    def problem_of_code(self, problem: AttentionProblem) -> AttentionProblem:
        """Return the padded batch."""
        return padded_problem(problem)

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

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the sequences."""
        return packed_outputs(super().outputs(), self._problem)
