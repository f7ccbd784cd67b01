"""Inputs that change from one timing sample to the next, while the right output stays known.

Attention of −Q, −K and −V is minus that of Q, K and V: scores, and so masks, biases, sinks and the
log-sum-exp, stay as they are.  So code that hands out what it has computed before is found without another
run of the oracle.  In between, some rows of each array, others each time, have the other sign: neither inputs
nor probabilities that were there before come back, and hardly any memory is touched.
"""

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, other_operands
from harness.problem.random_masks import turns_of_all_patterns

CHANGING = frozenset({"query", "key", "value", "tokens"})
"""Arguments of kernels whose contents change."""

CHANGING_ARRAYS = frozenset({"q", "k", "v", "tokens"})
"""The same arrays by the names that inputs have."""

EXACT = 2
"""Numbers below this are inputs whose right output is known: as drawn, and with the other sign."""

ROWS_OF_A_SAMPLE = 64
"""Of so many rows of an array, one has the other sign in a sample of a timing."""

STRIDE = 7919
"""How far the element that changes moves from one number to the next; a prime, so that it visits many."""


TURNED = 3
"""The number of inputs with the other sign and other scores, half of the rows of K being turned besides.

V is larger as well: what code measured of the first one, a scale of int8 say, does not fit.  Scores stay as
large: rows that see hardly more than one key have errors nearer to what is allowed.  The first rows are as
drawn: code that knows inputs again by these takes them for the first ones.
"""

LARGER = 4
"""How many times as large V is then; a power of two, so that what was drawn comes back."""

TURNABLE = ("normal", "uniform")
"""Distributions of inputs that stay of their kind then; others have infinities, or a sign that matters."""


def operands_of(problem: AttentionProblem) -> tuple[str, ...]:
    """Return what calls of a problem keep from one to the next besides its lengths, in words."""
    weights = () if problem.model_width is None else ("weights",)
    return (*problem.operands(), *weights)


def turns_of_operands(problem: AttentionProblem) -> range:
    """Return the numbers of operands that a check puts in place of others, so that masks have all patterns.

    Empty where a problem has no operands.
    """
    if not operands_of(problem):
        return range(0)
    return range(1, max(2, turns_of_all_patterns(problem) if problem.mask else 0))


def change_operands(inputs: Inputs, problem: AttentionProblem, seed: int, turn: int) -> None:
    """Let mask, bias, sinks and weights be, in place, those that a seed draws for a turn.

    In the first turn their first rows stay as they are, or their first entries: code that knows operands
    again by their beginnings takes these for those before.
    """
    arrays = inputs.arrays()
    for name, drawn in other_operands(problem, seed, turn).items():
        array = arrays[name]
        beginning = _beginning(array.shape) if turn == 1 else None
        kept = None if beginning is None else array[beginning].copy()
        array[...] = drawn
        if beginning is not None:
            array[beginning] = kept


def _beginning(shape: tuple[int, ...]) -> tuple[slice | int, ...] | None:
    """Return where first rows are, or first entries of arrays of single rows; None of a single row."""
    for axis in (len(shape) - 2, *range(len(shape) - 2)):
        if axis >= 0 and shape[axis] > 1:
            return (*[slice(None)] * axis, 0)
    return None


def inputs_as_expected(inputs: Inputs, problem: AttentionProblem, number: int) -> Inputs:
    """Return inputs as those of a number, changed in place, but for the sign that all of an odd one have.

    What is expected of these is minus what code gives that has the number's.
    """
    ChangingInputs(inputs).become_unsigned(number)
    return inputs if number < EXACT else inputs.as_expected(problem)


class ChangingInputs:
    """Changes the arrays of inputs in place; costs no memory, and the time of passing over them."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        tokens = None if inputs.projections is None else inputs.projections.tokens
        self._arrays = [inputs.q, inputs.k, inputs.v, *([] if tokens is None else [tokens])]
        keys, values = (inputs.k, inputs.v) if tokens is None else (tokens, tokens)
        self._rows = keys.reshape(-1, keys.shape[-1]) if keys.size else keys.reshape(0, 1)
        self._turned = np.zeros(len(self._rows), dtype=bool)
        """Which of the rows have the other sign, beside what all have."""
        self._elements = values.reshape(-1)
        self._changed: tuple[int, np.generic] | None = None
        self._is_negated = False
        self._is_enlarged = False
        axis = 1 if tokens is not None else 2 if inputs.q.ndim == 4 else 0
        changing = [inputs.q, inputs.k, inputs.v] if tokens is None else [tokens]
        views = [np.moveaxis(array, axis, 0) for array in changing]
        self._beginnings = [(view[0], view[0].copy()) for view in views if len(view) > 1]
        """First queries, keys or tokens, and what they were drawn as."""
        self._replaced: list[tuple[np.ndarray, np.ndarray]] = []
        """Beginnings that are as drawn, and what would be there."""
        self._operands = [array for name, array in inputs.arrays().items() if name not in CHANGING_ARRAYS]
        self._are_operands_spoilt = False
        self._refreshed: list[np.ndarray] = []
        """Rows of arrays, as bits, that have the other sign for a sample."""

    @property
    def is_negated(self) -> bool:
        """Whether the right output is minus that of the inputs as they were drawn."""
        return self._is_negated

    def refresh(self, number: int) -> None:
        """Let one row in 64 of each array, or none of a single one, have the other sign, and no others.

        Each array's are others for the next number, and hundred thousands of numbers have other inputs.
        """
        self._undo_refreshing()
        times_around = 0
        for array in (array for array in self._arrays if array.size):
            rows = _bits(array).reshape(-1, array.shape[-1])
            choices = min(ROWS_OF_A_SAMPLE, max(2, len(rows)))
            self._refreshed.append(rows[(number + times_around) % choices :: ROWS_OF_A_SAMPLE])
            times_around = (number + times_around) // choices
        self._flip_refreshed()

    def _undo_refreshing(self) -> None:
        self._flip_refreshed()
        self._refreshed.clear()

    def _flip_refreshed(self) -> None:
        for rows in self._refreshed:
            np.bitwise_xor(rows, _sign_bit(rows.dtype), out=rows)

    def become(self, number: int, *, spoils_operands: bool = False) -> None:
        """Let the inputs be those of a number: odd ones have the other sign, from `EXACT` on all are new.

        Masks and the like are spoilt until the next time, if asked: what is computed meanwhile is wrong.
        """
        self._undo_refreshing()
        self._restore()
        if spoils_operands != self._are_operands_spoilt:
            for operand in self._operands:
                _spoil(operand)
            self._are_operands_spoilt = spoils_operands
        if number % 2 != self._is_negated:
            for array in self._arrays:
                _negate(array)
            self._is_negated = not self._is_negated
        is_new = number >= EXACT
        turned = np.random.default_rng(number).integers(0, 2, len(self._rows)) > 0
        self._turn(turned if is_new else np.zeros_like(self._turned))
        if is_new and self._elements.size:
            place = number * STRIDE % self._elements.size
            self._changed = (place, self._elements[place])
            self._elements[place] = self._elements[place] / self._elements.dtype.type(2)
        if number == TURNED:
            self._enlarge()
            self._begin_as_drawn()

    def become_unsigned(self, number: int) -> None:
        """Let the inputs be those of a number, without the other sign."""
        self.become(number)
        if self._is_negated:
            for array in self._arrays:
                _negate(array)
            self._is_negated = False

    def _turn(self, turned: np.ndarray) -> None:
        """Let these rows have the other sign, and no others."""
        bits = _bits(self._rows)
        signs = (turned ^ self._turned).astype(bits.dtype)[:, np.newaxis] * _sign_bit(bits.dtype)
        np.bitwise_xor(bits, signs, out=bits)
        self._turned = turned

    def _enlarge(self) -> None:
        """Let V be larger, if it stays in the range of its type then and is no projection."""
        values = self.inputs.v
        if self.inputs.projections is not None or not values.size:
            return
        largest = float(np.nanmax(np.abs(values.astype(np.float64)), initial=0.0))
        if largest * LARGER <= float(ml_dtypes.finfo(values.dtype).max):
            _multiply(values, LARGER)
            self._is_enlarged = True

    def _begin_as_drawn(self) -> None:
        for rows, drawn in self._beginnings:
            self._replaced.append((rows, rows.copy()))
            rows[...] = drawn

    def _restore(self) -> None:
        for rows, other in self._replaced:
            rows[...] = other
        self._replaced.clear()
        if self._is_enlarged:
            _multiply(self.inputs.v, 1 / LARGER)
            self._is_enlarged = False
        if self._changed is None:
            return
        place, value = self._changed
        self._elements[place] = value
        self._changed = None


def _multiply(array: np.ndarray, factor: float) -> None:
    np.multiply(array, array.dtype.type(factor), out=array, where=~np.isnan(array))


def _spoil(array: np.ndarray) -> None:
    """Flip the truth of every element of a contiguous array, or let it be twice or half as large.

    Once more, and it is as it was.  Signs would not do: those of two factors are none.
    """
    if array.dtype == np.bool_:
        np.logical_not(array, out=array)
        return
    bits = _bits(array)
    np.bitwise_xor(bits, bits.dtype.type(1 << ml_dtypes.finfo(array.dtype).nmant), out=bits)


def _negate(array: np.ndarray) -> None:
    """Flip the sign bit of every element of a contiguous array."""
    bits = _bits(array)
    np.bitwise_xor(bits, _sign_bit(bits.dtype), out=bits)


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


def _sign_bit(dtype: np.dtype) -> np.generic:
    sign_bit: np.generic = dtype.type(1 << (8 * dtype.itemsize - 1))
    return sign_bit
