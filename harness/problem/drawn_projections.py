"""Random tokens and weights, such that Q, K and V are about as a distribution of inputs has them."""

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.negative_logits import negative_logit
from harness.problem.projections import ProjectionInputs, projection_shapes
from harness.problem.set_scores import cancelling_logits, cancelling_values, unit_query

FEATURES = 4
"""Components of tokens that set scores and values, at most; the others are random."""


def uniform_draw(
    generator: np.random.Generator, shape: tuple[int, ...], dtype: type[np.float32]
) -> np.ndarray:
    """Draw from [−1, 1)."""
    return generator.random(shape, dtype=dtype) * 2 - 1


_DRAWS = {"uniform": uniform_draw}


def draw_projections(
    problem: AttentionProblem, distribution: str, generator: np.random.Generator
) -> ProjectionInputs:
    """Draw tokens and weights, in float32; of `large-logits`, Q is not scaled yet.

    No projection makes single scores infinite: `minus-infinity-columns` is `normal`.
    """
    shapes = projection_shapes(problem)
    draw = _DRAWS.get(distribution, np.random.Generator.standard_normal)
    tokens = draw(generator, shapes.pop("tokens"), dtype=np.float32)
    weights = {name: draw_weights(shape, generator) for name, shape in shapes.items()}
    drawn = ProjectionInputs(tokens, **weights)
    if distribution == "constant":
        tokens[:] = tokens[:, :1]
    if distribution == "negative-logits" and problem.bias:
        drawn.query_weights[:] = 0
    elif distribution == "negative-logits":
        _make_logits_negative(problem, drawn)
    elif distribution == "cancelling":
        _let_values_cancel(problem, drawn, generator)
    return drawn


def draw_weights(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Draw weights that keep the size of what they are multiplied with."""
    drawn = generator.standard_normal(shape, dtype=np.float32)
    drawn /= np.float32(np.sqrt(shape[0]))
    return drawn


def _make_logits_negative(problem: AttentionProblem, drawn: ProjectionInputs) -> None:
    """Let each row's scores be `negative_logit`, or twice that, in place; V stays random."""
    unit = unit_query(problem)
    if unit is None or drawn.tokens.shape[-1] < 2:
        return
    drawn.tokens[..., 0] = 1
    drawn.tokens[..., 1] = 2 - np.arange(drawn.tokens.shape[1]) % 2
    query, key = _weights_of_heads(problem, drawn)
    query[:], key[:] = 0, 0
    query[1, :, 0] = unit
    key[0, :, 0] = negative_logit(problem)


def _let_values_cancel(
    problem: AttentionProblem, drawn: ProjectionInputs, generator: np.random.Generator
) -> None:
    """Let values cancel between keys of two probabilities, in place, see `cancelling_logits`."""
    tokens, unit = drawn.tokens, unit_query(problem)
    if unit is None or tokens.shape[-1] < FEATURES:
        return
    is_light = np.broadcast_to(np.arange(tokens.shape[1]) % 2 == 1, tokens.shape[:2])
    logits = cancelling_logits(problem, is_light, generator)
    tokens[..., 0] = 1
    tokens[..., 1] = logits.astype(numpy_dtype(problem.dtype))
    tokens[..., 2] = logits - tokens[..., 1]
    tokens[..., 3] = cancelling_values(is_light)
    query, key = _weights_of_heads(problem, drawn)
    query[:], key[:] = 0, 0
    for component, feature in enumerate((1, 2)[: problem.head_dim]):
        query[0, :, component] = unit
        key[feature, :, component] = 1
    drawn.value_weights[:] /= 4
    drawn.value_weights[:3] = 0
    drawn.value_weights[3] = 1


def _weights_of_heads(problem: AttentionProblem, drawn: ProjectionInputs) -> tuple[np.ndarray, np.ndarray]:
    """Return views of Wq and Wk, `[model_width, heads, head_dim]`."""
    width = drawn.tokens.shape[-1]
    return (
        drawn.query_weights.reshape(width, problem.heads, problem.head_dim),
        drawn.key_weights.reshape(width, problem.kv_heads, problem.head_dim),
    )
