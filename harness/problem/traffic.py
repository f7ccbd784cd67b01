"""The least that must be moved between memory and what computes: the lower half of arithmetic intensity."""

import math

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import itemsize


def least_traffic(problem: AttentionProblem) -> int:
    """Return bytes: what the outputs depend on is read once, and the outputs are written once.

    Queries that see no key, and keys and values that no query sees, need not be read, whether causality, a
    window or lengths hide them; nor do the elements of a mask or a bias for hidden pairs.  Of a mask or bias
    that sequences share, what the one that sees most reads counts.  What a boolean mask hides depends on data
    and counts as visible.
    """
    if problem.model_width is None:
        elements = problem.heads * problem.head_dim * _read(problem, "bq")
        elements += problem.kv_heads * (problem.head_dim + problem.head_dim_v) * _read(problem, "bk")
    else:
        elements = problem.model_width * (problem.batch * problem.seq_q + problem.weight_columns())
    traffic = elements * itemsize(problem.dtype) + sum(array.nbytes for array in problem.outputs().values())
    for name, array in problem.operands().items():
        axes = getattr(problem, f"{name}_axes", None)
        count = math.prod(array.shape) if axes is None else _read(problem, axes)
        traffic += count * itemsize(array.dtype)
    return traffic


def _read(problem: AttentionProblem, axes: str) -> int:
    """Return how many elements of what has these axes of scores belong to a visible pair."""
    counts = []
    for lengths, sequences in problem.different_lengths().items():
        band = problem.band(*lengths)
        if {"q", "k"} <= set(axes):
            count = band.visible_pairs()
        elif "q" in axes:
            count = band.queries - band.queries_without_keys()
        elif "k" in axes:
            count = band.keys_seen()
        else:
            count = min(band.visible_pairs(), 1)
        counts.append(count * (sequences if "b" in axes else 1))
    total = sum(counts) if "b" in axes else max(counts)
    return total * (problem.heads if "h" in axes else 1)
