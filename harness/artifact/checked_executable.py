"""Loaded code that Python programs call: it sees arrays of its problem's shapes and dtypes only."""

from contextlib import AbstractContextManager
from typing import Any

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.turns import CallInTurn
from harness.errors import InputError
from harness.oracle.expected import require_scores_in_range
from harness.problem.arguments import ArrayLike, as_array, check_inputs
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.overwriting import can_be_overwritten
from harness.validation import shown


class CheckedExecutable(Executable):
    """Loaded code that sees arrays of its problem's shapes and dtypes only."""

    def __init__(self, problem: AttentionProblem, executable: Executable) -> None:
        self.problem = problem
        self.executable = executable

    def __repr__(self) -> str:
        """Return whose code it is, and which problem it computes."""
        return f"<{type(self.executable).__name__} of {self.problem.describe()}>"

    def bind(self, inputs: Inputs) -> BoundCall:
        """Check the inputs and prepare a call; raises `InputError` naming the argument that is wrong."""
        self.check(inputs)
        with self.turn():
            return CheckedCall(self, self.executable.bind(inputs), inputs)

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
        *,
        mask: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        sinks: ArrayLike | None = None,
    ) -> Any:
        """Compute attention of arrays, or of tensors that share their memory by DLPack.

        Returns the output, or of a problem with `log_sum_exp` a tuple of output and log-sum-exp.
        """
        operands = {"mask": mask, "bias": bias, "sinks": sinks}
        named = {"q": q, "k": k, "v": v} | {
            name: given for name, given in operands.items() if given is not None
        }
        return super().__call__(**{name: as_array(name, given) for name, given in named.items()})


class CheckedCall(CallInTurn):
    """A call that takes other inputs only where these are the problem's, and only where they have room."""

    def __init__(self, executable: CheckedExecutable, call: BoundCall, inputs: Inputs) -> None:
        super().__init__(call, executable.turn)
        self._executable = executable
        self._inputs = inputs

    def take_inputs(self, inputs: Inputs) -> bool:
        """Take other inputs; raises `InputError` as `bind` does.

        Returns False where the arrays that the call is bound to have no room for others, see
        `can_be_overwritten`: nothing has changed then.
        """
        self._executable.check(inputs)
        return can_be_overwritten(self._inputs, inputs) and super().take_inputs(inputs)
