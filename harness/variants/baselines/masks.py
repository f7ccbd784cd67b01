"""What a baseline needs to know of masks: their shape at build time, their values at bind time.

Libraries take causal, window, length and boolean masks as one boolean operand, true where a key is
visible.  Its leading sizes are 1 where nothing differs between batch entries or heads.
"""

from dataclasses import replace

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs


def mask_shape(problem: AttentionProblem) -> tuple[int, int, int, int] | None:
    """Return the shape `[1 or batch, 1 or heads, seq_q, seq_kv]` of `visible_keys`, or None without masks."""
    if not (problem.causal or problem.window or problem.mask or problem.kv_lengths):
        return None
    per_batch = problem.mask or problem.kv_lengths is not None
    batch = problem.batch if per_batch else 1
    heads = problem.heads if problem.mask else 1
    return (batch, heads, problem.seq_q, problem.seq_kv)


def visible_keys(problem: AttentionProblem, mask: np.ndarray | None) -> np.ndarray | None:
    """Return all masks of the problem as one boolean array of `mask_shape`, true where visible.

    `mask` is the boolean mask among the inputs, broadcastable to `[batch, heads, seq_q, seq_kv]`.
    """
    shape = mask_shape(problem)
    if shape is None:
        return None
    visible = np.zeros(shape, dtype=bool)
    keys = np.arange(problem.seq_kv)
    for entry in range(shape[0]):
        seq_q, seq_kv = problem.sequence_lengths()[entry]
        first, end = problem.visible_range(np.arange(seq_q), seq_q, seq_kv)
        visible[entry, :] = (keys >= first[:, None]) & (keys < end[:, None])
    return visible if mask is None else visible & mask


def some_query_sees_no_key(
    problem: AttentionProblem, inputs: Inputs, visible: np.ndarray | None, hiding: float = -np.inf
) -> bool:
    """Return whether masks (`visible`: all of them) or a bias hide all keys of some query.

    A bias that is no larger than `hiding` hides a key.
    """
    seen = np.ones((1, 1, 1, problem.seq_kv), bool) if visible is None else visible
    if inputs.bias is not None:
        seen = seen & (inputs.bias.astype(np.float32) > np.float32(hiding))
    return not seen.any(axis=-1).all()


def without_padding(problem: AttentionProblem, inputs: Inputs) -> Inputs:
    """Return inputs whose keys and values beyond `kv_lengths` are 0; others as they are.

    Libraries multiply padded values by probabilities of 0, and 0 · NaN and 0 · inf are NaN.
    """
    if problem.kv_lengths is None:
        return inputs
    k, v = inputs.k.copy(), inputs.v.copy()
    for entry, length in enumerate(problem.kv_lengths):
        k[entry, :, length:] = 0
        v[entry, :, length:] = 0
    return replace(inputs, k=k, v=v)


def lacks(problem: AttentionProblem, *fields: str) -> str | None:
    """Return None, or that a baseline has not the first of these fields that a problem has."""
    present = next((name for name in fields if getattr(problem, name)), None)
    return None if present is None else f"{present} is not part of this baseline"


def uses_causal_flag(problem: AttentionProblem) -> bool:
    """Return whether `is_causal` (aligned top-left, no other mask) says exactly what the problem masks.

    With the flag and a negative scale PyTorch is wrong: what it masks is not what has the least score.
    """
    aligned = problem.causal_alignment == "top-left" or problem.seq_q == problem.seq_kv
    others = problem.window or problem.mask or problem.bias or problem.kv_lengths
    return problem.causal and aligned and problem.scale >= 0 and not others
