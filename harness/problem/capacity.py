"""Capacities: what code depends on of the lengths of sequences.  The lengths themselves are data of a call.

Kernels read lengths from memory.  What is compiled into them is how many tokens and sequences there are at
most, and how long the longest one is.
"""

from harness.problem.attention_fields import LARGEST_SIZE
from harness.problem.attention_problem import AttentionProblem

LEAST_TOKENS = 64
LEAST_SEQUENCES = 16
"""What small batches are rounded up to."""


def of_capacity(problem: AttentionProblem) -> AttentionProblem:
    """Return the problem that stands for all of its capacity: the same one whatever their lengths are.

    Every sequence is as long as the longest one, as far as there are tokens.
    """
    if problem.cu_seqlens_q is not None and problem.cu_seqlens_kv is not None:
        starts = {
            "cu_seqlens_q": _starts(problem.cu_seqlens_q[-1], problem.seq_q, problem.batch),
            "cu_seqlens_kv": _starts(problem.cu_seqlens_kv[-1], problem.seq_kv, problem.batch),
        }
        return problem.model_copy(update=starts)
    if problem.kv_lengths is not None:
        return problem.model_copy(update={"kv_lengths": (problem.seq_kv,) * problem.batch})
    return problem


def _starts(tokens: int, longest: int, sequences: int) -> tuple[int, ...]:
    return tuple(min(tokens, longest * number) for number in range(sequences + 1))


def with_room(problem: AttentionProblem) -> AttentionProblem:
    """Return the problem of a capacity that has room for packed sequences: few numbers are in use.

    Tokens and sequences are rounded up to powers of two, and a sequence may have all tokens.  Where each
    sequence has one query at most that stays so, since kernels differ.
    """
    if problem.cu_seqlens_q is None or problem.cu_seqlens_kv is None:
        return of_capacity(problem)
    queries, keys = (
        _room(starts[-1], LEAST_TOKENS) for starts in (problem.cu_seqlens_q, problem.cu_seqlens_kv)
    )
    batch = _room(problem.batch, LEAST_SEQUENCES)
    if problem.seq_q == 1:
        queries = min(queries, batch)
    lengths = {"batch": batch, "seq_q": 1 if problem.seq_q == 1 else queries, "seq_kv": keys}
    starts = {
        "cu_seqlens_q": _starts(queries, lengths["seq_q"], batch),
        "cu_seqlens_kv": _starts(keys, keys, batch),
    }
    return problem.model_copy(update={**lengths, **starts})


def _room(count: int, least: int) -> int:
    return min(max(least, 1 << (count - 1).bit_length()), LARGEST_SIZE)
