"""Inputs that change from one timing sample to the next, while the right output stays known.

Attention of −Q, −K and −V is minus that of Q, K and V: scores, and so masks, biases, sinks and the
log-sum-exp, stay as they are.  So code that hands out what it has computed before is found without another
run of the oracle.  In between, one element of V is another one each time: the same contents never come back.
"""

import numpy as np

from harness.problem.inputs import Inputs

CHANGING = frozenset({"query", "key", "value", "tokens"})
"""Arguments of kernels whose contents change."""

EXACT = 2
"""Numbers below this are inputs whose right output is known: as drawn, and with the other sign."""

STRIDE = 7919
"""How far the element that changes moves from one number to the next; a prime, so that it visits many."""


class ChangingInputs:
    """Changes the arrays of inputs in place; costs no memory, and the time of passing over them once."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        projections = inputs.projections
        self._arrays = [inputs.q, inputs.k, inputs.v]
        if projections is not None:
            self._arrays.append(projections.tokens)
        self._is_negated = False
        self._elements = self._arrays[-1].reshape(-1)
        self._changed: tuple[int, np.generic] | None = None

    @property
    def is_negated(self) -> bool:
        """Whether the right output is minus that of the inputs as they were drawn."""
        return self._is_negated

    def become(self, number: int) -> None:
        """Let the inputs be those of a number: odd ones have the other sign, from `EXACT` on all are new."""
        self._restore()
        if number % 2 != self._is_negated:
            for array in self._arrays:
                _negate(array)
            self._is_negated = not self._is_negated
        if number >= EXACT and self._elements.size:
            place = number * STRIDE % self._elements.size
            self._changed = (place, self._elements[place])
            self._elements[place] = self._elements[place] / self._elements.dtype.type(2)

    def _restore(self) -> None:
        if self._changed is None:
            return
        place, value = self._changed
        self._elements[place] = value
        self._changed = None


def _negate(array: np.ndarray) -> None:
    """Flip the sign bit of every element of a contiguous array."""
    bits = array.view(f"u{array.itemsize}")
    np.bitwise_xor(bits, bits.dtype.type(1 << (8 * array.itemsize - 1)), out=bits)
