"""Named ways to draw the arrays of a problem; each looks for another kind of mistake.

Arrays are drawn in float32 (mask: bool) and have the names of `harness.problem.inputs`.  Where Q, K and V are
projected, tokens and weights are drawn such that these are about as the distribution has them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.infinite_scores import columns_to_hide, hide_runs_by_bias
from harness.problem.mask_patterns import rows_of_one_key
from harness.problem.projections import projection_shapes
from harness.problem.random_masks import random_mask
from harness.problem.set_scores import (
    LARGEST_FACTOR,
    cancelling_logits,
    cancelling_values,
    finite_mask,
    let_hidden_keys_score_most,
    let_late_keys_score_most,
    let_one_key_weigh_most,
    negative_logit,
    sequences_of,
    unit_query,
)

LARGEST_LOGIT = 100.0
"""Largest scaled score that `large-logits` reaches: exp(100) overflows float32."""

FEATURES = 4
"""Components of tokens that set scores and values, at most; the others are random."""

Arrays = dict[str, np.ndarray]
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Distribution:
    """A named way to draw inputs."""

    summary: str
    """What it draws and which mistake it shows, in one line."""
    draw: Callable[[AttentionProblem, np.random.Generator], Arrays]
    """Draws Q, K, V, mask and bias."""


def draw_arrays(problem: AttentionProblem, distribution: str, seed: int) -> Arrays:
    """Return the arrays of a problem by name, as a seed draws them; keys that an entry lacks are NaN."""
    generator = np.random.default_rng(seed)
    if problem.model_width is not None:
        return _draw_projected(problem, distribution, generator)
    arrays = DISTRIBUTIONS[distribution].draw(problem, generator)
    for entry, length in enumerate(problem.kv_lengths or ()):
        for name in ("k", "v"):
            arrays[name][entry, :, length:] = np.nan
    return arrays | draw_sinks(problem, np.random.default_rng(seed + 1), distribution)


def draw_sinks(
    problem: AttentionProblem, generator: np.random.Generator, distribution: str = "normal"
) -> Arrays:
    """Draw a logit for each head that weighs about as much as all keys together, whatever scores are."""
    if not problem.sinks:
        return {}
    logits = generator.standard_normal(problem.heads) + np.log(problem.seq_kv)
    if distribution == "negative-logits":
        logits += 2 * negative_logit(problem)
    return {"sinks": logits}


def draw_weights(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Draw weights that keep the size of what they are multiplied with."""
    drawn = generator.standard_normal(shape, dtype=np.float32)
    drawn /= np.float32(np.sqrt(shape[0]))
    return drawn


def _draw(problem: AttentionProblem, generator: np.random.Generator, draw: Draw, turn: int = 0) -> Arrays:
    """Draw Q, K, V and bias in this order; `turn` is that of the mask."""
    arrays = {name: draw(generator, getattr(problem, f"{name}_shape")) for name in "qkv"}
    if problem.mask:
        arrays["mask"] = random_mask(problem, generator, turn)
    if problem.bias:
        arrays["bias"] = draw(generator, problem.bias_shape)
    return arrays


def _from_normal(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return generator.standard_normal(shape, dtype=np.float32)


def _from_uniform(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw from [−1, 1)."""
    return generator.random(shape, dtype=np.float32) * 2 - 1


def _normal(problem: AttentionProblem, generator: np.random.Generator, turn: int = 0) -> Arrays:
    return _draw(problem, generator, _from_normal, turn)


def _uniform(problem: AttentionProblem, generator: np.random.Generator) -> Arrays:
    return _draw(problem, generator, _from_uniform)


def _large_logits(problem: AttentionProblem, generator: np.random.Generator) -> Arrays:
    """Normal inputs with Q scaled so that the largest scaled score of the first head is `LARGEST_LOGIT`.

    The first 64 queries of the head are looked at; others can be somewhat larger.  Some queries see late keys
    score most (`let_late_keys_score_most`).  Where there is a mask, those of them that it shows one key see
    that of their least score: the maximum over hidden keys, too, would leave nothing of it.  Where there is
    none, see `let_hidden_keys_score_most`; beside sinks nothing would be left of what such queries see.
    """
    arrays = _normal(problem, generator)
    largest = float(np.max(np.abs(_first_scores(problem, arrays)), initial=0.0))
    if largest == 0:
        return arrays
    arrays["q"] = arrays["q"] * np.float32(min(LARGEST_LOGIT / largest, LARGEST_FACTOR))
    let_late_keys_score_most(problem, arrays["q"], arrays["k"])
    if not (problem.mask or problem.sinks):
        let_hidden_keys_score_most(problem, arrays["q"], arrays["k"])
    if problem.mask and min(arrays["mask"].shape[-2:]) > 1:
        _show_least_scores(problem, arrays["mask"][0, 0], _first_scores(problem, arrays))
    return arrays


def _first_scores(problem: AttentionProblem, arrays: Arrays) -> np.ndarray:
    """Return the scaled scores of the first 64 queries of the first head, `[queries, seq_kv]`."""
    first = (slice(None), 0) if problem.is_packed else (0, 0)
    return np.float32(problem.scale) * (arrays["q"][first][:64] @ arrays["k"][first].T)


def _show_least_scores(problem: AttentionProblem, mask: np.ndarray, scores: np.ndarray) -> None:
    """Let queries that see one key see that of the least of their scores, in place."""
    seq_q, seq_kv = problem.sequence_lengths()[0]
    first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
    for row in rows_of_one_key(min(len(scores), len(mask))):
        seen = slice(int(first[row]), int(end[row]))
        if np.count_nonzero(mask[row, seen]) == 1:
            mask[row, seen] = False
            mask[row, seen.start + int(np.argmin(scores[row, seen]))] = True


def _constant(problem: AttentionProblem, generator: np.random.Generator) -> Arrays:
    """All rows of Q alike, all rows of K alike, a bias of one value; V stays random, the mask too."""
    arrays = _normal(problem, generator, turn=1)
    values = {"q": 0.5, "k": -0.25, "bias": 0.75}
    return arrays | {name: np.full_like(arrays[name], values[name]) for name in values if name in arrays}


def _minus_infinity_columns(problem: AttentionProblem, generator: np.random.Generator) -> Arrays:
    """Normal inputs where every seventh key has a score of exactly −inf for every query.

    Through the bias where the problem has one, else through an infinite component of those keys that meets
    a component of Q bounded away from 0.  (A softcap turns the latter into −softcap.)  A query that sees any
    key sees one with a finite score.
    """
    arrays = _normal(problem, generator)
    bias, mask = arrays.get("bias"), arrays.get("mask")
    columns = columns_to_hide(problem, mask)
    if bias is not None and bias.shape[-1] == problem.seq_kv:
        bias[..., columns] = -np.inf
        hide_runs_by_bias(problem, bias, mask)
        return arrays
    if np.float32(problem.scale) == 0:  # No finite product becomes infinite, and 0 · −inf is NaN.
        return arrays
    q = arrays["q"]
    q[..., 0] = np.abs(q[..., 0]) + 0.5
    for sequence in sequences_of(problem, q, arrays["k"]):
        hidden = columns[: sequence.keys.shape[1]]
        sequence.keys[:, hidden, 0] = -np.inf if problem.scale > 0 else np.inf
    return arrays


def _negative_logits(problem: AttentionProblem, generator: np.random.Generator) -> Arrays:
    """Scores of `negative_logit` in rows of odd number and of twice as much in the others; V stays random.

    With a bias, Q is 0 and the bias is such a logit, or the least number, see `finite_mask`.  Every dtype
    holds them, so that scores which are stored lose nothing.  `normal` where there is no bias and the
    problem's scale leaves no such Q.
    """
    arrays = _normal(problem, generator, turn=3)
    if problem.bias:
        return arrays | {"q": np.zeros_like(arrays["q"]), "bias": finite_mask(problem)}
    unit = unit_query(problem)
    if unit is None:
        return arrays
    q, k = np.zeros_like(arrays["q"]), np.zeros_like(arrays["k"])
    q[..., 0] = unit * (2 - _positions(q, problem) % 2)
    k[..., 0] = negative_logit(problem)
    return arrays | {"q": q, "k": k}


def _cancelling(problem: AttentionProblem, generator: np.random.Generator) -> Arrays:
    """Values that cancel between keys of probability 1 and of a little more than ½, relative to the largest.

    A coarser format's errors of probabilities add up where the values cancel, and grow with the square root
    of the keys beside the output.  The dtype itself rounds them as often up as down.  Some queries see one
    key that weighs most instead, see `let_one_key_weigh_most`.  `normal` where the scale leaves no such Q.
    """
    arrays = _normal(problem, generator, turn=2)
    unit = unit_query(problem)
    if unit is None:
        return arrays
    q, k = np.zeros_like(arrays["q"]), np.zeros_like(arrays["k"])
    is_light = _positions(k, problem) % 2 == 1
    logits = cancelling_logits(problem, is_light, generator)
    q[..., 0] = unit
    k[..., 0] = logits.astype(numpy_dtype(problem.dtype))
    if problem.head_dim > 1:  # What the first component of K loses by rounding.
        q[..., 1] = unit
        k[..., 1] = logits - k[..., 0]
    let_one_key_weigh_most(problem, q, k, generator)
    v = arrays["v"] / 4
    v += cancelling_values(is_light)[..., None]
    if problem.bias:
        arrays["bias"] = np.zeros_like(arrays["bias"])
    return arrays | {"q": q, "k": k, "v": v}


def _positions(array: np.ndarray, problem: AttentionProblem) -> np.ndarray:
    """Return the position of each row of Q or K along its axis of queries or keys, without the last axis."""
    axis = 0 if problem.is_packed else 2
    return np.indices(array.shape[:-1], sparse=True)[axis] + np.zeros(array.shape[:-1], np.int64)


DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": Distribution("standard normal: the usual benchmark input", _normal),
    "uniform": Distribution("uniform in [-1, 1): small scores, an almost even softmax", _uniform),
    "large-logits": Distribution(
        "scaled scores up to about ±100: a softmax without its maximum subtracted overflows", _large_logits
    ),
    "constant": Distribution(
        "equal scores: the output is the mean of the visible values, padding that leaks in shows", _constant
    ),
    "minus-infinity-columns": Distribution(
        "every seventh key scores exactly -inf: NaN from inf - inf or 0 times inf shows",
        _minus_infinity_columns,
    ),
    "negative-logits": Distribution(
        "every score is -1280 or less, a bias the least number: a running maximum from -1000 leaves nothing",
        _negative_logits,
    ),
    "cancelling": Distribution(
        "values cancel while errors of probabilities add up: probabilities in too coarse a type show",
        _cancelling,
    ),
}


def _draw_projected(problem: AttentionProblem, distribution: str, generator: np.random.Generator) -> Arrays:
    """Draw tokens, weights and operands.

    No projection makes single scores infinite: `minus-infinity-columns` is `normal`.
    """
    shapes = projection_shapes(problem)
    draw = _from_uniform if distribution == "uniform" else _from_normal
    arrays = {"tokens": draw(generator, shapes.pop("tokens"))}
    arrays |= {name: draw_weights(shape, generator) for name, shape in shapes.items()}
    if distribution == "constant":
        arrays["tokens"][:] = arrays["tokens"][:, :1]
    elif distribution == "negative-logits" and problem.bias:
        arrays["query_weights"][:] = 0
    elif distribution == "negative-logits":
        _make_logits_negative(problem, arrays)
    elif distribution == "cancelling":
        _let_values_cancel(problem, arrays, generator)
    elif distribution == "large-logits":
        arrays["query_weights"] *= np.float32(LARGEST_LOGIT / 4 / max(1.0, np.sqrt(problem.head_dim)))
    if problem.mask:
        arrays["mask"] = random_mask(problem, generator)
    if problem.bias:
        arrays["bias"] = _from_normal(generator, problem.bias_shape)
        if distribution == "negative-logits":
            arrays["bias"] = finite_mask(problem)
    return arrays | draw_sinks(problem, generator, distribution)


def _make_logits_negative(problem: AttentionProblem, arrays: Arrays) -> None:
    """Let each row's scores be `negative_logit`, or twice that, in place; V stays random."""
    tokens, unit = arrays["tokens"], unit_query(problem)
    if unit is None or tokens.shape[-1] < 2:
        return
    tokens[..., 0] = 1
    tokens[..., 1] = 2 - np.arange(tokens.shape[1]) % 2
    query, key = _weights_of_heads(problem, arrays)
    query[:], key[:] = 0, 0
    query[1, :, 0] = unit
    key[0, :, 0] = negative_logit(problem)


def _let_values_cancel(problem: AttentionProblem, arrays: Arrays, generator: np.random.Generator) -> None:
    """Let values cancel between keys of two probabilities, in place, see `cancelling_logits`."""
    tokens, unit = arrays["tokens"], unit_query(problem)
    if unit is None or tokens.shape[-1] < FEATURES:
        return
    is_light = np.broadcast_to(np.arange(tokens.shape[1]) % 2 == 1, tokens.shape[:2])
    logits = cancelling_logits(problem, is_light, generator)
    tokens[..., 0] = 1
    tokens[..., 1] = logits.astype(numpy_dtype(problem.dtype))
    tokens[..., 2] = logits - tokens[..., 1]
    tokens[..., 3] = cancelling_values(is_light)
    query, key = _weights_of_heads(problem, arrays)
    query[:], key[:] = 0, 0
    for component, feature in enumerate((1, 2)[: problem.head_dim]):
        query[0, :, component] = unit
        key[feature, :, component] = 1
    value = arrays["value_weights"]
    value /= 4
    value[:3] = 0
    value[3] = 1


def _weights_of_heads(problem: AttentionProblem, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Return views of Wq and Wk, `[model_width, heads, head_dim]`."""
    query, key = arrays["query_weights"], arrays["key_weights"]
    return (
        query.reshape(len(query), problem.heads, problem.head_dim),
        key.reshape(len(key), problem.kv_heads, problem.head_dim),
    )
