"""One key that weighs about as much as all others together, as the first keys of sequences often do.

Xiao et al., *Efficient Streaming Language Models with Attention Sinks* (2024), found such keys in most
models.  Code that leaves small probabilities out is right where few keys weigh most, or all weigh the same.
"""

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.set_scores import LARGEST_FACTOR, unit_query, views_of_sequences

COMPONENT = 2
"""The component of K that tells the heavy key from the others."""

SPREAD_COMPONENT = 3
"""The component of K that is random: sums of equal small numbers are rounded the same way each time."""

SPREAD = 0.5
"""Standard deviation of the scores of others."""

LIGHTER = (1.0, 3.0)
"""Others weigh exp(−1) or exp(−3) as much together as the heavy key, in turn."""

EVERY_HEAVY = 4
"""One query of so many sees a heavy key; all others see what was drawn."""

FEWEST_OTHERS = 3
"""With fewer other keys none of them is light."""


def let_one_key_weigh_most(
    problem: AttentionProblem, q: np.ndarray, k: np.ndarray, generator: np.random.Generator
) -> None:
    """Let the first key weigh most for some queries, and all others about the same, in place.

    Does nothing where the scale leaves no such Q, or a head has too few components.
    """
    unit = unit_query(problem)
    if unit is None or q.shape[-1] <= SPREAD_COMPONENT:
        return
    for queries, keys in views_of_sequences(problem, q, k):
        heads, seq_q, seq_kv = queries.shape[0], queries.shape[1], keys.shape[1]
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        from_the_last = np.arange(seq_q)[::-1] + np.arange(heads)[:, None]
        chosen = (first == 0) & (end > FEWEST_OTHERS) & (from_the_last % EVERY_HEAVY == 1)
        lighter = np.where(from_the_last // EVERY_HEAVY % 2 == 0, *LIGHTER)
        components = unit * (np.log(np.maximum(end - 1, 1)) + lighter)
        chosen &= np.abs(components) <= LARGEST_FACTOR
        keys[..., COMPONENT] = np.arange(seq_kv) == 0
        queries[chosen] = 0
        queries[chosen, COMPONENT] = components[chosen]
        keys[:, 1:, SPREAD_COMPONENT] = generator.standard_normal(keys[:, 1:, 0].shape, np.float32)
        queries[chosen, SPREAD_COMPONENT] = unit * np.float32(SPREAD)
