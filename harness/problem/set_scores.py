"""Scores that inputs set one by one: a component of Q that is the same everywhere meets one of K."""

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype

LARGEST_FACTOR = 4096.0
"""Most that a component of Q is, or is multiplied by, so that it fits into f16 however small the scale is."""

COARSE_STEPS = 8
"""`cancelling` shows probabilities that are rounded to this many times the dtype's own steps."""


def unit_query(problem: AttentionProblem) -> np.float32 | None:
    """Return what a component of Q must be for K's to be the scaled score; None if it would be too large."""
    if abs(problem.scale) * LARGEST_FACTOR < 1:
        return None
    return np.float32(1 / problem.scale)


def cancelling_logits(
    problem: AttentionProblem, is_light: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return logits of keys, of a probability of a little more than ½ for light ones, and of 1 for others.

    Every probability of ½·(1 + x) lies in the upper half of what a coarser format rounds down to ½.
    """
    midpoint = COARSE_STEPS / 2 * float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).eps)
    share = generator.uniform(0.55, 0.9, is_light.shape)
    return np.where(is_light, np.log(0.5 * (1 + share * midpoint)), 0.0)


def cancelling_values(is_light: np.ndarray) -> np.ndarray:
    """Return what values are that cancel between light keys and others."""
    return np.where(is_light, -2, 1)


def views_of_sequences(
    problem: AttentionProblem, q: np.ndarray, k: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield views of Q and K of each sequence, `[heads, seq, head_dim]`."""
    if problem.cu_seqlens_q is None or problem.cu_seqlens_kv is None:
        for entry, (_, seq_kv) in enumerate(problem.sequence_lengths()):
            yield q[entry], k[entry, :, :seq_kv]
        return
    starts_q, starts_kv = problem.cu_seqlens_q, problem.cu_seqlens_kv
    for number in range(len(starts_q) - 1):
        queries = q[starts_q[number] : starts_q[number + 1]]
        keys = k[starts_kv[number] : starts_kv[number + 1]]
        yield queries.swapaxes(0, 1), keys.swapaxes(0, 1)
