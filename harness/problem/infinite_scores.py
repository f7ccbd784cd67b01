"""Keys whose scores are exactly −inf: those that no query is left without a finite score by."""

from collections.abc import Iterator

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.mask_patterns import (
    OF_FINITE_KEYS,
    OF_FINITE_KEYS_FROM_THE_FIRST,
    OF_FINITE_SCORES,
)
from harness.problem.random_masks import lay_forms_over


def hide_runs_by_bias(problem: AttentionProblem, bias: np.ndarray, mask: np.ndarray | None) -> None:
    """Let whole runs of keys have a bias of −inf as well, in place, where each query sees another one."""
    was_finite = np.isfinite(bias)
    if bias.shape[-2] == 1:
        finite = _finite_keys(problem, was_finite, mask)
    else:
        finite = was_finite.copy()
        lay_forms_over(problem, finite, OF_FINITE_SCORES)
        finite &= was_finite
        for entry, left_without in _left_without(problem, finite, mask):
            finite[entry] |= left_without.any(axis=0).reshape(-1, 1)
    bias[~finite] = -np.inf


def _finite_keys(problem: AttentionProblem, was_finite: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """Return which keys have a finite bias where all queries have the same, of the shape of the bias."""
    for forms in (OF_FINITE_KEYS, OF_FINITE_KEYS_FROM_THE_FIRST):
        finite = was_finite.copy()
        lay_forms_over(problem, finite, forms)
        finite &= was_finite
        if not any(left_without.any() for _, left_without in _left_without(problem, finite, mask)):
            return finite
    return was_finite


def _left_without(
    problem: AttentionProblem, finite: np.ndarray, mask: np.ndarray | None
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the bias' entry of each sequence, and which queries see keys of a score of −inf only."""
    for sequence, (seq_q, seq_kv) in enumerate(problem.sequence_lengths()):
        entry = min(sequence, len(finite) - 1)
        visible = _visible(problem, mask, sequence, seq_q, seq_kv)
        yield entry, visible.any(axis=-1) & ~(visible & finite[entry]).any(axis=-1)


def columns_to_hide(problem: AttentionProblem, mask: np.ndarray | None) -> np.ndarray:
    """Return which key positions (boolean, `[seq_kv]`) can be −inf in every sequence."""
    columns = np.arange(problem.seq_kv) % 7 == 1
    for entry, (seq_q, seq_kv) in enumerate(problem.sequence_lengths()):
        first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        columns[first[end - first == 1]] = False
        if mask is None:
            continue
        visible = _visible(problem, mask, entry, seq_q, seq_kv)
        left_without = ~(visible & ~columns).any(axis=-1)
        columns[visible[left_without].any(axis=0)] = False
    return columns


def _visible(
    problem: AttentionProblem, mask: np.ndarray | None, entry: int, seq_q: int, seq_kv: int
) -> np.ndarray:
    """Return which keys the queries of one sequence see (boolean, `[heads or 1, seq_q, seq_kv]`)."""
    first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
    positions = np.arange(problem.seq_kv)
    seen = (positions >= first[:, None]) & (positions < end[:, None])
    return seen[None] if mask is None else mask[min(entry, len(mask) - 1)] & seen
