"""What the oracle says of a call's outputs, in the process that computes them."""

import dataclasses
import time
from dataclasses import dataclass

import numpy as np

from harness.artifact.bound_call import BoundCall
from harness.oracle.expected import Expected, Verdict, worse
from harness.problem.outputs import OUTPUT, require_arrays

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
        """Return copies of the outputs of the last run, or of `raw_outputs`, with the sign that is expected.

        Raises as `outputs_of` does.
        """
        plain = outputs_of(self.call) if raw_outputs is None else raw_outputs
        return {**plain, OUTPUT: -plain[OUTPUT]} if self.is_negated and OUTPUT in plain else plain

    def repeated(self, outputs: Outputs, verdict: Verdict, took: float) -> tuple[Outputs, Verdict]:
        """Call again and again on the same inputs; return the worst outputs, and what is said of them.

        `outputs` are right, as `verdict` says.  Those of another call are looked at where they differ, and
        may as long as they are right, too.  A call that takes long, as the last `took` seconds, is not
        repeated.
        """
        began, first = time.perf_counter(), {name: array.copy() for name, array in outputs.items()}
        for number in range(2, MOST_REPETITIONS + 2):
            if time.perf_counter() - began + took > REPETITIONS_S:
                break
            started = time.perf_counter()
            self.call.poison_outputs()
            self.call.run()
            repeated_outputs = self.outputs()
            took = time.perf_counter() - started
            if not _are_same(first, repeated_outputs):
                verdict = worse(verdict, self.expected.check_outputs(repeated_outputs))
            if not verdict.ok:
                where = f"{verdict.first_bad}, in call {number} on the same inputs: the first was right"
                return repeated_outputs, dataclasses.replace(verdict, first_bad=where)
        return outputs, verdict


def outputs_of(call: BoundCall) -> Outputs:
    """Return copies of what a call has computed by now: threads that it has left may still write.

    Raises `TypeError` for what is no array.  Of a masked array all elements count.
    """
    outputs = call.outputs()
    require_arrays(outputs)
    return {name: np.asarray(array).copy() for name, array in outputs.items()}


def _are_same(first: Outputs, other: Outputs) -> bool:
    """Whether outputs are the same, bit by bit."""
    return first.keys() == other.keys() and all(
        first[name].dtype == other[name].dtype
        and first[name].shape == other[name].shape
        and np.array_equal(_bytes_of(first[name]), _bytes_of(other[name]))
        for name in first
    )


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
