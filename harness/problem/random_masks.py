"""Random boolean masks, which hide single pairs and whole runs of keys."""

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.hidden_runs import hide_one_run, hide_runs

MASK_DENSITY = 0.7
"""Share of the pairs that a random boolean mask leaves visible."""


def random_mask(problem: AttentionProblem, generator: np.random.Generator) -> np.ndarray:
    """Hide pairs at random, and whole runs of keys, see `harness.problem.hidden_runs`.

    The last query sees no key where queries differ and there are several.
    """
    mask = generator.random(problem.mask_shape, dtype=np.float32) < MASK_DENSITY
    hide_runs_of(problem, mask, generator)
    if mask.shape[-2] > 1:
        mask[..., -1, :] = False
    return mask


def hide_runs_of(problem: AttentionProblem, visible: np.ndarray, generator: np.random.Generator) -> None:
    """Hide runs of keys in a mask of the problem, in place; of one for all queries a run somewhere."""
    if visible.shape[-1] == 1:
        return
    if visible.shape[-2] == 1:
        hide_one_run(visible, generator)
        return
    lengths = problem.sequence_lengths() if len(visible) > 1 else [(problem.seq_q, problem.seq_kv)]
    for entry, (seq_q, seq_kv) in zip(visible, lengths, strict=True):
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        hide_runs(entry, first, end)
