"""Inputs that change in place from one call to the next, while the right output stays known.

Attention of −Q, −K and −V is minus that of Q, K and V: scores, and so masks, biases, sinks and the
log-sum-exp, stay as they are.  So code that hands out what it has computed before is found without another
run of the oracle.
"""

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, other_operands
from harness.problem.random_masks import turns_of_all_patterns

CHANGING = frozenset({"query", "key", "value", "tokens"})
"""Arguments of kernels whose contents change."""

AS_DRAWN, NEGATED, TURNED = range(3)
"""Numbers of inputs: as drawn; with the other sign; with other scores and larger values.

The first rows of the last ones are as drawn: code that knows inputs again by these takes them for the others.
Scores stay as large: rows that see hardly more than one key have errors nearer to what is allowed.
"""

TURNABLE = ("normal", "uniform")
"""Distributions whose turned inputs are of their kind; others have infinities, or a sign that matters."""

ROWS_OF_A_SAMPLE = 64
"""Of so many rows of an array, one has the other sign in a sample of a timing."""

LARGER = 4
"""How many times as large turned values are; a power of two, so that what was drawn comes back."""


def operands_of(problem: AttentionProblem) -> tuple[str, ...]:
    """Return what calls of a problem keep from one to the next besides its lengths, in words."""
    weights = () if problem.model_width is None else ("weights",)
    return (*problem.operands(), *weights)


def turns_of_operands(problem: AttentionProblem) -> range:
    """Return the numbers of operands that a check puts in place of others: masks have all patterns then."""
    if not operands_of(problem):
        return range(0)
    return range(1, max(2, turns_of_all_patterns(problem) if problem.mask else 0))


def change_operands(inputs: Inputs, problem: AttentionProblem, seed: int, turn: int) -> None:
    """Let mask, bias, sinks and weights be, in place, those that a seed draws for a turn."""
    arrays = inputs.arrays()
    for name, drawn in other_operands(problem, seed, turn).items():
        arrays[name][...] = drawn


class ChangingInputs:
    """Changes the arrays of inputs in place; costs no memory, and the time of passing over them."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.is_negated = False
        """Whether the right output is minus that of the inputs as they were drawn."""
        tokens = None if inputs.projections is None else inputs.projections.tokens
        self._arrays = [inputs.q, inputs.k, inputs.v, *([] if tokens is None else [tokens])]
        axis = 1 if tokens is not None else 2 if inputs.q.ndim == 4 else 0
        of_scores = (inputs.q, inputs.k) if tokens is None else (tokens,)
        self._turned = [_behind_the_first(array, axis)[::2] for array in of_scores]
        self._values = None if tokens is not None else _behind_the_first(inputs.v, axis)
        self._flipped: list[np.ndarray] = []
        """Parts of arrays that have the other sign now."""
        self._is_enlarged = False

    def become(self, number: int) -> None:
        """Let the inputs be those of a number: `AS_DRAWN`, `NEGATED` or `TURNED`."""
        self._restore()
        self.is_negated = number == NEGATED
        if number == NEGATED:
            self._flip(self._arrays)
        if number == TURNED:
            self._flip(self._turned)
            self._enlarge_values()

    def refresh(self, number: int) -> None:
        """Let one row in 64 of each array, or none of a single one, have the other sign, and no others.

        Each array's are others for the next number, and hundred thousands of numbers have other inputs.
        """
        self._restore()
        self.is_negated = False
        times_around, rows_of_arrays = 0, []
        for array in (array for array in self._arrays if array.size):
            rows = array.reshape(-1, array.shape[-1])
            choices = min(ROWS_OF_A_SAMPLE, max(2, len(rows)))
            rows_of_arrays.append(rows[(number + times_around) % choices :: ROWS_OF_A_SAMPLE])
            times_around = (number + times_around) // choices
        self._flip(rows_of_arrays)

    def _restore(self) -> None:
        self._flip(self._flipped)
        self._flipped = []
        if self._is_enlarged and self._values is not None:
            _multiply(self._values, 1 / LARGER)
            self._is_enlarged = False

    def _flip(self, arrays: list[np.ndarray]) -> None:
        for array in arrays:
            bits = array.view(f"u{array.itemsize}")
            np.bitwise_xor(bits, bits.dtype.type(1 << (8 * array.itemsize - 1)), out=bits)
        self._flipped = arrays

    def _enlarge_values(self) -> None:
        """Let V be larger, if it stays in the range of its type: a scale that was measured does not fit."""
        values = self._values
        if values is None or not values.size:
            return
        largest = float(np.nanmax(np.abs(values.astype(np.float64)), initial=0.0))
        if largest * LARGER <= float(ml_dtypes.finfo(values.dtype).max):
            _multiply(values, LARGER)
            self._is_enlarged = True


def _behind_the_first(array: np.ndarray, axis: int) -> np.ndarray:
    """Return a view of all rows but the first along an axis, which comes first; of a single row, that one."""
    rows = np.moveaxis(array, axis, 0)
    return rows[1:] if len(rows) > 1 else rows


def _multiply(array: np.ndarray, factor: float) -> None:
    np.multiply(array, array.dtype.type(factor), out=array, where=~np.isnan(array))
