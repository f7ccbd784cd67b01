"""Loaded code that Python programs call: it sees and gives arrays of its problem's shapes and dtypes only."""

from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.wrapped import WrappedCall
from harness.problem.arguments import ArrayLike, as_array, check_inputs
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, laid_out
from harness.problem.outputs import why_unusable
from harness.system.errors import HarnessError, InputError
from harness.system.validation import shown


class CheckedExecutable(Executable):
    """Loaded code that sees and gives arrays of its problem's shapes and dtypes only."""

    def __init__(self, problem: AttentionProblem, executable: Executable, name: str | None = None) -> None:
        """Take loaded code that errors call `name`, by default as its type is called."""
        self.problem = problem
        self.executable = executable
        self.name = name or type(executable).__name__

    def of_lengths(self, problem: AttentionProblem) -> Self:
        """Return the code for a problem of its capacity."""
        other = super().of_lengths(problem)
        other.executable = self.executable.of_lengths(problem)
        return other

    def __repr__(self) -> str:
        """Return whose code it is, and which problem it computes."""
        return f"<{type(self.executable).__name__} of {self.problem.describe()}>"

    def bind(self, inputs: Inputs) -> BoundCall:
        """Check the inputs and prepare a call; raises `InputError` naming the argument that is wrong."""
        if not isinstance(inputs, Inputs):
            raise InputError(f"inputs: found {shown(inputs)}, expected Inputs, such as Inputs(q, k, v)")
        check_inputs(self.problem, inputs)
        with self.turn():
            return CheckedCall(self, self.executable.bind(laid_out(inputs, self.problem)))

    def turn(self) -> AbstractContextManager[object]:
        """Return the turn of the loaded code; binding and calling take it by themselves."""
        return self.executable.turn()

    def __call__(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        **operands: ArrayLike | None,
    ) -> Any:
        """Compute attention of arrays, or of tensors that share their memory by DLPack.

        `operands` are a mask, a bias and sinks by name, where the problem has them.
        Returns the output, or of a problem with `log_sum_exp` a tuple of output and log-sum-exp.  Raises
        `HarnessError` where the code gives anything else.
        """
        present = {name: operand for name, operand in operands.items() if operand is not None}
        named = {"q": q, "k": k, "v": v, **present}
        return super().__call__(**{name: as_array(name, array) for name, array in named.items()})


class CheckedCall(WrappedCall):
    """A call that gives the outputs of the problem, or raises `HarnessError`."""

    def __init__(self, executable: CheckedExecutable, call: BoundCall) -> None:
        super().__init__(call, executable.turn)
        self._executable = executable

    def take_inputs(self, inputs: Inputs) -> bool:
        """Return False: it is bound to arrays of the caller, which others would be copied into."""
        return False

    def outputs(self) -> dict[str, np.ndarray]:
        """Return copies of the outputs of the last run that the problem has, by name.

        Code may keep one buffer for all its calls.
        """
        with self._executable.turn():
            return {name: array.copy() for name, array in self._checked(super().outputs()).items()}

    def last_outputs(self) -> dict[str, np.ndarray]:
        """Return the outputs of the last run that the problem has, by name: the call is not used any more."""
        with self._executable.turn():
            return self._checked(self._call.last_outputs())

    def _checked(self, outputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        problem = self._executable.problem
        if (reason := why_unusable(outputs, problem)) is not None:
            raise HarnessError(f"{self._executable.name}: {reason}")
        return {name: outputs[name] for name in problem.outputs()}
