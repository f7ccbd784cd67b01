"""Problems whose Q, K and V are projected from tokens: their inputs, and the projections in NumPy."""

from dataclasses import dataclass, fields

import numpy as np

from harness.machine.placement import placement
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype


@dataclass(frozen=True)
class ProjectionInputs:
    """Tokens and weights, in the problem's dtype."""

    tokens: np.ndarray
    """X, `[batch, seq, model_width]`."""
    query_weights: np.ndarray
    """Wq, `[model_width, heads · head_dim]`."""
    key_weights: np.ndarray
    """Wk, `[model_width, kv_heads · head_dim]`."""
    value_weights: np.ndarray
    """Wv, `[model_width, kv_heads · head_dim_v]`."""

    def moved(self) -> "ProjectionInputs":
        """Return the same arrays at other addresses, where this process varies them."""
        return ProjectionInputs(*(placement.moved(getattr(self, field.name)) for field in fields(self)))

    def astype(self, dtype: np.dtype) -> "ProjectionInputs":
        """Return the arrays in another type, C-contiguous."""
        return ProjectionInputs(
            *(
                np.ascontiguousarray(array, dtype)
                for array in (self.tokens, self.query_weights, self.key_weights, self.value_weights)
            )
        )


def exact_projections(
    inputs: ProjectionInputs, problem: AttentionProblem
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, K and V `[batch, heads, seq, width]` in float64."""
    return _projected(inputs, problem, np.dtype(np.float64))


def plain_projections(
    inputs: ProjectionInputs, problem: AttentionProblem
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, K and V as the plain implementation has them: accumulated in float32, kept in the dtype."""
    query, key, value = _projected(inputs, problem, np.dtype(np.float32))
    dtype = numpy_dtype(problem.dtype)
    return query.astype(dtype), key.astype(dtype), value.astype(dtype)


def _projected(
    inputs: ProjectionInputs, problem: AttentionProblem, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tokens = inputs.tokens.astype(dtype)
    query, key, value = (
        _split_heads(tokens @ weights.astype(dtype), heads)
        for weights, heads in (
            (inputs.query_weights, problem.heads),
            (inputs.key_weights, problem.kv_heads),
            (inputs.value_weights, problem.kv_heads),
        )
    )
    return query, key, value


def _split_heads(product: np.ndarray, heads: int) -> np.ndarray:
    batch, seq, columns = product.shape
    return product.reshape(batch, seq, heads, columns // heads).transpose(0, 2, 1, 3)
