"""Packed sequences as a padded batch: every sequence as long as the longest one, keys up to its own length.

That is how batches are put together where kernels take no packed sequences.  What they compute of the padding
is thrown away.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT
from harness.system.machine.placement import GUARD, placement


def why_not_padded(problem: AttentionProblem) -> str | None:
    """Return None, or why packed sequences are not the same attention as a padded batch."""
    if not problem.is_packed:
        return "padded is about packed sequences: the problem needs cu_seqlens_q and cu_seqlens_kv"
    if problem.q_shape[0] == 0 or problem.k_shape[0] == 0:
        return "all sequences are empty"
    if problem.window is not None:
        return "windows of a padded batch begin where its padding does"
    is_aligned = problem.causal_alignment == "top-left"
    if problem.causal and not is_aligned and any(q != kv for q, kv in problem.sequence_lengths()):
        return "a causal mask of a padded batch begins at the first key, not at the last one"
    return None


def padded_problem(problem: AttentionProblem) -> AttentionProblem:
    """Return the padded batch of packed sequences.

    A causal mask begins at the first key, since the last query of an entry is padding.
    """
    lengths = problem.sequence_lengths()
    fields = {**problem.model_dump(), "cu_seqlens_q": None, "cu_seqlens_kv": None}
    fields["kv_lengths"] = tuple(keys for _, keys in lengths)
    if problem.causal:
        fields["causal_alignment"] = "top-left"
    return AttentionProblem(**fields)


def padded_inputs(inputs: Inputs, problem: AttentionProblem) -> Inputs:
    """Return the inputs of the padded batch, zeros beyond each sequence."""
    starts_q, starts_kv = problem.cu_seqlens_q or (), problem.cu_seqlens_kv or ()
    operands: dict[str, Any] = inputs.operands()
    return Inputs(
        q=_padded(inputs.q, starts_q, problem.seq_q),
        k=_padded(inputs.k, starts_kv, problem.seq_kv),
        v=_padded(inputs.v, starts_kv, problem.seq_kv),
        **operands,
    )


def packed_outputs(outputs: Mapping[str, np.ndarray], problem: AttentionProblem) -> dict[str, np.ndarray]:
    """Return what a padded batch has computed of the sequences themselves."""
    return {name: _packed(array, problem, has_width=name == OUTPUT) for name, array in outputs.items()}


def _padded(tokens: np.ndarray, starts: tuple[int, ...], length: int) -> np.ndarray:
    """Return `[tokens, heads, width]` as `[batch, heads, length, width]` between guards."""
    _, heads, width = tokens.shape
    batch = placement.empty((len(starts) - 1, heads, length, width), tokens.dtype, GUARD)
    batch.fill(0)
    for entry, (start, end) in enumerate(pairwise(starts)):
        batch[entry, :, : end - start] = tokens[start:end].transpose(1, 0, 2)
    return batch


def _packed(batch: np.ndarray, problem: AttentionProblem, *, has_width: bool) -> np.ndarray:
    """Return `[batch, heads, length(, width)]` as `[tokens, heads, width]`, or as `[heads, tokens]`."""
    lengths = [queries for queries, _ in problem.sequence_lengths()]
    of_entries = [batch[entry, :, :length] for entry, length in enumerate(lengths)]
    joined = np.concatenate(of_entries, axis=1)
    return np.ascontiguousarray(joined.transpose(1, 0, 2)) if has_width else joined
