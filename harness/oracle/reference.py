"""Attention in NumPy by blocks of query rows: the float64 reference and the plain same-precision form.

Rows of attention are independent, so both are exact without ever holding the whole score matrix; a
sequence of 16384 needs the scores of `BLOCK_ROWS` rows.  Only the range of keys that a causal or window
mask leaves visible is computed.  The exact form keeps all cores busy with blocks of their own; NumPy gives
the interpreter's lock away meanwhile.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.problem.projections import exact_projections, joined_heads
from harness.system.machine.cores import allotted_cores

BLOCK_ROWS = 128
"""Query rows computed together: enough for the BLAS, and 16 MiB of scores at a sequence of 16384."""
SHARES_FOR_EACH_CORE = 4
"""Parts of the work: fewer leave cores idle at the end, each brings K and V of its head into float64."""


@dataclass(frozen=True)
class Head:
    """One query head of one sequence: views into the inputs, and where its rows lie in the output."""

    index: tuple[int | slice, ...]
    """`output[index]` is `[queries, head_dim_v]`, `log_sum_exp[index]` is `[queries]`."""
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None
    """`[queries, keys]`, true where visible."""
    bias: np.ndarray | None
    sink: float | None = None
    """A logit that joins the softmax's sum."""

    def blocks(self) -> Iterator[slice]:
        """Yield slices of at most `BLOCK_ROWS` query rows that cover the head."""
        for start in range(0, len(self.q), BLOCK_ROWS):
            yield slice(start, min(start + BLOCK_ROWS, len(self.q)))


@dataclass(frozen=True)
class Reference:
    """Exact attention (float64) and what is known of each row."""

    output: np.ndarray
    """What the heads give, or what that is projected to."""
    log_sum_exp: np.ndarray
    """log Σ exp(score) of each row of each head; −inf where no key is visible."""
    scale: np.ndarray
    """Size of the components of each row of the output: the larger of the row's root mean square and
    √Σp² · rms(V), the size of Σ p·v for values of random sign, which does not vanish by cancellation."""
    product: np.ndarray
    """|scale| · ‖q‖ · rms‖k‖ of each row, likewise: √head_dim times the size of a score of components of
    random sign.  Infinite components count as 0."""
    underflow: np.ndarray
    """What numbers too small for a format may change of each row, see `_underflow`; 0 where no key is
    visible."""


def heads(inputs: Inputs, problem: AttentionProblem) -> Iterator[Head]:
    """Yield every query head of every sequence, with the keys and values that it may see."""
    for entry, (seq_q, seq_kv) in enumerate(problem.sequence_lengths()):
        for head in range(problem.heads):
            kv_head = head // problem.group_size
            index: tuple[int | slice, ...]
            kv_index: tuple[int | slice, ...]
            if problem.cu_seqlens_q is not None and problem.cu_seqlens_kv is not None:
                q_start, kv_start = problem.cu_seqlens_q[entry], problem.cu_seqlens_kv[entry]
                index = (slice(q_start, q_start + seq_q), head)
                kv_index = (slice(kv_start, kv_start + seq_kv), kv_head)
            else:
                index = (entry, head, slice(0, seq_q))
                kv_index = (entry, kv_head, slice(0, seq_kv))
            yield Head(
                index=index,
                q=inputs.q[index],
                k=inputs.k[kv_index],
                v=inputs.v[kv_index],
                mask=_pair_array(inputs.mask, problem, entry, head, seq_kv),
                bias=_pair_array(inputs.bias, problem, entry, head, seq_kv),
                sink=None if inputs.sinks is None else float(inputs.sinks[head]),
            )


def _pair_array(
    array: np.ndarray | None, problem: AttentionProblem, entry: int, head: int, seq_kv: int
) -> np.ndarray | None:
    if array is None:
        return None
    shape = (problem.batch, problem.heads, problem.seq_q, problem.seq_kv)
    return np.broadcast_to(array, shape)[entry, head, :, :seq_kv]


def exact_attention(inputs: Inputs, problem: AttentionProblem) -> Reference:
    """Compute what the heads give in float64, with the log-sum-exp and the scale of each row."""
    if inputs.projections is not None:
        q, k, v = exact_projections(inputs.projections, problem)
        inputs = replace(inputs, q=q, k=k, v=v)
    exact = _empty_reference(problem)

    def fill(part: tuple[Head, list[slice]]) -> None:
        _fill_rows(exact, *part, problem)

    with ThreadPoolExecutor(allotted_cores()) as threads:
        list(threads.map(fill, _shares(inputs, problem)))
    return exact


def _empty_reference(problem: AttentionProblem) -> Reference:
    rows = problem.attended_shape[:-1]
    return Reference(
        output=np.zeros(problem.attended_shape),
        log_sum_exp=np.full(rows, -np.inf),
        scale=np.zeros(rows),
        product=np.zeros(rows),
        underflow=np.zeros(rows),
    )


def _shares(inputs: Inputs, problem: AttentionProblem) -> Iterator[tuple[Head, list[slice]]]:
    """Yield heads, each with a share of its blocks: several shares for each core, that none waits long."""
    every = list(heads(inputs, problem))
    for_each_head = -(-SHARES_FOR_EACH_CORE * allotted_cores() // max(1, len(every)))
    for head in every:
        blocks = list(head.blocks())
        for share in range(min(for_each_head, len(blocks))):
            yield head, blocks[share::for_each_head]


def _fill_rows(exact: Reference, head: Head, blocks: Sequence[slice], problem: AttentionProblem) -> None:
    k, v = head.k.astype(np.float64), head.v.astype(np.float64)
    mean_square_v = np.mean(v * v) if v.size else 0.0
    key_size = _rms_length(k)
    output, log_sum_exp, scale, product, underflow = (
        array[head.index]
        for array in (exact.output, exact.log_sum_exp, exact.scale, exact.product, exact.underflow)
    )
    for rows in blocks:
        q = head.q[rows].astype(np.float64)
        scores, keys = masked_scores(head, rows, problem, q, k)
        visible = np.count_nonzero(scores > -np.inf, axis=1)
        underflow[rows] = _underflow(visible, v, smallest_step(problem))
        peak, total = _exponentiate(scores, head.sink)
        seen = np.where(total > 0, total, 1.0)
        block = scores @ v[keys]
        block /= seen[:, None]
        output[rows] = block
        with np.errstate(divide="ignore"):
            log_sum_exp[rows] = np.log(total) + peak
        concentration = np.einsum("ij,ij->i", scores, scores) / seen**2
        mean_square = np.maximum(np.mean(block * block, axis=1), concentration * mean_square_v)
        scale[rows] = np.sqrt(mean_square)
        product[rows] = abs(problem.scale) * np.sqrt(_squared_lengths(q)) * key_size


def exact_output(attended: Reference, inputs: Inputs) -> Reference:
    """Return what the heads give, or that joined and projected where this is part of the problem.

    A projected row's components are sums of products with weights of random sign, and so are their errors:
    sizes and errors of heads add up by their squares.
    """
    if inputs.projections is None or inputs.projections.output_weights is None:
        return attended
    weights = inputs.projections.output_weights.astype(np.float64)
    columns = attended.output.shape[-1]
    weight_size = np.sqrt(np.mean(weights * weights))
    output = joined_heads(attended.output) @ weights
    spread = np.sqrt(columns * np.sum(attended.scale**2, axis=1)) * weight_size
    scale = np.maximum(np.sqrt(np.mean(output * output, axis=-1)), spread)
    error = np.sqrt(columns * np.sum((attended.product * attended.scale) ** 2, axis=1)) * weight_size
    product = error / np.where(scale > 0, scale, 1.0)
    underflow = np.sqrt(columns * np.sum(attended.underflow**2, axis=1)) * weight_size
    return Reference(output, attended.log_sum_exp, scale, product, underflow)


def smallest_step(problem: AttentionProblem) -> float:
    """Return the smallest positive number of the problem's dtype."""
    return float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).smallest_subnormal)


def _underflow(keys: np.ndarray, v: np.ndarray, step: float) -> np.ndarray:
    """Return what underflow may change of rows of a head that see so many keys each; `step` is the dtype's.

    A probability below the smallest normal number of f32 may be 0: each by as much as that, all in one
    direction.  One that is stored in the dtype is wrong by half of its smallest step, in either direction: of
    n keys the errors add up by their squares, but never to less than those of one key.  The output is stored
    likewise.
    """
    largest, size = np.max(np.abs(v), initial=0.0), np.sqrt(np.mean(v * v)) if v.size else 0.0
    stored = step * (1 + np.maximum(largest, 2 * np.sqrt(keys) * size))
    return np.where(keys > 0, stored + float(np.finfo(np.float32).tiny) * keys * largest, 0.0)


def _rms_length(vectors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(_squared_lengths(vectors.astype(np.float64))))) if vectors.size else 0.0


def _squared_lengths(vectors: np.ndarray) -> np.ndarray:
    finite = np.where(np.isfinite(vectors), vectors, 0.0)
    return np.einsum("ij,ij->i", finite, finite)


def plain_rows(
    head: Head, rows: slice, problem: AttentionProblem, shuffle: np.random.Generator | None = None
) -> np.ndarray:
    """Return output rows of the plain three-step implementation in the problem's dtype.

    Scores, normalised probabilities and output are rounded to that dtype; products, exponentials and sums
    are accumulated in float32, as the BLAS and tensor cores do.  With `shuffle` the same sums are taken in
    another order, which samples the rounding error anew.
    """
    dtype = numpy_dtype(problem.dtype)
    q, k, v = (array.astype(np.float32) for array in (head.q[rows], head.k, head.v))
    if shuffle is not None:
        components = shuffle.permutation(q.shape[1])
        q, k = np.take(q, components, axis=1), np.take(k, components, axis=1)
    scores, keys = masked_scores(head, rows, problem, q, k)
    scores = scores.astype(dtype, copy=False).astype(np.float32, copy=False)
    v = v[keys]
    if shuffle is not None:
        order = shuffle.permutation(len(v))
        scores, v = np.take(scores, order, axis=1), v[order]
    _, total = _exponentiate(scores, head.sink)
    scores /= np.where(total > 0, total, np.float32(1))[:, None]
    scores = scores.astype(dtype, copy=False).astype(np.float32, copy=False)
    return (scores @ v).astype(dtype, copy=False)


def visible_keys(head: Head, rows: slice, problem: AttentionProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return [first, past-the-end) key that causal and window masks leave each of a block's rows."""
    return problem.visible_range(np.arange(rows.start, rows.stop), len(head.q), len(head.k))


def masked_scores(
    head: Head,
    rows: slice,
    problem: AttentionProblem,
    q: np.ndarray,
    k: np.ndarray,
    keys: slice | None = None,
) -> tuple[np.ndarray, slice]:
    """Return the scores of a block of rows for a range of keys, and that range.

    `q` holds the block's rows and `k` all keys of the head, in the type to compute in; the range is by
    default the least that holds every key which a row of the block sees.  In the field's order: scale,
    softcap, bias, then masks; a hidden pair is −inf.
    """
    first, end = visible_keys(head, rows, problem)
    if keys is None:
        keys = slice(int(first.min()), int(end.max()))
    with np.errstate(invalid="ignore"):  # The BLAS raises the flag for −inf inputs, whatever the result.
        scores = q @ k[keys].T
    scores *= scores.dtype.type(problem.scale)
    if problem.softcap is not None:
        scores /= scores.dtype.type(problem.softcap)
        np.tanh(scores, out=scores)
        scores *= scores.dtype.type(problem.softcap)
    if head.bias is not None:
        scores += head.bias[rows, keys].astype(scores.dtype)
    columns = np.arange(keys.start, keys.stop)
    before = max(0, int(first.max()) - keys.start)
    after = max(0, int(end.min()) - keys.start)
    np.copyto(scores[:, :before], -np.inf, where=columns[:before] < first[:, None])
    np.copyto(scores[:, after:], -np.inf, where=columns[after:] >= end[:, None])
    if head.mask is not None:
        np.copyto(scores, -np.inf, where=~head.mask[rows, keys])
    return scores, keys


def _exponentiate(scores: np.ndarray, sink: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Replace scores by exp(score − row maximum) in place; return the maxima and the totals of rows.

    A sink is one more score of each row.  Where all are −inf, the maximum is 0.
    """
    own = -np.inf if sink is None else scores.dtype.type(sink)
    peak = scores.max(axis=1, initial=own)
    peak[np.isneginf(peak)] = 0
    scores -= peak[:, None]
    np.exp(scores, out=scores)
    return peak, scores.sum(axis=1) + np.exp(own - peak)
