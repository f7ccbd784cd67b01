"""Loaded code that Python programs call: it sees and gives arrays of its problem's shapes and dtypes only."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.wrapped import WrappedCall
from harness.oracle.expected import require_scores_in_range
from harness.problem.arguments import ArrayLike, as_array, check_inputs
from harness.problem.attention_problem import OPERANDS, AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.laid_out import laid_out
from harness.problem.outputs import OUTPUT, why_unusable
from harness.problem.overwriting import can_be_overwritten
from harness.system.digest import digest_of_array
from harness.system.errors import ChangedInputsError, HarnessError, InputError
from harness.system.validation import shown


class CheckedExecutable(Executable):
    """Loaded code that sees and gives arrays of its problem's shapes and dtypes only."""

    def __init__(self, problem: AttentionProblem, executable: Executable, name: str | None = None) -> None:
        """Take loaded code that errors call `name`, by default as its type is called."""
        self.problem = problem
        self.executable = executable
        self.name = name or type(executable).__name__
        self._keeps_inputs = False
        """Whether a call has left its inputs as they were."""

    def __repr__(self) -> str:
        """Return whose code it is, and which problem it computes."""
        return f"<{type(self.executable).__name__} of {self.problem.describe()}>"

    def bind(self, inputs: Inputs) -> BoundCall:
        """Check the inputs and prepare a call; raises `InputError` naming the argument that is wrong."""
        self.check(inputs)
        laid = laid_out(inputs, self.problem)
        with self.turn():
            return CheckedCall(self, self.executable.bind(laid), inputs, laid)

    def check(self, inputs: Inputs) -> None:
        """Raise `InputError` for what is no input of the problem."""
        if not isinstance(inputs, Inputs):
            raise InputError(f"inputs: found {shown(inputs)}, expected Inputs, such as Inputs(q, k, v)")
        check_inputs(self.problem, inputs)
        require_scores_in_range(inputs, self.problem)

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
        `HarnessError` where the code gives anything else, or where its first call changes an input.
        """
        named = {"q": q, "k": k, "v": v} | {
            name: operand for name, operand in operands.items() if operand is not None
        }
        arrays: dict[str, Any] = {name: as_array(name, array) for name, array in named.items()}
        if self._keeps_inputs:
            return super().__call__(**arrays)
        inputs = Inputs(**arrays)
        self.check(inputs)
        arrays = laid_out(inputs, self.problem).arrays()
        before = _digests(arrays)
        outputs = super().__call__(**arrays)
        changed = [name for name, digest in _digests(arrays).items() if digest != before[name]]
        if changed:
            raise ChangedInputsError(f"{self.name}: it changes its input {changed[0]}")
        self._keeps_inputs = True
        return outputs


def _digests(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    return {name: digest_of_array(array) for name, array in arrays.items()}


class CheckedCall(WrappedCall):
    """A call that takes other inputs only where these are the problem's, and only where they have room.

    What it gives are the outputs of the problem, or it raises `HarnessError`.
    """

    def __init__(
        self, executable: CheckedExecutable, call: BoundCall, caller_inputs: Inputs, inputs: Inputs
    ) -> None:
        """Take a call that is bound to `inputs`, which are `caller_inputs`, laid out as code has them."""
        super().__init__(call, executable.turn)
        self._executable = executable
        self._caller_inputs = caller_inputs
        self._inputs = inputs

    def take_inputs(self, inputs: Inputs) -> bool:
        """Take other inputs; raises `InputError` as `bind` does.

        Returns False where the arrays that the call is bound to have no room for others, see
        `can_be_overwritten`: nothing has changed then.
        """
        self._executable.check(inputs)
        same = {
            name: own
            for name in OPERANDS
            if (array := getattr(inputs, name)) is getattr(self._caller_inputs, name)
            and ((own := getattr(self._inputs, name)) is None or np.may_share_memory(own, array))
        }
        laid = replace(laid_out(inputs, self._executable.problem), **same)
        return can_be_overwritten(self._inputs, laid) and super().take_inputs(laid)

    def output(self) -> np.ndarray:
        """Return the output of the last run."""
        return self.outputs()[OUTPUT]

    def outputs(self) -> dict[str, np.ndarray]:
        """Return copies of the outputs of the last run that the problem has, by name.

        Code may keep one buffer for all its calls.
        """
        problem = self._executable.problem
        with self._executable.turn():
            outputs = super().outputs()
            if (reason := why_unusable(outputs, problem)) is not None:
                raise HarnessError(f"{self._executable.name}: {reason}")
            return {name: outputs[name].copy() for name in problem.outputs()}
