"""What the oracle says of a call's outputs, in the process that computes them."""

import dataclasses
import time
from dataclasses import dataclass

import numpy as np

from harness.artifact.bound_call import BoundCall
from harness.oracle.expected import Expected, Verdict, worse
from harness.problem.outputs import OUTPUT, require_arrays
from harness.system.digest import digest_of_array

REPETITIONS_S = 0.02
"""So long a call is repeated on the same inputs: some race, or compute something else now and then."""
MOST_REPETITIONS = 64

Outputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class OutputCheck:
    """Compares outputs of one call with what is expected of its inputs."""

    call: BoundCall
    expected: Expected
    is_negated: bool
    """Whether the inputs, and so the right output, have the other sign."""

    def outputs(self, raw_outputs: Outputs | None = None) -> Outputs:
        """Return copies of the outputs of the last run, or `raw_outputs`, with the sign that is expected."""
        plain = outputs_of(self.call) if raw_outputs is None else raw_outputs
        return {**plain, OUTPUT: -plain[OUTPUT]} if self.is_negated and OUTPUT in plain else plain

    def repeated(self, outputs: Outputs, verdict: Verdict, took: float) -> tuple[Outputs, Verdict]:
        """Call again and again on the same inputs; return the worst outputs, and what is said of them.

        `outputs` are right, as `verdict` says.  Those of another call are looked at where they differ, and
        may as long as they are right, too.  A call that takes long, as the last `took` seconds, is not
        repeated.
        """
        began, first = time.perf_counter(), _bits_of(outputs)
        for number in range(2, MOST_REPETITIONS + 2):
            if time.perf_counter() - began + took > REPETITIONS_S:
                break
            started = time.perf_counter()
            self.call.poison_outputs()
            self.call.run()
            repeated_outputs = self.outputs()
            took = time.perf_counter() - started
            if _bits_of(repeated_outputs) != first:
                verdict = worse(verdict, self.expected.check_outputs(repeated_outputs))
            if not verdict.ok:
                where = f"{verdict.first_bad}, in call {number} on the same inputs: the first was right"
                return repeated_outputs, dataclasses.replace(verdict, first_bad=where)
        return outputs, verdict


def outputs_of(call: BoundCall) -> Outputs:
    """Return copies of what a call has computed by now: threads that it has left may still write."""
    outputs = call.outputs()
    require_arrays(outputs)
    return {name: np.asarray(array).copy() for name, array in outputs.items()}


def _bits_of(outputs: Outputs) -> dict[str, tuple[np.dtype, tuple[int, ...], str]]:
    """Return what is the same only of outputs that are the same, bit by bit."""
    return {name: (array.dtype, array.shape, digest_of_array(array)) for name, array in outputs.items()}
