"""Keys that causality, windows or other sequences hide, and that score more than all that is visible.

Code that takes the maximum over them as well is right as long as that is little more: beyond about 100,
exponentials of all that is visible are 0.
"""

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.set_scores import LARGEST_FACTOR, views_of_sequences

SCORE = 60.0
"""About the scaled score of hidden keys, and minus that of visible ones."""

COMPONENT_OF_KEYS = np.float32(2)
"""The first component of keys, or minus that: such a score is its product with that of Q."""

LEAST_BLOCK = 8
"""Keys one after another that have the same component, at least, where there is one sequence."""

EVERY = 4
"""One query of so many sees that keys of other sequences score more."""


def let_hidden_keys_score_most(problem: AttentionProblem, q: np.ndarray, k: np.ndarray) -> None:
    """Let keys score about `SCORE` that are hidden from some queries, and visible ones minus that, in place.

    Does nothing where the scale leaves no such Q, or causality, windows and lengths hide nothing.  Visible
    keys score exactly the same: rounded scores add nothing to what is allowed.
    """
    if abs(problem.scale) * LARGEST_FACTOR < SCORE / COMPONENT_OF_KEYS:
        return
    component = np.float32(SCORE / float(COMPONENT_OF_KEYS) / problem.scale)
    sequences = [views for views in views_of_sequences(problem, q, k) if views[1].shape[1]]
    if problem.is_packed and len(sequences) == 1:
        return
    for number, (queries, keys) in enumerate(sequences):
        seq_q, seq_kv = queries.shape[1], keys.shape[1]
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        if problem.is_packed:
            signs = np.full(seq_kv, 1 - 2 * (number % 2))
            rows = (first < end) & ((np.arange(seq_q) + number) % EVERY == 1)
        else:
            block, rows = _block_of_keys(first, end, seq_kv)
            if not rows.any():
                continue
            signs = 1 - 2 * (np.arange(seq_kv) // block % 2)
        keys[..., 0] = COMPONENT_OF_KEYS * signs
        queries[:, rows] = 0
        queries[:, rows, 0] = -component * signs[first[rows]]


def _block_of_keys(first: np.ndarray, end: np.ndarray, seq_kv: int) -> tuple[int, np.ndarray]:
    """Return how many keys have the same sign, so that queries see one sign alone, and which queries do."""
    block = LEAST_BLOCK
    while block < seq_kv:
        rows = (first < end) & (first // block == (end - 1) // block)
        if rows.any():
            return block, rows
        block *= 2
    return block, np.zeros(len(first), bool)
