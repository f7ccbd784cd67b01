"""Problems whose Q, K and V are projected from tokens: their inputs, and the projections in NumPy."""

from dataclasses import dataclass, fields

import numpy as np

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
    output_weights: np.ndarray | None = None
    """Wo, `[heads · head_dim_v, model_width]`, where the output is projected."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by the names that kernels' arguments have."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in named.items() if array is not None}


def projection_shapes(problem: AttentionProblem) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a problem's tokens and weights by name; none where nothing is projected."""
    width = problem.model_width
    if width is None:
        return {}
    shapes: dict[str, tuple[int, ...]] = {
        "tokens": (problem.batch, problem.seq_q, width),
        "query_weights": (width, problem.heads * problem.head_dim),
        "key_weights": (width, problem.kv_heads * problem.head_dim),
        "value_weights": (width, problem.kv_heads * problem.head_dim_v),
    }
    if problem.output_projection:
        shapes["output_weights"] = (problem.heads * problem.head_dim_v, width)
    return shapes


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


def joined_heads(heads: np.ndarray) -> np.ndarray:
    """Return `[batch, heads, seq, width]` as `[batch, seq, heads · width]`."""
    batch, count, seq, width = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(batch, seq, count * width)


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
