"""Random boolean masks, which hide and show single pairs and whole runs of keys."""

from collections.abc import Sequence

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.mask_patterns import (
    OF_KEYS,
    OF_QUERIES,
    OF_QUERIES_ALONE,
    Pattern,
    lay_patterns,
    patterns_of,
)

MASK_DENSITY = 0.7
"""Share of the pairs that a random boolean mask leaves visible."""

ENTRY = 3
"""Turns from one batch entry to the next: odd, so that their patterns differ, and not as those of heads."""


def random_mask(problem: AttentionProblem, generator: np.random.Generator, turn: int = 0) -> np.ndarray:
    """Hide pairs at random, and lay patterns over them, see `harness.problem.mask_patterns`.

    Batch entries and heads have different patterns, as masks of successive turns have.  Where queries differ
    and there are several, the last one sees no key.  Where keys alone differ, of several entries and heads
    the last ones see none in odd turns.
    """
    mask = generator.random(problem.mask_shape, dtype=np.float32) < MASK_DENSITY
    entries, heads, queries, keys = mask.shape
    sets = OF_QUERIES if keys > 1 else OF_QUERIES_ALONE
    if queries == 1:
        sets = OF_KEYS
    if max(queries, keys) > 1:
        lay_patterns_over(problem, mask, sets, turn)
    if queries > 1:
        mask[..., -1, :] = False
    elif keys > 1 and entries * heads > 1 and turn % 2:
        mask[-1, -1] = False
    return mask


def lay_patterns_over(
    problem: AttentionProblem,
    visible: np.ndarray,
    sets: Sequence[Sequence[Pattern]],
    turn: int = 0,
) -> None:
    """Lay patterns over what has a problem's shape of a mask or bias, in place, different ones by entry."""
    lengths = problem.sequence_lengths() if len(visible) > 1 else [(problem.seq_q, problem.seq_kv)]
    for number, (entry, (seq_q, seq_kv)) in enumerate(zip(visible, lengths, strict=True)):
        if entry.shape[-2] > 1 or problem.seq_q == 1:
            first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        else:
            first, end = np.array([0]), np.array([seq_kv])
        for head, pairs in enumerate(entry):
            lay_patterns(pairs, first, end, patterns_of(sets, ENTRY * number + head + turn, len(pairs)))
