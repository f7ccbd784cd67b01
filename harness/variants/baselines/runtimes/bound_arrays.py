"""Calls of a runtime that reads and writes arrays of this process in place."""

import numpy as np

from harness.artifact.bound_call import BoundCall
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.system.errors import UnsupportedError
from harness.variants.baselines.masks import (
    some_query_sees_no_key,
    uses_causal_flag,
    visible_keys,
    without_padding,
)


class ArrayCall(BoundCall):
    """A call on copies of Q, K and V, and on an output array that is allocated once.

    Raises `UnsupportedError` when mask or bias leave a query no key: the result would not be 0.
    """

    def __init__(self, problem: AttentionProblem, inputs: Inputs, *, tokens_first: bool = False) -> None:
        """Copy what is computed on.

        With `tokens_first` operands and output are `[batch, tokens, heads · width]`, as some operators
        take them; what is read here and given back has the problem's shapes.
        """
        visible = visible_keys(problem, inputs.mask)
        if some_query_sees_no_key(problem, inputs, visible):
            raise UnsupportedError("the runtime's attention is not 0 for a query that sees no key")
        self.problem = problem
        self.is_causal = uses_causal_flag(problem)
        self.added = None if self.is_causal else _added_to_scores(problem, inputs, visible)
        """What is added to scores, `[1 or batch, 1 or heads, seq_q, seq_kv]`, or None."""
        shape = problem.output_shape
        self.operands = [_stored(array, tokens_first) for array in _changing(problem, inputs)]
        empty = np.empty(shape, numpy_dtype(problem.dtype))
        self.result = _stored(empty, tokens_first)
        self._tokens_first = tokens_first

    def poison(self) -> None:
        """Fill the output with NaN."""
        self.result.fill(np.nan)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy Q, K and V to where those lie that it is bound to."""
        for operand, array in zip(self.operands, _changing(self.problem, inputs), strict=True):
            operand[...] = _stored(array, self._tokens_first)
        return True

    def output(self) -> np.ndarray:
        """Return a copy of the last output."""
        if not self._tokens_first:
            return self.result.copy()
        batch, heads, tokens, width = self.problem.output_shape
        return self.result.reshape(batch, tokens, heads, width).transpose(0, 2, 1, 3).copy()


def _changing(problem: AttentionProblem, inputs: Inputs) -> tuple[np.ndarray, ...]:
    inputs = without_padding(problem, inputs)
    return inputs.q, inputs.k, inputs.v


def _stored(array: np.ndarray, tokens_first: bool) -> np.ndarray:
    """Return a contiguous copy of `[batch, heads, tokens, width]`, in an operator's own order."""
    if not tokens_first:
        return np.array(array, order="C")
    batch, heads, tokens, width = array.shape
    return np.array(array.transpose(0, 2, 1, 3), order="C").reshape(batch, tokens, heads * width)


def _added_to_scores(
    problem: AttentionProblem, inputs: Inputs, visible: np.ndarray | None
) -> np.ndarray | None:
    """Return the bias with −∞ where a key is hidden, in the problem's type."""
    if inputs.bias is None and visible is None:
        return None
    bias = np.zeros((1, 1, 1, 1)) if inputs.bias is None else np.asarray(inputs.bias)
    bias = bias.reshape((1,) * (4 - bias.ndim) + bias.shape)
    if visible is not None:
        bias = np.where(visible, bias, -np.inf)
    pairs = (problem.seq_q, problem.seq_kv)
    return np.array(np.broadcast_to(bias, (*bias.shape[:2], *pairs)), numpy_dtype(problem.dtype), order="C")
