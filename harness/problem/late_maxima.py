"""Keys at the end of what a query sees that score far more than all that comes before them.

Code that keeps the maximum of its first tile is right as long as later scores are little more: beyond 88,
their exponentials overflow f32.
"""

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.set_scores import LARGEST_FACTOR, views_of_sequences

LATE_SCORE = 100.0
"""About the scaled score of the last keys of a sequence, for some queries."""

LATE_KEY = np.float32(2)
"""The second component of the last keys: a score is its product with that of Q."""

EARLY_KEY = np.float32(-0.5)
"""That of all other keys: they score minus a quarter as much."""

LATE_SHARE = 8
"""One key of so many comes late."""

EVERY_LATE = 4
"""One query of so many sees that late keys score more."""


def let_late_keys_score_most(problem: AttentionProblem, q: np.ndarray, k: np.ndarray) -> None:
    """Let some queries see late keys that score `LATE_SCORE`, and all before them minus a fourth, in place.

    Does nothing where the scale leaves no such Q, or a head has one component alone.  Late keys score exactly
    the same: rounded scores add nothing to what is allowed.
    """
    if abs(problem.scale) * LARGEST_FACTOR < LATE_SCORE / LATE_KEY or q.shape[-1] < 2:
        return
    component = np.float32(LATE_SCORE / float(LATE_KEY) / problem.scale)
    for queries, keys in views_of_sequences(problem, q, k):
        heads, seq_q, seq_kv = queries.shape[0], queries.shape[1], keys.shape[1]
        begin = seq_kv - -(-seq_kv // LATE_SHARE)
        keys[..., 1] = np.where(np.arange(seq_kv) < begin, EARLY_KEY, LATE_KEY)
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        from_the_last = np.arange(seq_q)[::-1] + np.arange(heads)[:, None]
        chosen = (first < begin) & (end > begin) & (from_the_last % EVERY_LATE == 0)
        queries[chosen] = 0
        queries[chosen, 1] = component
